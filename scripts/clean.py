"""Remove what the pipeline wrote into outputs/ and multirun/, and name what stays: what `make clean` calls.

    python scripts/clean.py FOLDER…

Of a single run or a job of a sweep, the folders that stages and Hydra write are removed; of a folder with SHA256SUMS
(`make lessons`, `make publish`), the files that it lists, if they have not been edited. Everything else is the user's.
"""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from langladder.ground.atomic import SUMS, not_in_sums

RUN = "data", "models", "metrics", "curves", "reports", "resolved", ".hydra"
"""The folders of a run; Hydra's own marks it."""
OTHERS = "across.md", "across.csv", "sbom.json", "lessons/.executed"
"""What `make compare`, `make sbom` and `make site` write into outputs/."""
SWEEP = "multirun.yaml"


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def clean(folder: Path) -> list[Path]:
    """Remove what was made below a folder; returns the files that stay."""
    for name in OTHERS:
        remove(folder / name)
    for sums in sorted(folder.rglob(SUMS)):
        edited = not_in_sums(sums.parent)
        for path in [path for path in sums.parent.rglob("*") if path.is_file()]:
            if path.relative_to(sums.parent).as_posix() not in edited:
                remove(path)
    for run in sorted(mark.parent for mark in folder.rglob(RUN[-1])):
        for path in [*(run / name for name in RUN), *run.glob("*.log")]:
            remove(path)
    for sweep in sorted(folder.rglob(SWEEP)):
        remove(sweep)
    below = sorted(folder.rglob("*"), reverse=True)  # what is inside of a folder comes first
    for path in below:
        if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
            path.rmdir()
    return sorted(path for path in below if path.is_symlink() or path.is_file())


def main() -> None:
    folders = [folder for folder in map(Path, sys.argv[1:]) if folder.is_dir()]
    stay = [path for folder in folders for path in clean(folder)]
    for folder in folders:
        if not any(folder.iterdir()) and not folder.is_symlink():
            folder.rmdir()
    if stay:
        print("clean: these stay, because the pipeline did not write them, or somebody has edited them:")
        print("\n".join(f"  {path}" for path in stay))


if __name__ == "__main__":
    main()
