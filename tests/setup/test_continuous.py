""".ci/run: every step is run, whatever an earlier one gave, and the last lines say how each ended."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from pipeline import ROOT


def run_ci(folder: Path, failing: str) -> tuple[int, list[str], str]:
    """Exit code, the targets that were made, the output; `make` is one that only notes what it is asked for."""
    (folder / ".ci").mkdir()
    (folder / "bin").mkdir()
    (folder / ".ci" / "run").write_bytes((ROOT / ".ci" / "run").read_bytes())
    fake = folder / "bin" / "make"
    fake.write_text(f'#!/bin/sh\necho "$1" >> made\n[ "$1" != "{failing}" ]\n')
    fake.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", str(folder / ".ci" / "run")], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, (folder / "made").read_text().split(), done.stdout


def test_everything_that_is_promised_is_run(tmp_path: Path) -> None:
    code, steps, output = run_ci(tmp_path, failing="nothing")
    assert code == 0
    promised = re.findall(r"(?m)^(test[a-z-]*|lint):", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert set(steps) == {"setup", *promised}
    assert len(re.findall(r"(?m)^[^=\n]* ok +\d+ s$", output)) == len(steps)


@pytest.mark.parametrize("failing", ["lint", "test", "test-full"])
def test_a_failure_is_reported_and_stops_no_other_step(failing: str, tmp_path: Path) -> None:
    code, steps, output = run_ci(tmp_path, failing)
    assert code == 1
    assert steps[-1] == "test-long" and len(steps) == 8
    assert len(re.findall(r"(?m)^[^=\n]* FAILED +\d+ s$", output)) == 1


def test_without_an_environment_nothing_else_is_tried(tmp_path: Path) -> None:
    code, steps, _ = run_ci(tmp_path, failing="setup")
    assert code == 1 and steps == ["setup"]
