"""Ids that shards were encoded to, put together as one stream file in bounded memory.

Each part of a corpus leaves two raw files a column: its ids (int32), and how many there are in each of its rows
(int64). They are appended in the order of the parts, and written from a mapping of the whole as ONE record batch of an
Arrow stream, so that readers map it and copy nothing (see `corpus_ids`).
"""

import mmap
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from langladder.ground.atomic import atomic_file

INT32_IDS = (1 << 31) - 1  # ids of a column, up to which offsets of 32 bits serve
LARGE = pa.ipc.IpcWriteOptions(allow_64bit=True)  # a batch of more than that; Arrow asks whoever writes it
STEP = 1 << 24  # bytes, or offsets, that are in memory at once


class IdWriter:
    """Writes the ids of one part and one column, whole or not at all: `with IdWriter.of(stem) as out: out.add(…)`."""

    def __init__(self, ids: BinaryIO, lengths: BinaryIO) -> None:
        self._ids, self._lengths = ids, lengths

    @classmethod
    @contextmanager
    def of(cls, stem: Path) -> Iterator["IdWriter"]:
        """Files named `stem`.ids and `stem`.lengths."""
        ids, lengths = _names(stem)
        with atomic_file(ids) as one, atomic_file(lengths) as two, one.open("wb") as first, two.open("wb") as second:
            yield cls(first, second)

    def add(self, ids: np.ndarray, lengths: np.ndarray) -> None:
        """Some more rows: their ids one after the other, and how many each has."""
        self._ids.write(np.ascontiguousarray(ids, dtype=np.int32).data)
        self._lengths.write(np.ascontiguousarray(lengths, dtype=np.int64).data)


def _names(stem: Path) -> tuple[Path, Path]:
    return stem.with_name(f"{stem.name}.ids"), stem.with_name(f"{stem.name}.lengths")


class StreamJoiner:
    """Appends parts to one stream file.

    Args:
        path: of the stream. columns: its names. scratch: a folder for what is not yet a stream.
    """

    def __init__(self, path: Path, columns: tuple[str, ...], scratch: Path) -> None:
        self._path = path
        self._stems = {column: scratch / f"{path.stem}-{column}-whole" for column in columns}
        for file in self._files():
            file.write_bytes(b"")

    def _files(self) -> list[Path]:
        return [file for stem in self._stems.values() for file in _names(stem)]

    def append(self, stems: dict[str, Path]) -> None:
        """The next part: a stem for each column. Its files are removed."""
        for column, stem in stems.items():
            for part, whole in zip(_names(stem), _names(self._stems[column]), strict=True):
                with part.open("rb") as source, whole.open("ab") as target:
                    shutil.copyfileobj(source, target, STEP)
                part.unlink()

    def write(self) -> None:
        """Write the stream, atomically. What is in the scratch folder is removed."""
        with atomic_file(self._path) as temporary, _Maps() as maps:
            arrays = [self._column(stem, maps) for stem in self._stems.values()]
            schema = pa.schema([(name, array.type) for name, array in zip(self._stems, arrays, strict=True)])
            with (
                temporary.open("wb") as file,
                pa.PythonFile(_Paged(file, maps), mode="w") as sink,
                pa.ipc.new_stream(sink, schema, options=LARGE) as writer,
            ):
                if len(arrays[0]):
                    writer.write_batch(pa.record_batch(arrays, schema=schema))
            del arrays
        for used in self._files():
            used.unlink()

    def _column(self, stem: Path, maps: "_Maps") -> pa.Array:
        """A column as Arrow sees it in mapped files; offsets take the place of the lengths."""
        ids, lengths = _names(stem)
        wide = ids.stat().st_size // 4 > INT32_IDS
        offsets = stem.with_name(f"{stem.name}.offsets")
        rows = _write_offsets(lengths, offsets, np.int64 if wide else np.int32)
        values = pa.Array.from_buffers(pa.int32(), ids.stat().st_size // 4, [None, maps.buffer(ids)])
        kind = pa.large_list(pa.int32()) if wide else pa.list_(pa.int32())
        array = pa.Array.from_buffers(kind, rows, [None, maps.buffer(offsets)], children=[values])
        offsets.unlink()  # the mapping keeps it
        return array


def _write_offsets(lengths: Path, offsets: Path, kind: type[np.int32 | np.int64]) -> int:
    """Running sums of the lengths, 0 first. Returns how many lengths there are."""
    rows, total = 0, 0
    with lengths.open("rb") as source, offsets.open("wb") as target:
        target.write(np.zeros(1, dtype=kind).data)
        while len(chunk := np.frombuffer(source.read(8 * STEP), dtype=np.int64)):
            sums = total + np.cumsum(chunk)
            target.write(sums.astype(kind).data)
            rows, total = rows + len(chunk), int(sums[-1])
    return rows


class _Maps:
    """Mapped files, which are let go when the block ends."""

    def __init__(self) -> None:
        self._maps: list[mmap.mmap] = []

    def __enter__(self) -> "_Maps":
        return self

    def __exit__(self, *_: object) -> None:
        self._maps.clear()

    def buffer(self, path: Path) -> pa.Buffer:
        """A file as a buffer."""
        if not path.stat().st_size:
            return pa.py_buffer(b"")
        with path.open("rb") as file:
            self._maps.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return pa.py_buffer(self._maps[-1])

    def forget(self) -> None:
        """Take the pages that were read out of this process's memory; the file has them."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for one in self._maps:
                one.madvise(mmap.MADV_DONTNEED)


class _Paged:
    """A file that is given a mapping to write, and writes it step by step, so that it is never in memory as a whole."""

    closed = False

    def __init__(self, file: BinaryIO, maps: _Maps) -> None:
        self._file, self._maps = file, maps

    def write(self, data: pa.Buffer) -> int:
        """As a file's."""
        view = memoryview(data).cast("B")
        for begin in range(0, len(view), STEP):
            self._file.write(view[begin : begin + STEP])
            if len(view) > STEP:
                self._maps.forget()
        return len(view)

    def tell(self) -> int:
        """As a file's."""
        return self._file.tell()

    def flush(self) -> None:
        """As a file's."""
        self._file.flush()

    def close(self) -> None:
        """The file is closed by whoever opened it."""
