"""Faults to put into a test's way."""

import errno
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Inside, no file can exceed `size` bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def device(name: str, folder: Path) -> Path:
    """A device as /dev has it, `null` or `full`: for root, who could replace the machine's own, one in `folder`."""
    real = Path("/dev") / name
    if os.geteuid():
        return real
    own = folder / name
    try:
        os.mknod(own, stat.S_IFCHR | 0o666, real.stat().st_rdev)
        own.open("wb").close()
    except OSError:  # a container that makes no devices guards its own, too
        return real
    return own


@contextmanager
def full_at(name: str) -> Iterator[None]:
    """The disk is full where a file of this name is to be finished."""
    replace = Path.replace

    def fails(self: Path, target: Path) -> Path:
        if Path(target).name == name:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(self, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", fails)
        yield
