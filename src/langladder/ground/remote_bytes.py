"""The bytes of a file behind a URL, block by block.

A connection that breaks is tried again from the byte where it broke, so a reader sees the whole file or an error, never
a part of it. Web servers that give no parts of a file are read from the beginning, again for each step back.
"""

import io
import time
from collections.abc import Callable
from typing import Any, TypeVar

from langladder.ground.errors import InputError
from langladder.ground.remote_errors import told, without_secrets

BLOCK = 2**23  # bytes that are asked for at once
TRIES = 5
PAUSE = 0.2  # seconds before the second try; each further one waits twice as long
Result = TypeVar("Result")


class RemoteBytes(io.RawIOBase):
    """An open remote file: bytes or `InputError`."""

    def __init__(self, url: str, system: Callable[[], tuple[Any, str]]) -> None:
        self._url, self._system = url, system  # the file system of fsspec, and the file's path there
        self._at = 0  # where the reader is
        self._file: Any = None  # what is open, and where that is
        self._file_at = 0
        self._size: int | None = None  # None: the server does not say
        self._parts = True  # whether the server gives parts of a file, as far as is known
        self._version: Any = None
        self._insist(self._open)

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is, however the server takes it."""
        return True

    def tell(self) -> int:
        """Where the reader is."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go elsewhere; nothing is read yet. Raises InputError for the end of what says no length."""
        if whence == io.SEEK_END and self._size is None:
            raise InputError(
                f"{without_secrets(self._url)}: the server does not say how long it is; copy it first (langladder copy)"
            )
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size or 0}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read what comes next. Raises InputError after `TRIES` tries."""
        data = self._insist(lambda: self._read(len(buffer)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        """Let go of the connection."""
        if self._file is not None:
            self._file.close()
        super().close()

    def _open(self) -> None:
        system, path = self._system()
        info = system.info(path)
        version = [info.get(key) for key in ("size", "ETag", "Last-Modified")]
        if self._version not in (None, version):
            raise InputError(f"{without_secrets(self._url)}: it changed while it was read; run this again")
        self._version, self._size = version, info.get("size")
        self._parts &= info.get("partial", True)
        self._file = system.open(path, "rb", block_size=BLOCK if self._parts else 0, cache_type="readahead")
        self._file_at = 0

    def _read(self, length: int) -> bytes:
        if self._file is None or (self._at < self._file_at and not self._parts):
            self._open()
        if self._at != self._file_at and self._parts:
            self._file_at = self._file.seek(self._at)
        while self._file_at < self._at:
            self._take(self._at - self._file_at)
        return self._take(length)

    def _take(self, length: int) -> bytes:
        """The next bytes of what is open; none at its end only."""
        try:
            data: bytes = self._file.read(length)
        except ValueError as error:
            self._parts &= "range requests" not in str(error)
            raise
        if not data and length and self._file_at < (self._size or 0):
            raise OSError(f"it ends at byte {self._file_at:,} of {self._size:,}")
        self._file_at += len(data)
        return data

    def _insist(self, work: Callable[[], Result]) -> Result:
        for attempt in range(TRIES):
            try:
                return work()
            except (FileNotFoundError, PermissionError, ImportError, InputError) as error:
                raise told(self._url, error) from error
            except Exception as error:
                self._file = None
                if attempt == TRIES - 1:
                    raise told(self._url, error) from error
                time.sleep(PAUSE * 2**attempt)
        raise AssertionError("unreachable")
