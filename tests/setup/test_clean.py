"""`make clean` removes what the pipeline made, by name, and nothing else."""

import re
import shutil
import subprocess
from pathlib import Path

from langladder.ground.atomic import write_sums

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (
    "Makefile",
    "dvc.yaml",
    "scripts/clean.py",
    *(f"src/langladder/{name}.py" for name in ("__init__", "ground/__init__", "ground/errors", "ground/atomic")),
)


def make_clean(folder: Path) -> str:
    for name in NEEDED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    command = ["make", "-C", folder, "clean"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_clean_leaves_what_the_pipeline_did_not_make(tmp_path: Path) -> None:
    outs = re.findall(
        r"(?:data|models|reports|metrics|curves)/[a-z/]+", (ROOT / "dvc.yaml").read_text(encoding="utf-8")
    )
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "mine.yaml").touch()
    outputs, mine = [], [tmp_path / "conf" / "mine.yaml", tmp_path / "ladders" / "mine.txt"]
    for work in (tmp_path, *(tmp_path / "ladders" / name for name in ("full", "history"))):
        folders = [path.rstrip("/") for path in outs if not path.startswith(("reports/ladder", "reports/index"))]
        outputs += [work / folder / "made" for folder in folders]
        outputs += [work / "reports" / name for name in ("ladder.json", "ladder.md", "timings.json", "index.html")]
        outputs += [work / "resolved" / "made"]
        mine += [work / folder / "mine" / "notes.txt" for folder in ("data", "models", "reports")]
        mine += [work / "mine.txt", work / "params.yaml", work / "dvc.lock"]
    for file in (*outputs, *mine):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (tmp_path / "ladders" / "full" / "conf").symlink_to("../../conf")
    make_clean(tmp_path)
    left = sorted(path for path in tmp_path.rglob("*") if path.is_file() and "full/conf" not in str(path))
    left = [path for path in left if "__pycache__" not in str(path)]
    assert len(outputs) > 30 and left == sorted([*(tmp_path / name for name in NEEDED), *mine])
    full = tmp_path / "ladders" / "full"
    assert not (full / "metrics").exists() and (full / "conf").is_dir()
    make_clean(tmp_path)


def test_edited_outputs_and_files_of_the_user_are_kept_and_named(tmp_path: Path) -> None:
    run, job = "outputs/train_lm/2026-11-27_09-00-00", "multirun/train_lm/2026-11-27_09-00-00/lm=gpt,seed=1"
    listed = ["outputs/lessons/one.ipynb", "outputs/lessons/two.ipynb", "outputs/publish/models/a.json"]
    outputs = [*listed, "outputs/across.md", "outputs/lessons/.executed/one-0123456789abcdef.ipynb"]
    outputs += [f"{run}/.hydra/config.yaml", f"{run}/models/lm/gpt/config.json", f"{run}/train_lm.log"]
    outputs += [f"{job}/.hydra/config.yaml", f"{job}/metrics/lm/gpt.json", f"{Path(job).parent}/multirun.yaml"]
    outputs += ["ladders/full/outputs/across.csv"]
    mine = ["outputs/thesis.txt", f"{run}/notes.txt", f"{job}/drawing.svg", "outputs/models/lm/mine/config.json"]
    mine += ["outputs/publish/CNAME", "outputs/lessons/one-edited.ipynb", "ladders/full/outputs/mine.txt"]
    for name in (*outputs, *mine):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    for folder in ("lessons", "publish"):
        files = [tmp_path / name for name in listed if f"/{folder}/" in name]
        write_sums(tmp_path / "outputs" / folder, files)
    (tmp_path / listed[1]).write_text("with my answers")
    printed = make_clean(tmp_path)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left & {*outputs, *mine} == {*mine, listed[1]}
    assert "outputs/lessons/SHA256SUMS" not in left and not (tmp_path / job / ".hydra").exists()
    assert all(f"  {name}\n" in printed for name in (*mine, listed[1]))
    for name in (*mine, listed[1]):
        (tmp_path / name).unlink()
    assert "stay" not in make_clean(tmp_path)
    assert not (tmp_path / "outputs").exists() and not (tmp_path / "multirun").exists()


def test_a_ladder_that_does_not_exist_is_refused() -> None:
    """`make repro LADDER=ful` would run the default ladder, for hours, and say nothing."""
    for name in ("full", "history", "english", "history english"):
        command = ["make", "-n", "repro", f"LADDER={name}"]
        assert f"pipeline.ladder {name}" in subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    done = subprocess.run(["make", "-n", "repro", "LADDER=ful"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode and "LADDER=ful: there is LADDER=full" in done.stderr
    assert re.search(r"\(full .*english.* history", done.stderr)
