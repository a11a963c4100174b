"""The DAG on two workers of a Dask cluster, one of which is killed in the middle of a training: same dvc.lock."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
import yaml
from killed import checkpoints
from project_copy import ENVIRONMENT, copy_project, edit, run, smallest, with_git

pytestmark = [pytest.mark.cluster, pytest.mark.dag, pytest.mark.timeout(1500)]
pytest.importorskip("distributed", reason="pip install 'langladder[cluster]'")


COMMAND = [sys.executable, "-m", "pipeline.parallel", "train_lm"]


def worker_that_trains(coordinator: int) -> int | None:
    """The process of Dask's whose command is a training that has come to its first checkpoint."""
    for process in psutil.Process(coordinator).children(recursive=True):
        try:
            if process.cmdline()[:2] == ["sh", "-c"] and "pipeline.train lm -cd" in process.cmdline()[-1]:
                return process.ppid() if "exec 3<&0" in process.cmdline()[2] else None
        except psutil.Error:
            continue
    return None


def test_a_worker_is_killed_and_dvc_lock_is_that_of_one_machine(tmp_path: Path) -> None:
    folder = with_git(copy_project(tmp_path))
    smallest(folder, embeddings=[], lms=["lstm", "kneser_ney"], translators=[], claims=[], probes=[])
    change = "lm: {lstm: {training: {max_steps: 600, checkpoint_every: 20, validate_every: 200}}}"
    edit(folder / "params.yaml", "lm: {}", change)
    run(folder, *COMMAND)
    alone = yaml.safe_load((folder / "dvc.lock").read_text())["stages"]
    model = (folder / "models" / "lm" / "lstm" / "model.safetensors").read_bytes()
    for name in ("dvc.lock", ".dvc/cache", "data", "models", "metrics", "curves", "reports", "mlflow.db"):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    edit(folder / "params.yaml", "engine: local", "engine: dask")

    log = tmp_path / "said.log"
    with log.open("w") as output:
        process = subprocess.Popen(COMMAND, cwd=folder, env=ENVIRONMENT, stdout=output, stderr=output)
    killed = None
    while killed is None and process.poll() is None:
        killed = worker_that_trains(process.pid) if checkpoints(folder) else None
        time.sleep(0.05)
    if killed:
        os.kill(killed, signal.SIGKILL)
    code, printed = process.wait(), log.read_text()
    assert killed and code == 0, printed
    assert "jobs of rungs run on tcp://" in printed and "the worker was lost" in printed, printed
    there = yaml.safe_load((folder / "dvc.lock").read_text())["stages"]
    assert alone | {"resolve": there["resolve"]} == there, printed  # which has seen another engine
    assert (folder / "models" / "lm" / "lstm" / "model.safetensors").read_bytes() == model
