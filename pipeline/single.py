"""One job through DVC, for `pipeline.parallel`: `dvc repro --single-item JOB`, in a process that ends with its parent.

python -m pipeline.single JOB PARENT ROOT    # PARENT: the process number of `pipeline.parallel`; ROOT: the project
"""

import os
import sys

from pipeline.tracking.processes import end_with


def main(job: str, parent: str, root: str) -> int:
    """Exit code of DVC."""
    end_with(int(parent))
    os.chdir(root)
    from dvc.cli import main as dvc

    return int(dvc(["--wait-for-lock", "repro", "--single-item", job]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
