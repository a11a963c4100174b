"""Engines: results in the order of the parts, whoever runs them, and when a worker dies."""

import os
import signal
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from langladder.engine.base import DEATHS, LEAST, PROCESS, Engine, Local, Serial, current, used
from langladder.engine.settings import LocalConfig
from langladder.ground.errors import InputError
from pipeline.settings.resources import engine as engine_of


def square(part: int) -> int:
    time.sleep(0.02 * (part % 3))  # the later parts are done first
    return part * part


def die_once(folder: Path, part: int) -> int:
    """Part 3 kills its process the first time."""
    mark = folder / "died"
    if part == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return part * part


def die(part: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return part


def refuse(part: int) -> int:
    if part == 5:
        raise InputError(f"part {part} is bad")
    return part


@pytest.fixture(params=["serial", "local"])
def engine(request):
    opened: Engine = Serial() if request.param == "serial" else Local(2)
    with used(opened):
        yield opened


def test_results_come_in_the_order_of_the_parts(engine) -> None:
    assert current() is engine
    assert list(engine.map(square, range(20), "squares")) == [part * part for part in range(20)]
    assert list(engine.map(square, [])) == []
    assert list(engine.map(square, [4])) == [16]


def test_an_error_of_a_part_reaches_the_caller(engine) -> None:
    with pytest.raises(InputError, match="part 5 is bad"):
        list(engine.map(refuse, range(9)))
    assert list(engine.map(square, range(3))) == [0, 1, 4]  # and the engine lives on


def test_what_a_killed_worker_had_runs_again(tmp_path) -> None:
    with used(Local(2)) as engine:
        assert list(engine.map(partial(die_once, tmp_path), range(12))) == [part * part for part in range(12)]
    assert (tmp_path / "died").exists()


def test_a_part_that_kills_every_worker_is_abandoned() -> None:
    with used(Local(2)) as engine, pytest.raises(InputError, match=f"killed {DEATHS} times"):
        list(engine.map(die, range(4)))


def test_memory_bounds_workers_and_their_shares() -> None:
    assert (Local(8, 10**9).workers, Local(8, 10**9).requested) == (1, 8)  # one process is all that fits
    two = Local(2, 4 * 10**9)
    assert two.workers == 2
    assert 3 * (two.share + PROCESS) <= 4 * 10**9
    assert Serial(memory=10**6).share == LEAST


def test_a_stage_prints_that_memory_limits_its_workers(capsys: pytest.CaptureFixture[str]) -> None:
    for workers, message in ((64, "clean@text: 7 of 64 workers, because memory: 4GB in params.yaml"), (2, "at most")):
        job = SimpleNamespace(engine=LocalConfig(kind="local", workers=workers), memory="4GB")
        with engine_of(job, "clean@text"):
            pass
        assert message in capsys.readouterr().out.splitlines()[0]


def test_the_peak_counts_the_workers() -> None:
    with used(Local(2)) as engine:
        before = engine.peak()
        list(engine.map(square, range(8)))
        assert engine.peak() > before
    assert isinstance(current(), Serial)
