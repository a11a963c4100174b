"""A stage trains with several processes: started by itself, by torchrun, under Slurm; one run, one model."""

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from langladder.families import families
from langladder.ground.errors import InputError
from langladder.ground.ranks import Ranks, address, ranks
from langladder.ground.schema import Config
from langladder.tasks.settings import LMTrainingConfig
from pipeline.settings.launch import others
from pipeline.settings.schema import FamilyJob
from tests.dag.project_copy import ENVIRONMENT, copy_project, edit, run, smallest

LM = ["pipeline.train", "lm", "-cd", "resolved/train_lm", "-cn", "gpt", "lm.model.dropout=0"]
DEVICES = Path("resolved", "train_lm", "aside", "gpt.yaml")
"""Where the settings stand that change no result, the number of processes among them."""
LEFT = ["models/lm/gpt/model.safetensors", "curves/lm/gpt.csv", "metrics/train_lm/gpt.json"]


class Rung(Config):
    """What a stage has of its rung."""

    training: LMTrainingConfig


def job(**training: object) -> FamilyJob:
    """A stage's settings."""
    rung = Rung.model_validate({"training": {"batch_size": 8, "accelerator": "cpu"} | training})
    return FamilyJob.model_construct(family="lm", rung=rung)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with tokens, and the settings of a small GPT."""
    folder = copy_project(tmp_path_factory.mktemp("project"))
    smallest(folder, embeddings=[], lms=["gpt"], translators=[], claims=[], probes=[])
    run(folder, "git", "init", "-q")
    run(folder, "dvc", "init", "-q", "-f")
    run(folder, "dvc", "repro", "resolve", "tokenize@text")
    return folder


def left(project: Path) -> list[bytes]:
    return [(project / file).read_bytes() for file in LEFT]


def runs(project: Path) -> list[str]:
    with sqlite3.connect(project / "mlflow.db") as store:
        return [row[0] for row in store.execute("select status from runs where name = 'train_lm gpt'")]


@pytest.mark.cluster
@pytest.mark.timeout(1200)
def test_two_processes_leave_what_one_leaves_and_one_run(project: Path) -> None:
    run(project, sys.executable, "-m", *LM)
    losses = [float(row) for row in re.findall(r"^\d+,([\d.]+),", left(project)[1].decode(), re.M)]
    edit(project / DEVICES, "lm.training.devices: 1", "lm.training.devices: 2")
    output = run(project, sys.executable, "-m", *LM)
    assert output.count("train_lm gpt: ") <= 2 and runs(project) == ["FINISHED"] * 2, output
    two = left(project)
    result = [float(row) for row in re.findall(r"^\d+,([\d.]+),", two[1].decode(), re.M)]
    assert losses and result == pytest.approx(losses, rel=1e-5)
    run(project, "torchrun", "--nproc-per-node", "2", "-m", *LM)
    assert left(project) == two
    assert slurm(project, 2) == [0, 0]
    assert left(project) == two and runs(project) == ["FINISHED"] * 4
    swept = [
        "pipeline.train",
        "lm",
        "-m",
        "lm=gpt",
        "lm.model.dropout=0",
        "lm.training.devices=2",
        "seed=1,2",
        "again=true",
    ]
    run(project, sys.executable, "-m", *swept)
    models = list((project / "multirun").rglob("model.safetensors"))
    assert len(models) == 2 and two[0] in [model.read_bytes() for model in models]


def slurm(project: Path, count: int) -> list[int]:
    """The processes as srun starts them; their exit codes."""
    step = {"SLURM_STEP_NUM_TASKS": str(count), "SLURM_STEP_NUM_NODES": "1", "SLURM_JOB_ID": str(os.getpid())}
    step |= {"SLURM_STEP_NODELIST": "127.0.0.1"}
    both = [
        subprocess.Popen(
            [sys.executable, "-m", *LM],
            cwd=project,
            env=ENVIRONMENT | step | {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)},
            stdout=subprocess.DEVNULL,
        )
        for rank in range(count)
    ]
    return [process.wait(600) for process in both]


@pytest.mark.cluster
@pytest.mark.timeout(1200)
def test_a_process_that_dies_ends_the_training(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one dies as it begins: the first does not wait for it for ever."""
    file = project / DEVICES
    file.write_text(file.read_text().replace("lm.training.devices: 1", "lm.training.devices: 2"))
    (project / "sitecustomize.py").write_text("import os\nif os.environ.get('RANK') == '1':\n    os._exit(3)\n")
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", str(project))  # where Python looks for it as it begins
    try:
        output = run(project, sys.executable, "-m", *LM, check=False)
    finally:
        (project / "sitecustomize.py").unlink()
    assert "process 1 of the training ended with 3" in output


def test_a_stage_starts_processes_on_its_own_machine_only() -> None:
    with (
        pytest.raises(InputError, match="a stage only starts processes on its own machine"),
        others("train_lm", "gpt", {}, job(devices=2, nodes=2)),
    ):
        pass


def test_one_process_does_not_matter() -> None:
    before = dict(os.environ)
    for stage, training in (("train_lm", {}), ("evaluate_lm", {"devices": 2}), ("clean", {"devices": 2})):
        with others(stage, "gpt", {}, job(**training)):
            assert ranks() == Ranks() and dict(os.environ) == before
    assert "lm" in families()


def test_slurm_says_which_process_this_is(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"NTASKS": "8", "PROCID": "5", "LOCALID": "1", "JOB_ID": "31234"}
    for name, value in variables.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert ranks() == Ranks()  # a batch script, before srun
    for name, value in {"NUM_TASKS": "8", "NUM_NODES": "2", "NODELIST": "node[07-08]"}.items():
        monkeypatch.setenv(f"SLURM_STEP_{name}", value)
    assert ranks() == Ranks(5, 8, 1, 4) and ranks().nodes == 2
    assert address() == ("node07", 16_234)
