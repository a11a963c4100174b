"""Python's garbage collector, which looks at every object again and again while modules are imported and at the end.

Torch, Lightning and MLflow are a million objects, none of them garbage: looking for some among them takes a fifth of a
stage's start, and as long again when the interpreter ends. What computes has the collector as Python sets it, so that
memory which only a cycle of objects holds is given back soon; but it is spared what was loaded before.
"""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_USUAL = gc.get_threshold()
_RARE = (100_000, 50, 100)


@contextmanager
def rarely() -> Iterator[None]:
    """Collect rarely, as where modules are imported; and when the interpreter ends, not at all."""
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)  # what is there then is looked at no more
    with _set(_RARE):
        yield


@contextmanager
def never() -> Iterator[None]:
    """Collect nothing: where much is made that stays, and no cycles are."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def as_usual() -> Iterator[None]:
    """Collect as Python does of itself, among what is made from here on."""
    gc.freeze()
    try:
        with _set(_USUAL):
            yield
    finally:
        gc.unfreeze()


@contextmanager
def _set(threshold: tuple[int, int, int]) -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*threshold)
    try:
        yield
    finally:
        gc.set_threshold(*before)
