"""A Dask cluster (https://distributed.dask.org): one that runs already, or one that is started here and stopped after.

Dask sends the parts out, watches the workers, and gives what a lost one had to another. All workers must see the
project's folder under the same path, as on a filesystem that the machines share, because parts name files.
"""

import importlib
import os
import platform
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from langladder.engine.base import PROCESS, USED, Engine, Part, Result, machine_bytes, measured
from langladder.engine.commands import sees
from langladder.engine.local import no_main
from langladder.errors import InputError

AHEAD = 4  # parts under way or done beside the one whose turn it is, for each worker
SECONDS = 60  # until a cluster has to answer, and to have a worker
INSTALL = "pip install 'langladder[cluster]'"
CLUSTERS = {
    "processes": "distributed.LocalCluster",
    "ssh": "distributed.SSHCluster",
    "slurm": "dask_jobqueue.SLURMCluster",
    "kubernetes": "dask_kubernetes.operator.KubeCluster",
}


class Dask(Engine):
    """The workers of a Dask cluster, as many as it has when they are needed.

    Attributes:
        client: the connection to it (`distributed.Client`).
        beside: how many of the workers are on this machine.
    """

    def __init__(self, client: Any, cluster: Any = None, memory: int | None = None) -> None:
        """Work on a cluster that `client` is connected to.

        Args:
            cluster: what was started for it, to be stopped with it.
            memory: of this machine, which its workers share; of each worker elsewhere.
        """
        super().__init__(1, memory)
        self.client, self._cluster, self.beside = client, cluster, 0
        self._known: frozenset[str] = frozenset()
        self.look()

    def look(self) -> None:
        """See what workers there are, and which of them are on this machine and see its folder for temporary files.

        One that is lost still counts, since another begins in its place.
        """
        known = frozenset(self.client.nthreads())
        if known and known != self._known:
            with NamedTemporaryFile() as file:
                seen = self.client.run(sees, file.name, on_error="ignore")
            here = sum(found == (platform.node(), True) for found in seen.values())
            self.workers, self.beside = max(self.workers, len(known)), max(self.beside, here)
            self.here, self._known = here == len(seen) > 0, known

    def has_workers(self) -> bool:
        """Whether there are several, or one elsewhere."""
        self.look()
        return self.workers > 1 or not self.here

    @property
    def share(self) -> int:
        """As `Engine.share`; workers elsewhere have their own memory."""
        if self.beside:
            return self._room(1 if self.here and self.workers == 1 else self.beside + 1)
        return int((self.memory or machine_bytes()) * USED) - PROCESS

    def _map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        call, later = partial(_in_folder, Path.cwd(), partial(measured, function)), iter(parts)
        under_way: deque[Any] = deque()
        done = 0
        while True:
            for part in islice(later, max(0, AHEAD * self.workers - len(under_way))):
                under_way.append(self.client.submit(call, part, pure=False))
            if not under_way:
                return
            result, node, *worker = _result(under_way.popleft())
            if node == platform.node():
                self.note(*worker)
            done += 1
            if done % self.workers == 0:  # others may have come
                self.look()
            yield result

    def close(self) -> None:
        """Disconnect, and stop what was started."""
        self.client.close()
        if self._cluster is not None:
            self._cluster.close()


def connect(address: str, memory: int | None = None) -> Dask:
    """A cluster that runs already, e.g. `tcp://scheduler:8786`.

    Raises:
        InputError: nobody answers there, it has no workers, or Dask is not installed.
    """
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=SECONDS, set_as_default=False)
        client.wait_for_workers(1, timeout=SECONDS)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise InputError(
            f"engine.address: {address!r} is no Dask scheduler with workers ({str(error)[:200]}); start one "
            "(`dask scheduler`, `dask worker …`) or set address: null in conf/engine/dask.yaml"
        ) from error
    return Dask(client, memory=memory)


def start(kind: str, workers: int, options: dict[str, Any], memory: int | None = None) -> Dask:
    """Start a cluster: `processes` of this machine, `ssh`, `slurm` or `kubernetes`.

    Args:
        options: of Dask's class for that kind of cluster.

    Raises:
        InputError: it does not start, an option is wrong, or a package is not installed.
    """
    distributed = _distributed()
    try:
        cluster = _started(kind, workers, options)
        client = distributed.Client(cluster, timeout=SECONDS, set_as_default=False)
        client.wait_for_workers(1 if kind != "processes" else workers, timeout=None if kind == "slurm" else SECONDS)
    except ImportError as error:
        raise InputError(
            f"engine.cluster: {kind} needs a package that is not installed ({error}); {INSTALL}"
        ) from error
    except (OSError, TimeoutError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"engine: a cluster of kind {kind!r} with options {options} does not start ({str(error)[:300]}); see "
            "conf/engine/"
        ) from error
    return Dask(client, cluster, memory)


def _started(kind: str, workers: int, options: dict[str, Any]) -> Any:
    """Dask's cluster of that kind, which has its own way to be told of workers."""
    module, _, name = CLUSTERS[kind].rpartition(".")
    cluster_class = getattr(importlib.import_module(module), name)
    match kind:
        case "processes":
            quiet = {"dashboard_address": None, "host": "127.0.0.1", "memory_limit": 0, "threads_per_worker": 1}
            with no_main():
                return cluster_class(n_workers=workers, processes=True, **quiet | options)
        case "ssh":
            return cluster_class(**{"worker_options": {"nthreads": 1, "n_workers": workers}} | options)
        case "slurm":
            cluster = cluster_class(**options)
            cluster.scale(workers)
            return cluster
        case _:
            return cluster_class(n_workers=workers, **options)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise InputError(f"engine: dask is not installed ({error}); {INSTALL}") from error
    return distributed


def _result(future: Any) -> Any:
    from distributed.scheduler import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise InputError(
            f"engine: every worker that had the same part of the corpus was lost ({str(error)[:200]}); if that was for "
            "want of memory, set params.yaml: memory lower, or give the workers more"
        ) from error


def _in_folder(
    folder: Path, call: Callable[[Part], tuple[Result, int, int]], part: Part
) -> tuple[Result, str, int, int]:
    """A worker's call, in the project's folder: the result, the machine's name, and of `measured` the rest.

    Raises:
        InputError: it has no such folder.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        os.chdir(folder)
    except OSError as error:
        raise InputError(
            f"engine: a worker on {os.uname().nodename} does not see {folder}; all must share it"
        ) from error
    result, process, peak = call(part)
    return result, platform.node(), process, peak
