"""MLflow: one flat run a training or evaluation, one experiment a task, the way back by the job's fingerprint.

DVC tracks nothing of this: run ids and times live here only. A run carries the tag `fingerprint` (hash of the job's
settings, its code and its inputs), and so does the artefact's provenance; `pipeline.runs` goes from one to the other.
"""

import fcntl
import logging
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pipeline import ROOT
from pipeline.support.fingerprint import home

TASKS = {"embedding": "word vectors", "lm": "language models", "translator": "translation"}  # ladder: experiment
TASKS |= {"sequence": "sequences", "experiment": "experiments", "probe": "experiments"}


def uri() -> str:
    """The tracking store: MLFLOW_TRACKING_URI where set, else mlflow.db of this checkout."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home() / 'mlflow.db'}"


@contextmanager
def _alone() -> Iterator[None]:
    """The database is made by one process at a time: several first writers break it."""
    with (home() / ".dvc" / "mlflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def prepare(tasks: Iterable[str] = tuple(dict.fromkeys(TASKS.values()))) -> tuple[Any, dict[str, str]]:
    """A client of the store, and the id of each task's experiment; both are made where missing."""
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.WARNING)  # it announces every table that it makes
    ids = {}
    with _alone():
        client = MlflowClient(tracking_uri=uri())
        for task in tasks:
            found = client.get_experiment_by_name(task)
            place = (home() / "mlartifacts" / task).as_uri() if uri().startswith("sqlite:///") else None
            ids[task] = str(found.experiment_id if found else client.create_experiment(task, place))
    return client, ids


class Tracked:
    """An open MLflow run."""

    def __init__(self, client: Any, run_id: str) -> None:
        self.client, self.run_id = client, run_id

    def lightning_logger(self) -> Any:
        """Lightning logger that writes into this run."""
        from pytorch_lightning.loggers import MLFlowLogger

        return MLFlowLogger(tracking_uri=uri(), run_id=self.run_id)

    def metrics(self, values: Mapping[str, Any], step: int = 0) -> None:
        """Log the numbers of a mapping in one call; what is no number is left out."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        batch = [Metric(key, float(v), now, step) for key, v in values.items() if isinstance(v, int | float)]
        self.client.log_batch(self.run_id, metrics=batch)

    def file(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep a mapping beside the run as a JSON file."""
        self.client.log_dict(self.run_id, dict(value), name)


@contextmanager
def run(
    task: str, stage: str, rung: str, settings: Mapping[str, Any], fingerprint: str, inputs: Mapping[str, str]
) -> Iterator[Tracked]:
    """Open a run named `<stage> <rung>`; marked FAILED when the block raises.

    The settings go in twice: flat, as parameters for the UI's compare page (cut at 250 characters), and whole, as
    resolved.yaml.
    """
    import yaml
    from mlflow.entities import Param

    client, experiments = prepare([task])
    flat = _flatten(settings)
    tags = {
        "mlflow.runName": f"{stage} {rung}",
        "stage": stage,
        "rung": rung,
        "fingerprint": fingerprint,
        "git_commit": _commit(),
    }
    tags |= {"size": str(flat.get("size", "")), **{f"input.{name}": value for name, value in inputs.items()}}
    tracked = Tracked(client, client.create_run(experiments[task], tags=tags).info.run_id)
    client.log_batch(tracked.run_id, params=[Param(key, str(value)[:250]) for key, value in flat.items()])
    client.log_text(
        tracked.run_id, yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True), "resolved.yaml"
    )
    try:
        yield tracked
    except BaseException:
        client.set_terminated(tracked.run_id, "FAILED")
        raise
    client.set_terminated(tracked.run_id)


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _commit() -> str:
    result = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "none"
