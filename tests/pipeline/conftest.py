"""A tracking store and a checkout of its own for every test; no DAG."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pipeline.runs import main
from pipeline.settings import run_folder
from pipeline.tracking import fingerprint


class FakeJob:
    """The settings of a job on the rung `lstm`, as a stage hands them to `work`."""

    def __init__(self, **changes: Any) -> None:
        model = {"cell": "lstm", "width": 8, "dropout": 0.1}
        training = {"lr": 0.01, "max_steps": 60, "log_every": 5, "patience": None}
        rung = {"name": "lstm", "title": "LSTM", "_target_": "langladder.models.language.recurrent.RecurrentLM"}
        self.settings = {"seed": 1, "lm": rung | {"model": model, "training": training}, "code": "c0de"} | changes

    family = "lm"

    def values(self) -> dict[str, Any]:
        return self.settings


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database that `python -m pipeline.runs prepare` makes: making it takes seconds, copying it nothing."""
    folder = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "ROOT", folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        assert CliRunner().invoke(main, ["prepare"]).exit_code == 0
    return folder / "mlflow.db"


@pytest.fixture
def checkout(tmp_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that owns outputs, checkpoints and runs."""
    monkeypatch.setattr(fingerprint, "ROOT", tmp_path)
    monkeypatch.setattr(run_folder, "ROOT", tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(tmp_path)
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    return tmp_path


@pytest.fixture
def job() -> type[FakeJob]:
    """Class of fake jobs."""
    return FakeJob
