"""One job through DVC, for `pipeline.parallel`: `dvc repro --single-item JOB`, in a process that ends with its parent.

python -m pipeline.single JOB PARENT ROOT    # PARENT: the process number of `pipeline.parallel`; ROOT: the project
"""

import os
import signal
import sys
from contextlib import suppress

import psutil  # type: ignore[import-untyped]

from pipeline.tracking.processes import end_with


def main(job: str, parent: str, root: str) -> int:
    """Exit code of DVC."""
    signal.signal(signal.SIGTERM, _end)
    end_with(int(parent))
    os.chdir(root)
    from dvc.cli import main as dvc

    return int(dvc(["--wait-for-lock", "repro", "--single-item", job]))


def _end(signum: int, _: object) -> None:
    """End the running stage; DVC then ends as after a failed stage, and releases its locks.

    If DVC itself were ended while it writes its lock file, no later `dvc` command could read that file.
    """
    stage = psutil.Process().children(recursive=True)
    for process in stage:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    if not stage:
        sys.exit(128 + signum)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
