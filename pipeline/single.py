"""One job through DVC, for `pipeline.parallel`: `dvc repro --single-item JOB`, in a process that ends with its parent.

python -m pipeline.single JOB PARENT ROOT    # PARENT: the process number of `pipeline.parallel`; ROOT: the project
"""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from pipeline.tracking.processes import RUNNER, end_with

WRITTEN = ("dvc.lock", "rwlock")
"""DVC's record of the jobs, and its file of locks."""


def main(job: str, parent: str, root: str) -> int:
    """Exit code of DVC."""
    for signum in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(signum, _end)
    end_with(int(parent))
    os.chdir(root)
    os.environ[RUNNER] = str(os.getpid())
    from dvc.cli import main as dvc

    return int(dvc(["--wait-for-lock", "repro", "--single-item", job]))


def _end(_signum: int, _frame: object) -> None:
    """End the running stage; DVC then ends as after a failed stage, and releases its locks.

    Without a stage, end DVC, but not while it writes one of these files: no later `dvc` command could read half of it.
    """
    this = psutil.Process()
    stage = this.children(recursive=True)
    for process in stage:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    if not stage and any(Path(file.path).name in WRITTEN for file in this.open_files()):
        signal.setitimer(signal.ITIMER_REAL, 0.1)  # SIGALRM: try again
    elif not stage:
        sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
