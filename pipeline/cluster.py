"""Jobs on the machines of a Dask cluster, for `pipeline.parallel`: DVC runs here, the stages of rungs on the workers.

DVC's locks only cover the processes of one machine, so `dvc repro` in one folder from several machines is not safe. So
DVC runs each stage on this machine, as always, and the stage of a rung gives its own command to a worker, by the engine
that the data stages use, and waits for its end. Outputs arrive through the filesystem that the machines share.
dvc.lock, the cache and the list of outdated jobs are those of `dvc repro`.

Jobs that read a whole corpus run here: they distribute their parts over the same cluster themselves.
"""

import os
import platform
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from omegaconf import OmegaConf
from pydantic import TypeAdapter

from langladder.engine import dask
from langladder.engine.dask import Dask
from langladder.engine.settings import AnyEngine, DaskConfig, LocalConfig, open_engine
from langladder.ground import progress
from langladder.ground.errors import InputError
from pipeline import ROOT
from pipeline.settings import params, plan
from pipeline.settings.errors import explain
from pipeline.settings.resources import CLUSTER_ADDRESS, JOB_BYTES, NO_CLUSTER, processors
from pipeline.tracking import store
from pipeline.tracking.processes import REPRO

PASSED_ON = "MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", REPRO  # for workers


def goes(job: str, folder: Path = ROOT) -> bool:
    """Whether a job runs on a worker: it belongs to a rung and does not distribute its own work over the cluster."""
    stage = plan.stages().get(job.partition("@")[0])
    if stage is None or stage.family is None:
        return False
    settings = plan.resolved(folder, job)
    return "training" in settings.get(stage.family, {}) or "engine" not in settings.get("aside", {})


def needs(client: Any, job: str, folder: Path = ROOT) -> dict[str, float]:
    """The resources that a job requests, if any worker offers them: a GPU for training, memory."""
    offers = [worker["resources"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
    most = {key: max(offer.get(key, 0.0) for offer in offers) for key in ("gpu", "memory")} if offers else {}
    settings = plan.resolved(folder, job)
    training = plan.training(settings) or {"accelerator": "cpu"}
    gpus = 0.0 if training.get("accelerator") == "cpu" else float(training.get("devices", 1))
    wanted = {"gpu": gpus, "memory": float(JOB_BYTES)}
    return {key: min(wanted[key], most[key]) for key in most if wanted[key] and most[key]}


def run_there(job: str) -> int | None:
    """Run the command of this process on a worker of the cluster of `pipeline.parallel`, and print what it prints.

    Returns:
        Its exit code; None if there is no cluster or the job runs here.

    Raises:
        InputError: the cluster is not available.
    """
    address = os.environ.get(CLUSTER_ADDRESS, NO_CLUSTER)
    if address == NO_CLUSTER or not goes(job):
        return None
    engine = dask.connect(address)
    environment = {CLUSTER_ADDRESS: NO_CLUSTER} | {key: os.environ[key] for key in PASSED_ON if key in os.environ}
    command = shlex.join(["python", *sys.orig_argv[1:]])  # the worker's
    lines = dask.run(engine.client, job, command, ROOT, environment, **needs(engine.client, job))
    try:
        while True:
            print(next(lines), flush=True)
    except StopIteration as ended:
        return int(ended.value)
    finally:
        engine.close()


def check(client: Any, folder: Path) -> None:
    """Check that all workers can run jobs.

    Raises:
        InputError: a worker has no access to the folder, or several machines would write one SQLite file.
    """
    (folder / ".dvc" / "tmp").mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=folder / ".dvc" / "tmp") as file:
        seen = client.run(dask.sees, file.name)
    if blind := sorted({host for host, sees in seen.values() if not sees}):
        raise InputError(f"engine: workers on {', '.join(blind)} cannot access {folder}; all must share it")
    others = sorted({host for host, _ in seen.values()} - {platform.node()})
    if others and store.uri().startswith("sqlite:"):
        raise InputError(
            f"engine: jobs would run on {', '.join(others)} too, and several machines that write one SQLite file "
            "lose runs; set MLFLOW_TRACKING_URI to a tracking server (docs/cluster.md)"
        )


@contextmanager
def connected(folder: Path, chosen: params.Choices) -> Iterator[int]:
    """Connect the jobs that start inside with the cluster of `engine` in params.yaml.

    Returns:
        How many jobs run on its workers at a time; 0: the engine is local.

    Raises:
        InputError: the cluster is not available.
    """
    config = _config(chosen.engine)
    if not isinstance(config, DaskConfig):
        yield 0
        return
    with progress.working("waiting for workers"):
        engine = open_engine(config, None, processors())
    assert isinstance(engine, Dask)
    os.environ[CLUSTER_ADDRESS] = address = engine.client.scheduler.address
    try:
        check(engine.client, folder)
        slots = max(sum(engine.client.nthreads().values()), 1 if config.address else engine.requested)
        print(f"jobs of rungs run on {address}, {slots} at a time; dashboard: {engine.dashboard}", flush=True)
        yield slots
    finally:
        del os.environ[CLUSTER_ADDRESS]
        engine.close()


def _config(name: str) -> LocalConfig | DaskConfig:
    values = OmegaConf.to_container(OmegaConf.load(params.conf_file("engine", name)), resolve=True)
    with explain(file_of=lambda _: f"conf/engine/{name}.yaml"):
        config: LocalConfig | DaskConfig = TypeAdapter(AnyEngine).validate_python(values)
        return config
