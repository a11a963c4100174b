"""A copy of the project to drive through DVC and Hydra, as users drive it."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from langladder.families import families
from pipeline import ROOT

FORKED = str(Path(__file__).with_name("forked.py"))  # the whole DAG in forks of one process
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
ENVIRONMENT = os.environ | {"PATH": PATH, "DVC_NO_ANALYTICS": "1"}
ENVIRONMENT.pop("MLFLOW_TRACKING_URI", None)


SERVED: dict[Path, str] = {}
"""The projects that run `python -m pipeline.…` in forks, with the folder that is first in PATH there."""


def environment(folder: Path) -> dict[str, str]:
    return ENVIRONMENT | {"PATH": SERVED.get(folder, "") + ENVIRONMENT["PATH"]}


def run(folder: Path, *command: str, check: bool = True) -> str:
    """Output of a command in the project's copy."""
    result = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)
    output = result.stdout + result.stderr
    assert not check or result.returncode == 0, output
    return output


@contextmanager
def forking(folder: Path) -> Iterator[Path]:
    """Jobs that DVC or `python -m pipeline.…` run in this project run in forks of one process, see forked.py."""
    scripts = folder / ".dvc" / "tmp" / "forked"
    (scripts / "python").unlink(missing_ok=True)  # of the project that this one is a copy of
    threads = {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, FORKED, "serve"], cwd=folder, env=ENVIRONMENT | threads) as server:
        try:
            while not (scripts / "python").exists():
                assert server.poll() is None
                time.sleep(0.1)
            SERVED[folder] = f"{scripts}{os.pathsep}"
            yield folder
        finally:
            SERVED.pop(folder, None)
            (scripts / "python").unlink(missing_ok=True)  # it ends


def ran(output: str) -> set[str]:
    """Names of the stages that DVC ran."""
    return set(re.findall(r"Running stage '([^']+)'", output))


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, (file, old)
    file.write_text(text.replace(old, new))


def copy_project(folder: Path) -> Path:
    """The working tree's files, those that git does not ignore, without a repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    files = listed.stdout.splitlines() or [
        str(file.relative_to(ROOT))
        for file in ROOT.rglob("*")
        if file.is_file() and not any(part.startswith(".venv") for part in file.parts)
    ]
    for name in files:
        if (ROOT / name).is_file() and name != "dvc.lock":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    copy_kernels(ROOT, folder)
    return folder


KERNELS = Path("src", "langladder", "kernels")


def copy_kernels(source: Path, folder: Path) -> None:
    """Kernels that were compiled in one project, for its copy, where compiling them takes up to a minute of CPU time.

    Numba names its folder by the path of the code. If it had another name, the copy would compile them again.
    """

    def named(project: Path, package: str) -> str:
        code = project / KERNELS / package
        return f"{code.name}_{hashlib.sha1(str(code).encode()).hexdigest()}"

    for compiled in (source / KERNELS / "__pycache__").glob("kernels-*"):
        for package in ("", "word2vec"):
            if (compiled / named(source, package)).is_dir():
                to = folder / KERNELS / "__pycache__" / compiled.name / named(folder, package)
                unfinished = shutil.ignore_patterns("*.tmp.*")
                shutil.copytree(compiled / named(source, package), to, ignore=unfinished, dirs_exist_ok=True)


def smallest(folder: Path, **changes: object) -> None:
    """The tiny ladder: a few rungs, a few steps each, whatever the default ladder lists."""
    params = yaml.safe_load((folder / "params.yaml").read_text())
    params |= {family.listed: {} if family.bases else [] for family in families().values()}
    params |= {"data": {}, "size": "tiny", "debug": "fast"}
    params |= {"embeddings": ["skipgram"], "lms": ["kneser_ney", "lstm"], "translators": ["attention"]}
    params |= {"claims": ["gradient_flow"], "probes": ["agreement"]} | changes
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))


def with_git(folder: Path) -> Path:
    """The copy as a git repository with one commit."""
    for command in (
        ["init", "-q"],
        ["config", "user.email", "test@example.org"],
        ["config", "user.name", "test"],
        ["add", "-A"],
        ["commit", "-qm", "copy"],
    ):
        run(folder, "git", *command)
    return folder


LADDER: dict[str, object] = {
    "embeddings": ["svd", "skipgram"],
    "lms": ["kneser_ney", "lstm", "gpt"],
    "classifiers": ["textcnn"],
    "taggers": ["bilstm_crf", "hmm"],
    "captioners": ["lstm"],
    "data": {"text": {"source": {"stories": 1_000}}},  # enough for the words that the pages ask about
}
"""What a finished project has trained, beside what `smallest` lists."""


def finished_project(factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which the whole DAG has run, and DVC knows it.

    It runs once for all modules of a test session, whichever comes first; each module gets a copy of its own.
    """
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (shared / "finished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        source = shared / "finished"
        if not source.is_dir():
            source.mkdir()
            smallest(copy_project(source), **LADDER)
            with_git(source)
            run(source, "env", "OMP_NUM_THREADS=1", sys.executable, FORKED)
    folder = Path(shutil.copytree(source, factory.mktemp("project") / "finished", symlinks=True))
    copy_kernels(source, folder)
    return folder
