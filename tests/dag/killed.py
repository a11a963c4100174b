"""A stage that is killed outright, with all that it has started, as soon as something is there."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from project_copy import environment


def checkpoints(project: Path) -> list[Path]:
    """Those of trainings that have not ended."""
    return list((project / "checkpoints").glob("*/last.safetensors"))


def kill_when(project: Path, stage: str, there: Callable[[], object]) -> None:
    """Run a stage anew and kill it when `there` says something, or after some minutes."""
    command = ["dvc", "repro", "-f", "-s", stage]
    process = subprocess.Popen(
        command, cwd=project, env=environment(project), start_new_session=True, stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 200
    while not there() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
