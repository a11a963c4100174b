"""A Dask cluster of processes on this machine: the results of other engines, and a lost worker's parts run again."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from langladder.engine.base import PROCESS, process_peak, used
from langladder.engine.settings import DaskConfig, bytes_of, open_engine
from langladder.ground.errors import InputError

pytest.importorskip("distributed", reason="pip install 'langladder[cluster]'")


def square_or_die(folder: Path, part: int) -> int:
    """Part 3 kills its process the first time."""
    mark = folder / "died"
    if part == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return part * part


def test_a_local_cluster_reruns_the_parts_of_a_killed_worker(tmp_path) -> None:
    with used(open_engine(DaskConfig(kind="dask", workers=2), "4GB", 2)) as engine:
        assert engine.workers == 2
        assert list(engine.map(partial(square_or_die, tmp_path), range(30))) == [part * part for part in range(30)]
        assert (tmp_path / "died").exists()
        assert 3 * engine.share < 4 * 10**9
        other = open_engine(DaskConfig(kind="dask", address=engine.client.scheduler.address), None, 1)  # type: ignore[attr-defined]
        with used(other):
            assert list(other.map(partial(square_or_die, tmp_path), range(3))) == [0, 1, 4]
        assert list(engine.map(partial(square_or_die, tmp_path), range(3))) == [0, 1, 4]  # it is not stopped with that


def process(_: int) -> int:
    time.sleep(0.05)
    return os.getpid()


@pytest.mark.long
def test_workers_that_come_later_are_used_and_those_of_this_machine_share_its_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with used(open_engine(DaskConfig(kind="dask", workers=1), "4GB", 1)) as first:
        assert set(first.map(process, range(2))) == {os.getpid()}  # one process here is as good as this one
        client = first.client  # type: ignore[attr-defined]
        there = DaskConfig(kind="dask", address=client.scheduler.address)
        with monkeypatch.context() as patch:
            patch.setattr("platform.node", lambda: "another")
            with used(open_engine(there, "4GB", 1)) as remote:
                assert not remote.is_local and remote.share > 3 * 10**9
                assert os.getpid() not in set(remote.map(process, range(2)))
                remote.hosts = {"another": 4, "third": 2}  # type: ignore[attr-defined]
                assert 4 * (remote.share + PROCESS) <= 4 * 10**9  # the workers of one machine share its memory
        with used(open_engine(there, "4GB", 1)) as engine:
            assert (engine.workers, engine.is_local) == (1, True)
            client.cluster.scale(2)
            client.wait_for_workers(2, timeout=30)
            used_ones = set(engine.map(process, range(12)))
            assert len(used_ones) == 2 and os.getpid() not in used_ones
            assert engine.workers == 2 and engine.is_local
            assert 3 * (engine.share + PROCESS) <= 4 * 10**9
            assert engine.peak() > process_peak() + 2 * 10**7  # those of the workers are counted


@pytest.mark.long
def test_an_adaptive_cluster_grows_with_the_work_and_its_dashboard_is_named() -> None:
    config = DaskConfig.model_validate({"kind": "dask", "workers": {"minimum": 0, "maximum": 2}})
    with used(open_engine(config, "4GB", 1)) as engine:
        assert engine.workers == 2 and 3 * (engine.share + PROCESS) <= 4 * 10**9
        used_ones = set(engine.map(process, range(40)))  # of at first no worker
        assert 1 <= len(used_ones) <= 2 and os.getpid() not in used_ones
        assert engine.dashboard and engine.dashboard.startswith("http://127.0.0.1:")
    with pytest.raises(ValueError, match="minimum: 3 is above maximum: 2"):
        DaskConfig.model_validate({"kind": "dask", "workers": {"minimum": 3, "maximum": 2}})


def test_a_cluster_of_processes_has_no_more_workers_than_memory_has_room_for() -> None:
    with used(open_engine(DaskConfig(kind="dask", workers=3), "1GB", 1)) as engine:
        assert (engine.workers, engine.requested) == (1, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"address": "tcp://127.0.0.1:9"}, "not a Dask scheduler"),
        ({"options": {"colour": "red"}}, "does not start"),
        ({"cluster": "kubernetes"}, "langladder\\[cluster\\]"),
    ],
)
def test_an_unavailable_cluster_raises_a_named_error(settings, message, monkeypatch) -> None:
    monkeypatch.setattr("langladder.engine.dask.SECONDS", 1)
    with pytest.raises(InputError, match=message):
        open_engine(DaskConfig(kind="dask", workers=1, **settings), None, 1)


@pytest.mark.parametrize("memory", ["4", "4 gigabytes", "-1GB", "0.1MB", "1kB"])
def test_an_invalid_amount_of_memory_raises_a_named_error(memory) -> None:
    assert bytes_of("1.5GiB") == 3 * 2**29
    with pytest.raises(ValueError, match="such as 4GB"):
        bytes_of(memory)
