"""Processes of this machine.

They are forked from a server that has loaded the module which the work needs, so that starting one takes no time
(`multiprocessing`'s forkserver). A process that dies, of too little memory say, takes its pool with it: another pool is
begun, and every part without a result runs again.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from multiprocessing import connection
from typing import Any

from langladder.engine.base import Engine, Part, Result, fitting, measured, module_of
from langladder.ground.errors import InputError

DEATHS = 3  # of the processes that one part runs in, until it is given up
AHEAD = 4  # parts under way or done beside the one whose turn it is, for each worker

UnderWay = deque[tuple[Part, "Future[Any]"]]


class Local(Engine):
    """So many processes of this machine; fewer where `memory` has no room for them."""

    def __init__(self, workers: int, memory: int | None = None) -> None:
        super().__init__(fitting(workers, memory), memory)
        self.asked = workers
        self._pool: ProcessPoolExecutor | None = None

    def _map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
        call, later, deaths = partial(measured, function), iter(parts), 0
        under_way: UnderWay[Part] = deque()
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
                under_way = deque((part, self._submit(call, part) if _lost(one) else one) for part, one in under_way)
                continue
            deaths = 0
            self.note(*worker)
            under_way.popleft()
            yield result

    def _submit(self, call: "partial[Any]", part: Any) -> "Future[Any]":
        """Give a part to the pool, which begins its processes as they are needed."""
        if self._pool is None:
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload([module_of(call), *_main_modules()])
            self._pool = ProcessPoolExecutor(self.workers, context, initializer=_begin)
        try:
            return self._pool.submit(call, part)
        except BrokenProcessPool as error:  # it died since the last result
            future: Future[Any] = Future()
            future.set_exception(error)
            return future

    def close(self) -> None:
        """Let the workers go."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def _lost(future: "Future[Any]") -> bool:
    return not future.done() or isinstance(future.exception(), BrokenProcessPool)


def _killed(workers: int) -> str:
    return (
        f"a worker was killed {DEATHS} times while it had the same part of the corpus; if that was for want of memory, "
        f"set params.yaml: memory lower, or workers in conf/engine/ below {workers}"
    )


def _begin() -> None:
    """What a worker does first: one thread, silent at Ctrl-C, and no life after its parent's."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if parent := multiprocessing.parent_process():
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def _main_modules() -> list[str]:
    """The modules that the main module has its names from: each worker imports it, and finds them loaded."""
    found = {getattr(value, "__module__", None) for value in vars(sys.modules["__main__"]).values()}
    return sorted(name for name in found if isinstance(name, str) and name != "__main__")
