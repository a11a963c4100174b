"""One job through DVC, for `pipeline.parallel`: `dvc repro --single-item JOB`, in a process that ends with its parent.

python -m pipeline.single JOB PARENT ROOT    # PARENT: the process number of `pipeline.parallel`; ROOT: the project
"""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType

import psutil  # type: ignore[import-untyped]

from pipeline.tracking.processes import RUNNER, end_with

RECORDS = ("dvcfile.py", "rwlock.py", "stage/cache.py")
"""Modules of DVC that write dvc.lock, its file of locks, and its cache of runs."""


def main(job: str, parent: str, root: str) -> int:
    """Exit code of DVC."""
    for signum in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(signum, _end)
    end_with(int(parent))
    os.chdir(root)
    os.environ[RUNNER] = str(os.getpid())
    from dvc.cli import main as dvc

    return int(dvc(["--wait-for-lock", "repro", "--single-item", job]))


def _end(_signum: int, frame: FrameType | None) -> None:
    """End the running stage; DVC then ends as after a failed stage, and releases its locks.

    Without a stage, end DVC, but not while it writes its records: no later `dvc` command could read half of them.
    """
    stage = psutil.Process().children(recursive=True)
    for process in stage:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    if not stage and _writes_records(frame):
        signal.setitimer(signal.ITIMER_REAL, 0.1)  # SIGALRM: try again
    elif not stage:
        sys.exit(128 + signal.SIGTERM)


def _writes_records(frame: FrameType | None) -> bool:
    while frame is not None and not Path(frame.f_code.co_filename).as_posix().endswith(RECORDS):
        frame = frame.f_back
    return frame is not None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
