"""The data stages on real text, each in a process of its own with its start-up: MB of text a second and core.

    python benchmarks/data_stages.py clean | tokenize | vocab

A row is a piece of work in a module `data_<stage>.py` beside this one: a command that prints its table.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import click


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
    return Spent(median(run.cpu for run in runs), int(median(run.peak for run in runs)))


@click.group()
def main() -> None:
    """Data stages, measured."""


if __name__ == "__main__":
    from data_clean import clean
    from data_tokens import tokenize, vocab

    for command in (clean, tokenize, vocab):
        main.add_command(command)
    main()
