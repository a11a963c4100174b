"""The stages of the DAG: the only place that knows Hydra, DVC and MLflow.

They serve the project whose dvc.yaml they stand beside: a checkout, a copy of it under .dvc/tmp (`dvc exp run --queue`,
which runs the copy's code and not the installed one's) or ladders/<name>/. A project that `langladder new` has made has
no code of its own: there the installed package works, run from the project's folder, and what conf/ has not is taken
from the package (`INSTALLED`).
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

CODE = Path(__file__).absolute().parent.parent  # links are not followed: ladders/full/ is a root of its own
PROJECT = CODE / "pipeline" / "project"
"""What a project is made of, with links to the checkout's own files, which the wheel has as files."""
TOOLS = {"dvc": "dvc", "hydra": "hydra-core", "mlflow": "mlflow", "psutil": "psutil", "ruamel.yaml": "ruamel.yaml"}
"""Module → package, of what the extra `pipeline` brings."""


def _root() -> Path:
    """The project's folder: the one from which commands are run where it has a dvc.yaml of ours and no code."""
    here = Path.cwd()
    file = here / "dvc.yaml"
    own = file.is_file() and not (here / "pipeline").exists() and b"python -m pipeline.resolve" in file.read_bytes()
    return here if own or not (CODE / "dvc.yaml").is_file() else CODE


def missing_tools() -> list[str]:
    """Packages of the extra `pipeline` that are not installed."""
    return [package for module, package in TOOLS.items() if find_spec(module.partition(".")[0]) is None]


def _begin() -> None:
    """End `python -m pipeline.…` with a line where it cannot work, instead of a traceback."""
    if absent := missing_tools():
        sys.exit(f"langladder: {', '.join(absent)} not installed; pip install 'langladder[pipeline]'")
    if not (ROOT / "dvc.yaml").is_file():
        sys.exit(f"langladder: no dvc.yaml in {ROOT}; run this in a project's folder (langladder new FOLDER makes one)")


ROOT = _root()
INSTALLED = None if ROOT == CODE else PROJECT / "conf"
"""The folder that has the files that a project's own conf/ has not; None in a checkout, whose conf/ has them all."""
LIBRARY = CODE / "src" if (CODE / "src").is_dir() else CODE
"""The folder that the package langladder is in."""
if sys.argv[:1] == ["-m"]:  # Python looks for the module that it is to run
    _begin()
if LIBRARY != CODE:
    sys.path.insert(0, str(LIBRARY))
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # read when torch is loaded; its advice on DDP is not for users
