"""For tests of readers: damaged files, and a limit on the memory for reading one.

Quick by default; `HYPOTHESIS_PROFILE=thorough pytest -k fuzz` looks longer.
"""

import gzip
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from langladder.ground.errors import InputError

ROOM = 768 * 2**20  # bytes that reading a tiny file may take; a number that is believed takes gigabytes
_ALL = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("quick", max_examples=40, derandomize=True, **_ALL)
settings.register_profile("thorough", max_examples=10_000, **_ALL)
fuzzed = settings(settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick")))

VALUES: list[Any] = [
    None, True, -1, 0, 1, 3, 100_000_000, 2**31, 2**63, 10**20, -(10**20), 10**400, 1.5, 1e308,
    float("nan"), float("inf"),
    "", "x", "\0", "\ud800", "ä" * 300, "../../x",
    "langladder.__main__.app", "os.system",
    "langladder.models.language.language_model.LanguageModel",
    "langladder.models.language.gpt.GPT", [], {}, [[]], [1, 2], ["a", "a"], {"a": 1}, {"type": "BPE"},
]  # fmt: skip


@contextmanager
def little_memory(room: int = ROOM) -> Iterator[None]:
    """Nothing inside may take more than `room` bytes of addresses; outside Linux there is no limit."""
    if not sys.platform.startswith("linux"):
        yield
        return
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (in_use + room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def swelling(start: bytes, sign: bytes = b"1") -> bytes:
    """A gzip file of a few megabytes at most that begins with `start` and goes on with one line of 2 × ROOM bytes."""
    part = 16 * 2**20
    return gzip.compress(start, 1) + gzip.compress(sign * part, 1) * (2 * ROOM // part)


def read(reader: Callable[..., Any], *arguments: Any) -> Any:
    """What the reader reads, or None where it refuses: by an `InputError` that can be shown, and by nothing else."""
    with little_memory():
        try:
            return reader(*arguments)
        except InputError as error:
            str(error).encode()
            assert len(str(error)) < 2000, str(error)[:300]
            return None


@st.composite
def strange_json(draw: st.DrawFn, value: Any) -> bytes:
    """A JSON value with some of its parts replaced, taken out or doubled; now and then broken as text."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 3))):
        value = _changed(draw, value)
    text = json.dumps(value).encode()
    return draw(strange_bytes(text)) if draw(st.integers(0, 5)) == 0 else text


def _changed(draw: st.DrawFn, value: Any) -> Any:
    keys: list[int | str] = (
        list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    )
    if not keys or draw(st.integers(0, 4)) == 0:
        return deepcopy(draw(st.sampled_from(VALUES) | st.integers() | st.text(max_size=5)))
    key = draw(st.sampled_from(keys))
    if draw(st.integers(0, 7)) == 0:
        del value[key]
        return value
    value[key] = _changed(draw, value[key])
    return value


@st.composite
def strange_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes that were valid once: cut, written over, doubled in parts; or none of it at all."""
    how = draw(st.integers(0, 9))
    if how == 0:
        return draw(st.binary(max_size=100))
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, max(0, len(data) - 1)))
        last = min(len(data), first + draw(st.sampled_from([0, 1, 2, 4, 8, 50])))
        pieces = [
            b"",
            b"\0",
            b"\xff" * 8,
            b"\n",
            b" ",
            b"\t",
            b"99999999999",
            b"-1",
            b"1e999",
            b"nan",
            b'"',
            b"[" * 2000,
        ]
        new = draw(st.sampled_from(pieces) | st.binary(max_size=9) | st.just(data[first:last] * 3))
        data = data[:first] + new + data[last:]
    return data
