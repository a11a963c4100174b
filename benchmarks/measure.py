"""What the benchmarks share: clocks on steps and on processes, the machine's speed at products, tables in Markdown."""

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import click
import torch
from rich.console import Console

from langladder.data.batches import StepBatches

threads = click.option("--threads", default=2, show_default=True)

Batch = TypeVar("Batch")


class Clocked(StepBatches[Batch], Generic[Batch]):
    """Batches that note when each one is asked for: the time between two is one whole step, whatever loop drives it."""

    def __init__(self, batches: StepBatches[Batch]) -> None:
        self.batches = batches
        self.stamps: list[float] = []
        self.sizes: list[int] = []

    def train(self, step: int) -> Batch:
        """See `StepBatches.train`."""
        self.stamps.append(time.perf_counter())
        batch = self.batches.train(step)
        self.sizes.append(self.batches.size(batch))
        return batch

    def validation(self) -> Sequence[Batch]:
        """See `StepBatches.validation`."""
        return self.batches.validation()

    def size(self, batch: Batch) -> int:
        """See `StepBatches.size`."""
        return self.batches.size(batch)

    def examples(self, step: int, batch: Batch) -> int:
        """See `StepBatches.examples`."""
        return self.batches.examples(step, batch)

    def take(self, step: int, batch: Batch, rows: Any) -> Batch:
        """See `StepBatches.take`."""
        return self.batches.take(step, batch, rows)

    def terms(self, batch: Batch) -> tuple[int, ...]:
        """See `StepBatches.terms`."""
        return self.batches.terms(batch)

    def seconds_a_token(self, skip: int = 3) -> float:
        """Median over the steps but the first ones and the last."""
        spans = [after - before for before, after in zip(self.stamps, self.stamps[1:], strict=False)]
        return statistics.median(s / size for s, size in list(zip(spans, self.sizes, strict=False))[skip:])

    def mean_tokens_per_second(self, skip: int = 3) -> float:
        """Over the same steps together, for batches whose shapes differ."""
        return sum(self.sizes[skip:-1]) / (self.stamps[-1] - self.stamps[skip])

    def tokens_per_second(self, skip: int = 3) -> float:
        """Its inverse."""
        return 1 / self.seconds_a_token(skip)


def median_seconds(work: Callable[[], Any], repeats: int = 7) -> float:
    """Median time of `repeats` calls, after one that is not counted."""
    work()
    spans = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        spans.append(time.perf_counter() - started)
    return statistics.median(spans)


class Spent(NamedTuple):
    """What a process took: seconds of all its threads and children on the processor, and peak memory in bytes."""

    cpu: float
    peak: int


def spent(arguments: Sequence[str | Path], paths: Sequence[Path] = ()) -> Spent:
    """Run `python …` and measure it.

    Args:
        arguments: of Python.
        paths: folders of packages that come before the project's own.
    """
    here = [str(path) for path in paths] + os.environ.get("PYTHONPATH", "").split(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, here))}
    process = subprocess.Popen([sys.executable, *map(str, arguments)], env=environment, stdout=subprocess.DEVNULL)
    peak, ended = 0, 0
    while not ended:  # the system's own figure of a child's peak would count what this process held when it began
        peak = max(peak, _peak(process.pid))
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        time.sleep(0 if ended else 0.01)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise click.ClickException(f"{' '.join(map(str, arguments))[:200]}: exit code {process.returncode}")
    return Spent(usage.ru_utime + usage.ru_stime, peak)


def _peak(process: int) -> int:
    """Most bytes that a process has held so far; 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def medians(runs: Sequence[Spent]) -> Spent:
    """Of several runs."""
    return Spent(statistics.median(run.cpu for run in runs), int(statistics.median(run.peak for run in runs)))


def product_speed(size: int = 2048) -> float:
    """Floating-point operations a second of a large square product in float32: what this machine can do."""
    a, b, c = (torch.randn(size, size) for _ in range(3))
    return 2 * size**3 / median_seconds(lambda: torch.mm(a, b, out=c))


def machine(threads: int) -> str:
    """One line about where the figures come from."""
    found = torch.cpu.get_capabilities()
    bf16 = "bf16 instructions" if found.get("avx512_bf16") or found.get("amx_bf16") else "no bf16 instructions"
    level = torch.backends.cpu.get_cpu_capability()
    return f"{platform.machine()}, {level}, {bf16}, {threads} threads, torch {torch.__version__}"


def markdown(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> None:
    """Print a table that can be put into a document as it is."""
    lines = [f"### {title}", "", " | ".join(["", *head, ""]).strip()]
    lines.append("|" + "|".join([" --- ", *[" ---: "] * (len(head) - 1)]) + "|")
    lines += [" | ".join(["", *row, ""]).strip() for row in rows]
    lines += ["", *notes]
    Console(width=250, highlight=False, markup=False, soft_wrap=True).print("\n".join(lines) + "\n")


def speed_row(theirs: float, ours: float, target: float, unit: str = "training tokens/s") -> list[str]:
    """The row of a table that compares two speeds: theirs, ours, the ratio, the target."""
    ratio = ours / theirs
    return [unit, f"{theirs:,.0f}", f"{ours:,.0f}", f"{ratio:.2f} ×", verdict(ratio, target)]


def verdict(value: float, target: float, *, at_most: bool = False) -> str:
    """The target, and whether it was met."""
    met = value <= target if at_most else value >= target
    return f"{'≤' if at_most else '≥'} {target:g}: {'met' if met else 'missed'}"
