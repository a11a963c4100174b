"""Engines: they call a function with each part of a corpus and return the results in the order of the parts.

Results must not depend on where they are computed. So parts are cut by the content alone (`text.storage.shards`), never
by the number of workers; a function gets one part and changes nothing but files that it writes completely, under a name
of the part; and results come in the order of the parts. Then any engine, any number of workers, and a part that ran
twice because its worker died give the same bytes.

`Serial` works in this process, `Local` with processes of this machine, `dask.Dask` on a cluster.
"""

import multiprocessing
import os
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from itertools import islice
from multiprocessing import connection
from pathlib import Path
from typing import TypeVar

from langladder.ground.errors import InputError
from langladder.ground.memory import held_bytes
from langladder.ground.progress import tracked

Part = TypeVar("Part")
Result = TypeVar("Result")

PROCESS = 200 * 2**20  # about the memory of a worker's Python and libraries before it reads data
LIBRARIES = 100 * 2**20  # of that, mapped from the libraries' files
USED = 0.9  # of the memory that is granted; the rest is a margin for estimates
LEAST = 32 * 2**20  # minimum memory of a part's function


class Engine(ABC):
    """Runs a function on the parts of a corpus.

    Attributes:
        workers: how many parts run at once. requested: as many as the settings request; more than `workers` if `memory`
            is too small for them.
        memory: bytes that the whole stage may use, this process and its workers on this machine together; None: as
            many as the machine has.
        is_local: whether all workers are on this machine, and see its folder for temporary files.
    """

    is_local: bool = True
    dashboard: str | None = None  # the address of a page that displays the workers

    def __init__(self, workers: int = 1, memory: int | None = None) -> None:
        self.workers = self.requested = workers
        self.memory = memory
        self._peaks: dict[int, int] = {}

    @property
    def share(self) -> int:
        """Bytes that one part's function, and this process beside the workers, may use besides the present use."""
        return self._room(1 if self.workers == 1 else self.workers + 1)

    @property
    def whole(self) -> int:
        """The same for this process while no worker runs."""
        return self._room(1)

    def _room(self, processes: int) -> int:
        here = max(PROCESS, held_bytes() + LIBRARIES)
        granted = (self.memory or machine_bytes()) * USED
        return max(LEAST, int((granted - here - (processes - 1) * PROCESS) / processes))

    def map(self, function: Callable[[Part], Result], parts: Sequence[Part], what: str = "parts") -> Iterator[Result]:
        """`function(part)` of each part, in the order of the parts.

        Args:
            function: of a module (or a `functools.partial` of one), so that another process finds it.
            parts: small objects that can be sent: paths, ranges. So are the results; large data goes to files.
            what: the task, for the display of progress.
        """
        shared = len(parts) > 1 and self.has_workers()
        results: Iterator[Result] = self._map(function, parts) if shared else map(function, parts)
        return tracked(results, what, len(parts), "parts") if len(parts) > 1 else results

    @abstractmethod
    def _map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        """As `map`, of several parts and with several workers."""

    def has_workers(self) -> bool:
        """Whether parts would run in other processes now."""
        return self.workers > 1

    def note(self, process: int, peak: int) -> None:
        """The measurements of a worker on this machine: `measured`."""
        self._peaks[process] = max(peak, self._peaks.get(process, 0))

    def peak(self) -> int:
        """The sum of the peak memory of this process and of its workers on this machine, in bytes."""
        return process_peak() + sum(sorted(self._peaks.values())[-self.workers :])

    @abstractmethod
    def close(self) -> None:
        """Stop the workers."""


class Serial(Engine):
    """Runs all parts in this process, one after the other."""

    def _map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        return map(function, parts)

    def close(self) -> None:
        """There are none to stop."""


# ---- the engine of a stage


_current: ContextVar[Engine | None] = ContextVar("engine", default=None)
_SERIAL = Serial()


def current() -> Engine:
    """The engine of the running stage; `Serial` if none was set."""
    return _current.get() or _SERIAL


@contextmanager
def used(engine: Engine) -> Iterator[Engine]:
    """Let `current()` be this engine while the block runs; its workers stop afterwards."""
    token = _current.set(engine)
    try:
        yield engine
    finally:
        _current.reset(token)
        engine.close()


def fitting(workers: int, memory: int | None) -> int:
    """The number of worker processes of one machine that fit into `memory` beside the main process: at least one.

    Each gets twice the memory of a process that has read nothing.
    """
    count = int((memory or machine_bytes()) * USED) // (2 * PROCESS) - 1
    return max(1, min(workers, count))


def machine_bytes() -> int:
    """Memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def measured(function: Callable[[Part], Result], part: Part) -> tuple[Result, int, int]:
    """A worker's call: the result, the number of its process, and its peak memory in bytes."""
    return function(part), os.getpid(), process_peak()


def module_of(function: Callable[..., object]) -> str:
    """The module that a worker has to load for a function, which may be in a `partial` or several."""
    while isinstance(function, partial):
        function = function.args[0] if function.func is measured else function.func
    return function.__module__


def process_peak() -> int:
    """Peak memory (not of a GPU) of this process, in bytes."""
    import resource

    with suppress(OSError):  # Linux: `getrusage` would also count the memory of the parent process
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# ---- processes of this machine


DEATHS = 3  # of worker processes with one part, before the part fails
AHEAD = 4  # parts running or finished ahead of the next result, for each worker

Measured = tuple[Result, int, int]
"""The result of a worker: see `measured`."""


class Local(Engine):
    """Processes of this machine, `workers` of them; fewer if `memory` is too small for them.

    They are forked from a server that has loaded the needed module, so starting one takes no time (`multiprocessing`'s
    forkserver). A process that dies, for lack of memory say, ends its pool: another pool is started, and every part
    without a result runs again.
    """

    def __init__(self, workers: int, memory: int | None = None) -> None:
        super().__init__(fitting(workers, memory), memory)
        self.requested = workers
        self._pool: ProcessPoolExecutor | None = None

    def _map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        call: Callable[[Part], Measured[Result]] = partial(measured, function)
        later, deaths = iter(parts), 0
        under_way: deque[tuple[Part, Future[Measured[Result]]]] = deque()
        while True:
            for part in islice(later, AHEAD * self.workers - len(under_way)):
                under_way.append((part, self._submit(call, part)))
            if not under_way:
                return
            try:
                result, *worker = under_way[0][1].result()
            except BrokenProcessPool as error:
                deaths += 1
                if deaths == DEATHS:
                    raise InputError(_killed(self.workers)) from error
                self.close()
                under_way = deque(
                    (part, self._submit(call, part) if _lost(result) else result) for part, result in under_way
                )
                continue
            deaths = 0
            self.note(*worker)
            under_way.popleft()
            yield result

    def _submit(self, call: Callable[[Part], Measured[Result]], part: Part) -> Future[Measured[Result]]:
        """Give a part to the pool, which starts its processes when they are needed."""
        if self._pool is None:
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload([module_of(call), *_main_modules()])
            self._pool = ProcessPoolExecutor(self.workers, context, initializer=_begin)
        try:
            return self._pool.submit(call, part)
        except BrokenProcessPool as error:  # it died since the last result
            future: Future[Measured[Result]] = Future()
            future.set_exception(error)
            return future

    def close(self) -> None:
        """Stop the workers."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def _lost(future: Future[Measured[Result]]) -> bool:
    return not future.done() or isinstance(future.exception(), BrokenProcessPool)


def _killed(workers: int) -> str:
    return (
        f"a worker was killed {DEATHS} times while it had the same part of the corpus; if memory was too small, "
        f"set params.yaml: memory lower, or workers in conf/engine/ below {workers}"
    )


def _begin() -> None:
    """Initialise a worker: one thread, silent at Ctrl-C, ends with its parent."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if parent := multiprocessing.parent_process():
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def _main_modules() -> list[str]:
    """The modules that the main module imports from, for the server to load: each worker imports the main module."""
    modules = {getattr(value, "__module__", None) for value in vars(sys.modules["__main__"]).values()}
    return sorted(name for name in modules if isinstance(name, str) and name != "__main__")
