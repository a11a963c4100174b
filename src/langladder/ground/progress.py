"""Progress of long work: bars on a terminal, otherwise a line every few seconds.

    with working("counting words", total=len(lines), unit="lines") as task:
        for line in lines:
            …
            task.advance()

    for line in tracked(lines, "counting words", unit="lines"): …

Tasks can be nested; a line names them all, from the outermost to the innermost. Nothing is shown before `show()` is
called, as the stages do, so that the library itself is silent; `working` then costs nothing. A separate thread writes
the lines, so there is also output during long calls of other libraries. Tasks that take less than FIRST seconds print
nothing.
"""

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO, TypeVar, cast

from langladder.ground.errors import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

FIRST, EVERY = 2.0, 5.0  # seconds until a task prints its first line, and between its lines
MARK = "… "  # the beginning of every progress line

Item = TypeVar("Item")


@dataclass
class Piece:
    """A running piece of work."""

    what: str
    total: int | None = None
    unit: str = ""
    done: int = 0
    status: str = ""
    began: float = field(default_factory=time.monotonic)
    bar: "TaskID | None" = None  # the number of its bar, if bars are shown

    def advance(self, steps: int = 1) -> None:
        """Advance by this many units."""
        self.done += steps

    def note(self, text: str) -> None:
        """Set the status text."""
        self.status = text

    @property
    def state(self) -> str:
        """The line of this task."""
        unit = f" {self.unit}" if self.unit else ""
        far = f"{self.done:,}{unit}" if self.done else ""  # nothing yet: nothing to say
        if self.total:
            far = f"{self.done:,} of {self.total:,}{unit} ({self.done / self.total:.0%})"
        how = ", ".join(part for part in (far, self.status) if part)
        return f"{self.what}: {how}" if how else self.what


class Board:
    """The running tasks of this process, and the thread that shows them."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream
        self.tasks: list[Piece] = []
        self.lock = threading.RLock()
        self.idle = threading.Event()  # set: nothing is left to show
        self.bars: Progress | None = None

    @property
    def terminal(self) -> bool:
        """Whether there is a terminal for bars."""
        return bool(self._stream().isatty())

    def add(self, task: Piece) -> None:
        """Show this task."""
        with self.lock:
            self.tasks.append(task)
            if len(self.tasks) == 1:
                self.idle = threading.Event()
                show = self._bars if self.terminal else self._lines
                threading.Thread(target=show, args=(self.idle,), daemon=True, name="progress").start()

    def remove(self, task: Piece) -> None:
        """Remove a finished task."""
        with self.lock:
            self.tasks.remove(task)
            if task.bar is not None and self.bars is not None:
                self.bars.remove_task(task.bar)
            if not self.tasks:
                self.idle.set()
                if self.bars is not None:
                    self.bars.stop()
                    self.bars = None

    def line(self, text: str) -> None:
        """Write a permanent line, above the bars if there are any."""
        text = printable(text)
        with self.lock:
            if self.bars is not None:
                self.bars.console.print(text, markup=False, highlight=False, soft_wrap=True)
            else:
                print(text, file=self._stream(), flush=True)

    def _stream(self) -> TextIO:
        return self.stream or sys.stderr

    def _lines(self, idle: threading.Event) -> None:
        pause = FIRST
        while not idle.wait(pause):
            pause = EVERY
            with self.lock:
                if self.tasks:
                    seconds = time.monotonic() - self.tasks[0].began
                    text = " · ".join([*(task.state for task in self.tasks), f"{seconds:.0f} s"])
                    print(f"{MARK}{printable(text)}", file=self._stream(), flush=True)

    def _bars(self, idle: threading.Event) -> None:
        if idle.wait(FIRST / 4):
            return
        from rich import progress as rich  # takes a tenth of a second
        from rich.console import Console

        columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.TimeElapsedColumn())
        bars = rich.Progress(*columns, rich.TimeRemainingColumn(), console=Console(file=self._stream()), transient=True)
        with self.lock:
            if idle.is_set():
                return
            self.bars = bars
            bars.start()
        while not idle.wait(0.2):
            with self.lock:
                for task in self.tasks:
                    if task.bar is None:
                        task.bar = bars.add_task(_escaped(task.state), total=task.total)
                    bars.update(task.bar, description=_escaped(task.state), completed=task.done, total=task.total)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


_board: Board | None = None  # None: this process shows nothing
_always = Board()


def show(enabled: bool = True) -> None:
    """Show running tasks from now on (or no longer)."""
    global _board
    _board = _always if enabled else None


@contextmanager
def displayed() -> Iterator[None]:
    """Show running tasks while the block runs."""
    show()
    try:
        yield
    finally:
        show(False)


@contextmanager
def working(what: str, total: int | None = None, unit: str = "", *, always: bool = False) -> Iterator[Piece]:
    """A piece of work, shown while the block runs.

    Args:
        total: the number of units, if known.
        always: show it without a call of `show()`; without a terminal, print only the last line.
    """
    task = Piece(what, total, unit)
    board = _always if always else _board
    if board is None:
        yield task
        return
    board.add(task)
    try:
        yield task
        if always and not board.terminal:
            board.line(f"{MARK}{task.state} · {time.monotonic() - task.began:.0f} s")  # the final state
    finally:
        board.remove(task)


def tracked(
    items: Iterable[Item], what: str, total: int | None = None, unit: str = "", *, sizes: bool = False
) -> Iterator[Item]:
    """Iterate over items with progress; with `sizes`, an item counts as many units as its length."""
    if total is None and isinstance(items, Sized) and not sizes:
        total = len(items)
    with working(what, total, unit) as task:
        for item in items:
            yield item
            task.advance(len(cast(Sized, item)) if sizes else 1)


def say(line: str) -> None:
    """Write a permanent line, above the bars if there are any."""
    _always.line(line)


class Stopwatch:
    """The seconds since it was made: by the clock, and of processors, which a busy machine changes little."""

    def __init__(self) -> None:
        self.begun = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """By the clock."""
        return time.perf_counter() - self.begun[0]

    @property
    def processor_seconds(self) -> float:
        """Of all threads of this process."""
        return time.process_time() - self.begun[1]

    def cost(self, tokens: int) -> dict[str, float]:
        """What a training that read so many tokens has cost: see `models.making.TrainingResult`."""
        seconds = self.seconds
        speed = tokens / max(seconds, 1e-9)
        return {"seconds": seconds, "processor_seconds": self.processor_seconds, "tokens_per_second": speed}
