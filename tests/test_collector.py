"""The garbage collector: rare while modules are imported, Python's own while something is computed, then as before."""

import gc
import subprocess
import sys

import pytest

from langladder.collector import as_usual, never, rarely

TOLD = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 1_000))  # after what is registered later
from langladder.collector import rarely
with rarely():
    print(gc.get_threshold()[0] > 10_000)
print(gc.get_freeze_count() > 1_000)
"""


def test_thresholds_come_back_whatever_happens() -> None:
    before = gc.get_threshold()
    with pytest.raises(KeyError), rarely():
        rare = gc.get_threshold()
        with as_usual():
            assert gc.get_threshold() == before
            assert gc.get_freeze_count() > 1_000  # what was loaded is spared
        assert gc.get_threshold() == rare > before
        assert not gc.get_freeze_count()
        raise KeyError
    assert gc.get_threshold() == before


def test_nothing_is_collected_and_then_as_before() -> None:
    with pytest.raises(KeyError), never():
        with never():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_what_is_there_is_looked_at_no_more_only_when_the_interpreter_ends() -> None:
    told = subprocess.run([sys.executable, "-c", TOLD], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["True", "False", "True"]
