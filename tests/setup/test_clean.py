"""`make clean` removes what the pipeline made, by name, and nothing else."""

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_clean_leaves_what_the_pipeline_did_not_make(tmp_path: Path) -> None:
    for name in ("Makefile", "dvc.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    outs = re.findall(
        r"(?:data|models|reports|metrics|curves)/[a-z/]+", (ROOT / "dvc.yaml").read_text(encoding="utf-8")
    )
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "mine.yaml").touch()
    made, mine = [], [tmp_path / "conf" / "mine.yaml", tmp_path / "ladders" / "mine.txt"]
    for place in (tmp_path, *(tmp_path / "ladders" / name for name in ("full", "history"))):
        folders = [path.rstrip("/") for path in outs if not path.startswith(("reports/ladder", "reports/index"))]
        made += [place / folder / "made" for folder in folders]
        made += [place / "reports" / name for name in ("ladder.json", "ladder.md", "timings.json", "index.html")]
        made += [place / "resolved" / "made"]
        mine += [place / folder / "mine" / "notes.txt" for folder in ("data", "models", "reports")]
        mine += [place / "mine.txt", place / "params.yaml", place / "dvc.lock"]
    for file in (*made, *mine):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (tmp_path / "ladders" / "full" / "conf").symlink_to("../../conf")
    subprocess.run(["make", "-C", tmp_path, "clean"], check=True, capture_output=True)
    left = sorted(path for path in tmp_path.rglob("*") if path.is_file() and "full/conf" not in str(path))
    assert len(made) > 30 and left == sorted([tmp_path / "Makefile", tmp_path / "dvc.yaml", *mine])
    full = tmp_path / "ladders" / "full"
    assert not (full / "metrics").exists() and (full / "conf").is_dir()
    subprocess.run(["make", "-C", tmp_path, "clean"], check=True, capture_output=True)


def test_a_ladder_that_is_none_is_refused() -> None:
    """`make repro LADDER=ful` would run the default ladder, for hours, and say nothing."""
    for name in ("full", "history", "english"):
        command = ["make", "-n", "repro", f"LADDER={name}"]
        assert f"pipeline.ladder {name}" in subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    done = subprocess.run(["make", "-n", "repro", "LADDER=ful"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode and "LADDER=ful: there is LADDER=full" in done.stderr
    assert re.search(r"\(full .*english.* history", done.stderr)
