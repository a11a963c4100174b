"""The stages of the DAG: the only package that imports Hydra, DVC and MLflow.

They work on the project whose dvc.yaml is beside this package: a checkout, a copy of it under .dvc/tmp (`dvc exp run
--queue`, which runs the copy's code, not the installed code) or ladders/<name>/. A project made by `langladder new`
has no code of its own: it runs the installed package from the project's folder, and files that its conf/ does not have
come from the package (`INSTALLED`).
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

CODE = Path(__file__).absolute().parent.parent  # links are not followed: ladders/full/ is a root of its own
PROJECT = CODE / "pipeline" / "project"
"""The files of a project: links to the checkout's files here, plain files in the wheel."""
TOOLS = {"dvc": "dvc", "hydra": "hydra-core", "mlflow": "mlflow", "psutil": "psutil", "ruamel.yaml": "ruamel.yaml"}
"""Module → package, for the packages of the extra `pipeline`."""


def _root() -> Path:
    """The project's folder: the current folder if it has our dvc.yaml and no code of its own."""
    here = Path.cwd()
    file = here / "dvc.yaml"
    own = file.is_file() and not (here / "pipeline").exists() and b"python -m pipeline.resolve" in file.read_bytes()
    return here if own or not (CODE / "dvc.yaml").is_file() else CODE


def missing_tools() -> list[str]:
    """Packages of the extra `pipeline` that are not installed."""
    return [package for module, package in TOOLS.items() if find_spec(module.partition(".")[0]) is None]


def _begin() -> None:
    """End `python -m pipeline.…` with a message instead of a traceback if it cannot work."""
    if absent := missing_tools():
        sys.exit(f"langladder: {', '.join(absent)} not installed; pip install 'langladder[pipeline]'")
    if not (ROOT / "dvc.yaml").is_file():
        sys.exit(f"langladder: no dvc.yaml in {ROOT}; run this in a project's folder (langladder new FOLDER makes one)")


ROOT = _root()
INSTALLED = None if ROOT == CODE else PROJECT / "conf"
"""The folder with the files that a project's own conf/ does not have; None in a checkout, whose conf/ is complete."""
LIBRARY = CODE / "src" if (CODE / "src").is_dir() else CODE
"""The folder of the package langladder."""
if sys.argv[:1] == ["-m"]:  # Python looks for the module to run
    _begin()
if LIBRARY != CODE:
    sys.path.insert(0, str(LIBRARY))
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # read when torch loads; its DDP warnings are not for users
