"""Jobs on the machines of a Dask cluster, for `pipeline.parallel`: DVC runs here, the commands run on the workers.

DVC's locks only cover the processes of one machine, so `dvc repro` in one folder from several machines is not safe. So
each job has its own `dvc repro` on this machine, as usual, but its command runs on a worker: DVC starts commands with
the program in SHELL, and ours asks for the command to be run remotely and waits for its exit code. Outputs arrive
through the filesystem that the machines share. dvc.lock, the cache and the list of outdated jobs are those of
`dvc repro`.

Jobs of a rung run remotely, each on one thread of a worker. Jobs that read a whole corpus run here: they distribute
their parts over the same cluster themselves.
"""

import os
import platform
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

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

REQUEST = "\x1e"  # begins the line with which the shell requests its command
SHELL = '#!/bin/sh\nprintf "\\036%s\\n" "$2"\nread -r code\nexit "${code:-1}"\n'
PASSED_ON = "MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", REPRO  # for workers


class Job:
    """A job whose command runs on a worker, with the interface of a `Popen`."""

    def __init__(self, cluster: "Cluster", name: str, command: list[str]) -> None:
        self._cluster, self._name = cluster, name
        self._dvc = subprocess.Popen(
            command,
            cwd=ROOT,  # where `-m` finds it
            env=os.environ | {"SHELL": str(cluster.shell)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    @property
    def stdout(self) -> Iterator[str]:
        """The lines of DVC and of the command, as they arrive."""
        assert self._dvc.stdin and self._dvc.stdout
        for line in self._dvc.stdout:
            if not line.startswith(REQUEST):
                yield line
                continue
            code = yield from self._cluster.run(self._name, line.removeprefix(REQUEST).rstrip("\n"))
            self._dvc.stdin.write(f"{code}\n")
            self._dvc.stdin.flush()

    def terminate(self) -> None:
        """End DVC's process and its command on the worker."""
        self._dvc.terminate()
        self._cluster.client.close()

    def wait(self) -> int:
        """DVC's exit code."""
        return self._dvc.wait()


class Cluster:
    """The workers that can run jobs.

    Attributes:
        folder: the project's.
        slots: how many jobs run remotely at a time.
        shell: the program that replaces a shell.
    """

    def __init__(self, client: Any, folder: Path, slots: int) -> None:
        self.client, self.folder, self.slots = client, folder, slots
        self.shell = folder / ".dvc" / "tmp" / f"ask-{uuid.uuid4().hex[:8]}.sh"
        self._environment = {CLUSTER_ADDRESS: NO_CLUSTER} | {
            key: os.environ[key] for key in PASSED_ON if key in os.environ
        }

    def __enter__(self) -> Self:
        """Check that all workers can run jobs.

        Raises:
            InputError: a worker has no access to the folder, or several machines would write one SQLite file.
        """
        self.shell.parent.mkdir(parents=True, exist_ok=True)
        self.shell.write_text(SHELL)
        self.shell.chmod(0o700)
        seen = self.client.run(dask.sees, str(self.shell))
        if blind := sorted({host for host, sees in seen.values() if not sees}):
            raise InputError(f"engine: workers on {', '.join(blind)} cannot access {self.folder}; all must share it")
        others = sorted({host for host, _ in seen.values()} - {platform.node()})
        if others and store.uri().startswith("sqlite:"):
            raise InputError(
                f"engine: jobs would run on {', '.join(others)} too, and several machines that write one SQLite file "
                "lose runs; set MLFLOW_TRACKING_URI to a tracking server (docs/cluster.md)"
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.shell.unlink(missing_ok=True)

    def goes(self, job: str) -> bool:
        """Whether a job runs remotely: it belongs to a rung and does not distribute its own work over the cluster."""
        stage = plan.stages().get(job.partition("@")[0])
        if stage is None or stage.family is None:
            return False
        settings = plan.resolved(self.folder, job)
        return "training" in settings.get(stage.family, {}) or "engine" not in settings.get("aside", {})

    def needs(self, job: str) -> dict[str, float]:
        """The resources that a job requests, if any worker offers them: a GPU for training, memory."""
        offers = [worker["resources"] for worker in self.client.scheduler_info(n_workers=-1)["workers"].values()]
        most = {key: max(offer.get(key, 0.0) for offer in offers) for key in ("gpu", "memory")} if offers else {}
        settings = plan.resolved(self.folder, job)
        training = plan.training(settings) or {"accelerator": "cpu"}
        gpus = 0.0 if training.get("accelerator") == "cpu" else float(training.get("devices", 1))
        wanted = {"gpu": gpus, "memory": float(JOB_BYTES)}
        return {key: min(wanted[key], most[key]) for key in most if wanted[key] and most[key]}

    def begin(self, job: str, command: list[str]) -> Job:
        """Start a job that runs remotely."""
        return Job(self, job, command)

    def run(self, job: str, command: str) -> dask.Lines:
        """Run a job's command on a worker; yields its lines and returns its exit code."""
        return dask.run(self.client, job, command, self.folder, self._environment, **self.needs(job))


@contextmanager
def connected(folder: Path, chosen: params.Choices) -> Iterator[Cluster | None]:
    """The cluster of `engine` in params.yaml, which local jobs use, too; None if the engine is local.

    Raises:
        InputError: the cluster is not available.
    """
    config = _config(chosen.engine)
    if not isinstance(config, DaskConfig):
        yield None
        return
    with progress.working("waiting for workers"):
        engine = open_engine(config, None, processors())
    assert isinstance(engine, Dask)
    os.environ[CLUSTER_ADDRESS] = engine.client.scheduler.address
    try:
        threads = sum(engine.client.nthreads().values())
        with Cluster(engine.client, folder, max(threads, 1 if config.address else engine.requested)) as found:
            yield found
    finally:
        del os.environ[CLUSTER_ADDRESS]
        engine.close()


def _config(name: str) -> LocalConfig | DaskConfig:
    values = OmegaConf.to_container(OmegaConf.load(params.conf_file("engine", name)), resolve=True)
    with explain(file_of=lambda _: f"conf/engine/{name}.yaml"):
        found: LocalConfig | DaskConfig = TypeAdapter(AnyEngine).validate_python(values)
        return found
