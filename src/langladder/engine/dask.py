"""A Dask cluster (https://distributed.dask.org): a running one, or one that is started here and stopped afterwards.

Dask distributes the parts, watches the workers, and gives the parts of a lost one to another. All workers must see the
project's folder under the same path, as on a filesystem that the machines share, because parts name files.

Shell commands are tasks, too, for `pipeline.parallel`. A command runs in the project's folder with the worker's own
Python first on its path, and its lines arrive while it runs. It ends with its worker, because the cluster runs the
command of a lost worker again on another one. So a command must be safe to run again.
"""

import importlib
import os
import platform
import subprocess
import sys
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from tempfile import NamedTemporaryFile
from threading import Thread
from typing import IO, Any

from langladder.engine.base import LEAST, PROCESS, USED, Engine, Part, Result, fitting, machine_bytes, measured
from langladder.ground.errors import InputError

HERE = "this machine"
RETRIES = 2  # of a part whose function raised an error, as a shared filesystem may cause for a moment
SECONDS = 60  # until a cluster has to answer, and to have a worker
INSTALL = "pip install 'langladder[cluster]'"
CLUSTERS = {
    "processes": "distributed.LocalCluster",
    "ssh": "distributed.SSHCluster",
    "slurm": "dask_jobqueue.SLURMCluster",
    "kubernetes": "dask_kubernetes.operator.KubeCluster",
}


class Dask(Engine):
    """The workers of a Dask cluster, however many it has; those that join while parts run are used too.

    Attributes:
        client: the connection to it (`distributed.Client`).
        hosts: how many workers each machine has; one that is lost still counts, since another replaces it.
    """

    def __init__(
        self, client: Any, cluster: Any = None, memory: int | None = None, hosts: Mapping[str, int] | None = None
    ) -> None:
        """Work on a cluster that `client` is connected to.

        Args:
            cluster: a cluster started for it, stopped with it.
            memory: bytes that the workers of one machine may use together.
            hosts: workers that may still join, by machine.
        """
        self.hosts = dict(hosts or {})
        super().__init__(max(1, sum(self.hosts.values())), memory)
        self.client, self._cluster, self.dashboard = client, cluster, client.dashboard_link
        self._known: frozenset[str] = frozenset()
        self.look()

    def look(self) -> None:
        """Ask the cluster which workers it has, and which of them are on this machine and see its temporary files."""
        known = frozenset(self.client.nthreads())
        if not known or known == self._known:
            return
        with NamedTemporaryFile() as file:
            seen = self.client.run(sees, file.name, on_error="ignore")
        counts = Counter(HERE if worker == (platform.node(), True) else worker[0] for worker in seen.values())
        self.hosts = {host: max(counts[host], self.hosts.get(host, 0)) for host in counts | self.hosts}
        self.workers, self.is_local, self._known = max(self.workers, len(known)), set(self.hosts) == {HERE}, known

    def has_workers(self) -> bool:
        """Whether there are several workers, or one on another machine."""
        self.look()
        return self.workers > 1 or not self.is_local

    @property
    def share(self) -> int:
        """As `Engine.share`; on each other machine its workers share the same `memory`."""
        local, remote = self.hosts.get(HERE, 0), [n for host, n in self.hosts.items() if host != HERE]
        shares = [self._room(1 if self.workers == 1 else local + 1)] if local else []
        if remote:
            shares.append(int((self.memory or machine_bytes()) * USED / max(remote)) - PROCESS)
        return max(LEAST, min(shares))

    def _map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        call = partial(_in_folder, Path.cwd(), partial(measured, function))
        futures = deque(self.client.map(call, parts, pure=False, retries=RETRIES))
        while futures:
            result, node, *worker = _result(futures.popleft())
            if node == platform.node():
                self.note(*worker)
            yield result

    def close(self) -> None:
        """Disconnect, and stop the cluster if it was started here."""
        self.client.close()
        if self._cluster is not None:
            self._cluster.close()


def connect(address: str, memory: int | None = None) -> Dask:
    """A running cluster, e.g. `tcp://scheduler:8786`.

    Raises:
        InputError: nothing answers there, it has no workers, or Dask is not installed.
    """
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=SECONDS, set_as_default=False)
        client.wait_for_workers(1, timeout=SECONDS)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise InputError(
            f"engine.address: {address!r} is not a Dask scheduler with workers ({str(error)[:200]}); start one "
            "(`dask scheduler`, `dask worker …`) or set address: null in conf/engine/dask.yaml"
        ) from error
    return Dask(client, memory=memory)


def start(
    kind: str, workers: int, options: dict[str, object], memory: int | None = None, *, least: int | None = None
) -> Dask:
    """Start a cluster: `processes` of this machine, `ssh`, `slurm` or `kubernetes`.

    Args:
        options: of Dask's class for that kind of cluster.
        least: of an adaptive cluster, which has this many to `workers` workers, as there is work; None: it is not one.

    Raises:
        InputError: it does not start, an option is wrong, or a package is not installed.
    """
    distributed = _distributed()
    try:
        many = fitting(workers, memory) if kind == "processes" else workers
        cluster = _started(kind, many if least is None else max(1, least), options)
        if least is not None:
            cluster.adapt(minimum=least, maximum=many)
        client = distributed.Client(cluster, timeout=SECONDS, set_as_default=False)
        awaited = many if kind == "processes" and least is None else 1
        client.wait_for_workers(awaited, timeout=None if kind == "slurm" else SECONDS)
    except ImportError as error:
        raise InputError(
            f"engine.cluster: {kind} needs a package that is not installed ({error}); {INSTALL}"
        ) from error
    except (OSError, TimeoutError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"engine: a cluster of kind {kind!r} with options {options} does not start ({str(error)[:300]}); see "
            "conf/engine/"
        ) from error
    later = {HERE: many} if kind == "processes" else {f"machine {number}": 1 for number in range(many)}
    engine = Dask(client, cluster, memory, later if least is not None else None)
    engine.requested = max(workers, engine.workers)
    return engine


def _started(kind: str, workers: int, options: dict[str, object]) -> Any:
    """Dask's cluster of that kind, which has its own option for the number of workers."""
    module, _, name = CLUSTERS[kind].rpartition(".")
    cluster_class = getattr(importlib.import_module(module), name)
    match kind:
        case "processes":
            quiet: dict[str, object] = {
                "dashboard_address": "127.0.0.1:0",
                "host": "127.0.0.1",
                "memory_limit": 0,
                "threads_per_worker": 1,
            }
            return cluster_class(n_workers=workers, processes=True, **quiet | options)
        case "ssh":
            return cluster_class(**{"worker_options": {"nthreads": 1, "n_workers": workers}, **options})
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
            f"engine: every worker that had the same part of the corpus was lost ({str(error)[:200]}); if they ran out "
            "of memory, lower `memory` in params.yaml, or give the workers more"
        ) from error


def _in_folder(
    folder: Path, call: Callable[[Part], tuple[Result, int, int]], part: Part
) -> tuple[Result, str, int, int]:
    """A worker's call, in the project's folder: the result, the machine's name, and the rest of `measured`.

    Raises:
        InputError: it has no such folder.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        os.chdir(folder)
    except OSError as error:
        raise InputError(
            f"engine: a worker on {os.uname().nodename} cannot access {folder}; all must share it"
        ) from error
    result, process, peak = call(part)
    return result, platform.node(), process, peak


# ---- shell commands


# Runs "$1". When its input closes (the worker has died or finished), all of its processes are ended.
GUARDED = 'exec 3<&0; (read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 & sh -c "$1" </dev/null 3<&-'
LOOK = 0.5  # seconds between checks whether the task is cancelled
LOST = "the worker was lost; the command starts again on another"

Lines = Generator[str, None, int]


def run(client: Any, name: str, command: str, folder: Path, environment: Mapping[str, str], **needs: float) -> Lines:
    """Run a command on a worker; yields its lines as they arrive and returns its exit code.

    Args:
        client: `distributed.Client`.
        environment: variables in addition to the worker's own.
        needs: resources, as workers offer them: gpu=1.
    """
    from distributed.scheduler import KilledWorker

    topic, events, seen = f"{name}-{uuid.uuid4().hex[:8]}", SimpleQueue[tuple[str, str] | None](), {"": 0}
    client.subscribe_topic(topic, lambda event: events.put(event[1]))
    future = client.submit(
        _run, command, str(folder), dict(environment), topic, key=topic, pure=False, resources=needs or None
    )
    future.add_done_callback(lambda _: events.put(None))
    try:
        while (event := events.get()) is not None:
            attempt, line = event
            if attempt not in seen and len(seen) > 1:
                yield LOST
            seen[attempt] = seen.get(attempt, 0) + 1
            yield line
        attempt, code, lines = future.result()
    except KilledWorker as error:
        yield f"every worker that had it was lost: {str(error)[:200]}"
        return 1
    except InputError as error:
        yield str(error)
        return 2
    finally:
        client.unsubscribe_topic(topic)
        if not future.done():  # the caller has stopped
            future.cancel()
    yield from lines[seen.get(attempt, 0) :]  # lines that have not arrived yet
    return int(code)


def sees(file: str) -> tuple[str, bool]:
    """The name of the machine that this runs on, and whether a file is there."""
    return platform.node(), Path(file).is_file()


def _run(command: str, folder: str, environment: dict[str, str], topic: str) -> tuple[str, int, list[str]]:
    """A worker's call: which attempt it was, the command's exit code, all its lines."""
    from distributed import get_worker

    if not Path(folder).is_dir():
        raise InputError(f"a worker on {platform.node()} cannot access {folder}; all must share it (docs/cluster.md)")
    worker, attempt, lines = get_worker(), uuid.uuid4().hex[:8], list[str]()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    process = subprocess.Popen(
        ["sh", "-c", GUARDED, "sh", command],
        cwd=folder,
        env=os.environ | {"PATH": path} | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )

    def forward(output: IO[str]) -> None:
        for line in map(str.rstrip, output):
            lines.append(line)
            worker.log_event(topic, (attempt, line))

    assert process.stdin and process.stdout
    listener = Thread(target=forward, args=(process.stdout,), daemon=True)
    listener.start()
    while process.poll() is None and _wanted(worker, topic):
        time.sleep(LOOK if lines else LOOK / 5)
    process.stdin.close()  # ends the rest of its processes, or all
    code = process.wait()
    listener.join(10)
    return attempt, code, lines


def _wanted(worker: Any, key: str) -> bool:
    """Whether the task has not been cancelled, as it is when the sender stops."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state == "executing"
