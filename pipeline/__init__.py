"""The stages of the DAG: the only place that knows Hydra, DVC and MLflow.

`src/` of this very checkout comes first on the path, so that `dvc exp run --queue`, which works in copies of the
repository, runs the copy's code and not the installed one's.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).absolute().parent.parent  # links are not followed: ladders/full/ is a root of its own
sys.path.insert(0, str(ROOT / "src"))
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # read when torch is loaded; its advice on DDP is not for users
