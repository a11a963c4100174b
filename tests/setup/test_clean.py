"""`make clean` removes what the pipeline made, by name, and nothing else."""

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_clean_leaves_what_the_pipeline_did_not_make(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    outs = re.findall(
        r"(?:data|models|reports|metrics|curves)/[a-z/]+", (ROOT / "dvc.yaml").read_text(encoding="utf-8")
    )
    made = [
        tmp_path / path.rstrip("/") / "made"
        for path in outs
        if not path.startswith(("reports/ladder", "reports/index"))
    ]
    mine = [tmp_path / folder / "mine" / "notes.txt" for folder in ("data", "models", "reports")]
    for file in (*made, *mine, tmp_path / "reports" / "ladder.json", tmp_path / "reports" / "index.html"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    subprocess.run(["make", "-C", tmp_path, "clean"], check=True, capture_output=True)
    left = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert len(made) > 15 and left == sorted([tmp_path / "Makefile", *mine])
