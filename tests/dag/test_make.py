"""The `make` lines of the README, in a copy of the project that uses this environment."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from project_copy import ENVIRONMENT, finished_project, run

from pipeline import ROOT

pytestmark = [pytest.mark.long, pytest.mark.dag, pytest.mark.timeout(900)]

READY = ["-o", ".venv/ready", "-o", ".venv/ready-dev"]  # whatever the files' dates say, nothing is installed
BY_CI = {"test"}  # .ci/run
HERE = {"repro", "compare", "docs", "ui", "help", "clean"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = finished_project(tmp_path_factory)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def make(project: Path, *words: str) -> str:
    return run(project, "make", *READY, *words)


def test_every_make_line_of_the_readme_is_tried() -> None:
    blocks = re.findall(r"(?ms)^```bash\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"))
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    named = {line[1] for line in lines if line[:1] == ["make"]}
    assert {"repro", "test", "ui"} <= named <= HERE | BY_CI
    continuous = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert all(re.search(rf"\bmake {target}\b", continuous) for target in BY_CI)


def test_repro_prints_the_ladder(project: Path) -> None:
    (project / "reports" / "index.html").unlink()
    output = make(project, "repro", "JOBS=2")
    assert re.search(r"LSTM +[\d.,]+", output), output
    assert (project / "reports" / "index.html").is_file()
    again = make(project, "repro")
    assert re.search(r"LSTM +[\d.,]+", again), again


def test_the_ladder_is_compared_with_the_last_commit(project: Path) -> None:
    run(project, "git", "add", "dvc.lock")
    run(project, "git", "commit", "-qm", "a ladder")
    assert "LSTM" in make(project, "compare")


def test_the_tables_of_the_documents_are_written(project: Path) -> None:
    before = (project / "README.md").read_text(encoding="utf-8")
    make(project, "docs")
    assert (project / "README.md").read_text(encoding="utf-8") != before


def test_the_runs_can_be_looked_at(project: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["make", *READY, "ui", f"PORT={port}"],
        cwd=project,
        env=ENVIRONMENT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 120
        page = ""
        while not page and time.monotonic() < deadline and server.poll() is None:
            try:
                page = urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=10).read().decode()
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        assert "MLflow" in page
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def test_help_names_every_target_and_clean_removes_what_was_made(project: Path) -> None:
    text = (project / "Makefile").read_text(encoding="utf-8")
    described = set(re.findall(r"(?m)^([a-z-]+):.*## ", text))
    assert {"repro", "test", "setup", "lock"} <= described
    listed = make(project, "help")
    assert all(f"make {target} " in listed for target in described)
    make(project, "clean")
    assert not (project / "reports").exists() and not (project / "models").exists()
    assert (project / "mlflow.db").is_file() and (project / "params.yaml").is_file()
