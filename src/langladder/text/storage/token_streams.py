"""Tokenised text on disk: Arrow stream files that are read by mapping them into memory.

One file is one Arrow IPC *stream*, as `datasets.Dataset.from_file` expects, with list<int32> columns (large_list beyond
2^31 ids); the same rows give the same bytes. What the stages make is one record batch. `TokenStream`
holds one column (`ids`: a row is a document, or a line for word streams), `PairStream` two (`source`, `target`: a row
is a sentence pair). Both show each column as one flat array of ids with the rows' bounds: row i is
`ids[offsets[i] : offsets[i + 1]]`.

Shards are encoded in parts, which are put together in bounded memory. Each part of a corpus leaves two raw files a
column: its ids (int32), and how many there are in each of its rows (int64). They are appended in the order of the
parts, and written from a mapping of the whole as ONE record batch of an Arrow stream, so that readers map it and copy
nothing.
"""

import mmap
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
import pyarrow as pa

from langladder.ground.artefacts import read_arrays
from langladder.ground.atomic import atomic_file
from langladder.ground.errors import InputError
from langladder.ground.memory import forget

# ---- writing


INT32_IDS = (1 << 31) - 1  # ids of a column with 32-bit offsets, at most
LARGE = pa.ipc.IpcWriteOptions(allow_64bit=True)  # for larger batches
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
        with atomic_file(ids) as file, atomic_file(lengths) as two, file.open("wb") as first, two.open("wb") as second:
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
        large = ids.stat().st_size // 4 > INT32_IDS
        offsets = stem.with_name(f"{stem.name}.offsets")
        rows = _write_offsets(lengths, offsets, np.int64 if large else np.int32)
        values = pa.Array.from_buffers(pa.int32(), ids.stat().st_size // 4, [None, maps.buffer(ids)])
        kind = pa.large_list(pa.int32()) if large else pa.list_(pa.int32())
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
    """Mapped files, which are closed when the block ends."""

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
        """Release the pages of a mapped file from memory."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for array in self._maps:
                array.madvise(mmap.MADV_DONTNEED)


class _Paged:
    """A file that writes a mapping step by step, so that it is never in memory as a whole."""

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
        """The file is closed where it was opened."""


PIECE = 1 << 22  # ids that are counted at once
BATCH_TOKENS = 1 << 26  # 256 MiB of int32: what a writer holds in memory, and what one record batch holds


@dataclass(frozen=True)
class Rows:
    """One list<int32> column: ids (N,) int32, read-only and memory-mapped; offsets (R + 1,) int64."""

    ids: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> np.ndarray:
        """(length,) int32: a view, not a copy."""
        if not 0 <= index < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        view: np.ndarray = self.ids[self.offsets[index] : self.offsets[index + 1]]
        return view

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.row(index) for index in range(len(self)))

    @property
    def lengths(self) -> np.ndarray:
        """(R,) int64: ids in each row."""
        lengths: np.ndarray = np.diff(self.offsets)
        return lengths


@dataclass(frozen=True)
class TokenStream(Rows):
    """A corpus as one flat stream of ids (N,) int32 with its documents' bounds (D + 1,) int64.

    `path` is the file that holds exactly these documents, None where there is none.
    """

    path: Path | None = None

    def document(self, index: int) -> np.ndarray:
        """The ids of one document, (length,) int32."""
        return self.row(index)

    def beginning(self, tokens: int) -> Self:
        """Its first documents, as views, with at least so many tokens if it has them."""
        documents = min(int(np.searchsorted(self.offsets, tokens)), len(self))
        return type(self)(self.ids[: self.offsets[documents]], self.offsets[: documents + 1])

    @classmethod
    def open(cls, path: Path) -> Self:
        """Map a file into memory; nothing is copied unless the file has several record batches.

        Raises:
            InputError: the file is missing or is not a token stream.
        """
        rows = _read(path, "ids")
        return cls(rows.ids, rows.offsets, Path(path))

    def counts(self, vocab_size: int) -> np.ndarray:
        """How often each id occurs, (V,) int64.

        They are read where the stage `tokenize` stored them. Otherwise the stream is counted in pieces: it may be
        larger than memory.

        Raises:
            InputError: an id is not below `vocab_size`, or the stored counts are not those of this stream.
        """
        if self.path is not None and counts_file(self.path).exists():
            counts = read_arrays(counts_file(self.path)).get("counts")
            if counts is None or counts.dtype != np.int64 or counts.ndim != 1 or counts.sum() != len(self.ids):
                raise InputError(
                    f"{counts_file(self.path)}: not the counts of this stream; make both again (stage `tokenize`)"
                )
        else:
            counts = count_ids(self.ids)
        most = int(np.flatnonzero(counts).max(initial=-1))
        if most >= vocab_size:
            raise InputError(f"training stream: has id {most}; the model's vocabulary is {vocab_size}")
        counts = counts[:vocab_size]
        return np.pad(counts, (0, vocab_size - len(counts)))

    @classmethod
    def write(cls, path: Path, documents: Iterable[np.ndarray], *, batch_tokens: int = BATCH_TOKENS) -> None:
        """Write documents (each (length,) of integer ids) atomically."""
        _write(path, ("ids",), ((document,) for document in documents), batch_tokens)


@dataclass(frozen=True)
class PairStream:
    """Sentence pairs: row i of `source` translates to row i of `target`."""

    source: Rows
    target: Rows

    def __len__(self) -> int:
        return len(self.source)

    def pair(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Source and target ids of one pair, each (length,) int32."""
        return self.source.row(index), self.target.row(index)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Map a file into memory. Raises InputError as `TokenStream.open` does."""
        return cls(_read(path, "source"), _read(path, "target"))

    @classmethod
    def write(
        cls, path: Path, pairs: Iterable[tuple[np.ndarray, np.ndarray]], *, batch_tokens: int = BATCH_TOKENS
    ) -> None:
        """Write (source ids, target ids) rows atomically."""
        _write(path, ("source", "target"), pairs, batch_tokens)


POSITIONS = (1, 2, 3, 5, 8, 11, 15, 21, 51)
"""Lines are grouped by their position in the document: 1, 2, 3–4, 5–7, 8–10, 11–14, 15–20, 21–50, 51 and on."""


def position_group(position: np.ndarray) -> np.ndarray:
    """Positions of lines in their documents, from 0 → the number of each one's group in `POSITIONS`."""
    return np.searchsorted(POSITIONS, position + 1, side="right") - 1


def count_ids(ids: np.ndarray) -> np.ndarray:
    """How often each id 0 … max(ids) occurs, int64. A piece of `ids` at a time is in memory."""
    counts = np.zeros(0, dtype=np.int64)
    for begin in range(0, len(ids), PIECE):
        piece = ids[begin : begin + PIECE]
        piece_counts = np.bincount(piece, minlength=len(counts))
        piece_counts[: len(counts)] += counts
        counts = piece_counts
        forget(piece)
    return counts


def positions_of(ids: np.ndarray, token: int) -> np.ndarray:
    """Where a token stands, int64. A piece of `ids` at a time is compared: they can be larger than memory."""
    positions = [begin + np.flatnonzero(ids[begin : begin + PIECE] == token) for begin in range(0, len(ids), PIECE)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *positions])


def counts_file(stream: Path) -> Path:
    """The file of a stream's counts, which is beside it."""
    return stream.with_name(f"{stream.stem}_counts.safetensors")


def _write(path: Path, names: tuple[str, ...], rows: Iterable[tuple[np.ndarray, ...]], batch_tokens: int) -> None:
    schema = pa.schema([(name, pa.list_(pa.int32())) for name in names])
    pending: list[tuple[np.ndarray, ...]] = []
    tokens = 0
    with (
        atomic_file(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_stream(sink, schema) as writer,
    ):
        for row in rows:
            pending.append(row)
            tokens += max(len(column) for column in row)
            if tokens >= batch_tokens:
                writer.write_batch(_batch(pending, schema))
                pending, tokens = [], 0
        if pending:
            writer.write_batch(_batch(pending, schema))


def _batch(rows: list[tuple[np.ndarray, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for cells in zip(*rows, strict=True):
        offsets = np.zeros(len(cells) + 1, dtype=np.int32)
        np.cumsum([len(cell) for cell in cells], out=offsets[1:])
        values = np.concatenate([np.asarray(cell, dtype=np.int32) for cell in cells])
        columns.append(pa.ListArray.from_arrays(pa.array(offsets), pa.array(values)))
    return pa.record_batch(columns, schema=schema)


def _read(path: Path, column: str) -> Rows:
    try:
        # The arrays keep the mapping alive; it is closed when the last of them goes.
        table = pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
        table.validate(full=True)  # bounds within the ids, in order; the ids themselves are not looked at
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; make it first (stage `tokenize`)") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not an Arrow stream file ({str(error)[:200]})") from error
    known = (pa.list_(pa.int32()), pa.large_list(pa.int32()))
    if table.column_names.count(column) != 1 or table.schema.field(column).type not in known:
        raise InputError(f"{path}: has no column {column!r} of list<int32>; its columns are {table.schema.names}")

    if any(chunk.null_count or chunk.values.null_count for chunk in table.column(column).chunks):
        raise InputError(f"{path}: column {column!r} has empty places (null)")
    chunks = table.column(column).chunks
    ids = [_flat(chunk) for chunk in chunks]
    flat = ids[0] if len(ids) == 1 else np.concatenate([np.zeros(0, dtype=np.int32), *ids])
    flat.setflags(write=False)
    return Rows(flat, _bounds(chunks))


def _flat(chunk: pa.ListArray) -> np.ndarray:
    """The ids of a record batch: a view of the file."""
    bounds = chunk.offsets
    ids: np.ndarray = chunk.values.to_numpy(zero_copy_only=True)[bounds[0].as_py() : bounds[-1].as_py()]
    return ids


def _bounds(chunks: list[pa.ListArray]) -> np.ndarray:
    """(R + 1,) int64: where rows end. Those of one batch that are 64 bits wide already are a view of the file."""
    if len(chunks) == 1 and chunks[0].offsets.type == pa.int64() and chunks[0].offsets[0].as_py() == 0:
        view: np.ndarray = chunks[0].offsets.to_numpy(zero_copy_only=True)
        return view
    offsets = np.zeros(sum(map(len, chunks)) + 1, dtype=np.int64)
    row = 0
    for chunk in chunks:
        bounds = chunk.offsets.to_numpy()
        offsets[row + 1 : row + len(bounds)] = bounds[1:]
        offsets[row + 1 : row + len(bounds)] += offsets[row] - bounds[0]
        row += len(chunk)
    return offsets


def id_bounds(ids: np.ndarray) -> tuple[int, int]:
    """The lowest and the highest of some ids, found piece by piece: what is mapped need not fit into memory."""
    low, high = int(ids[0]), int(ids[0])
    for begin in range(0, len(ids), PIECE):
        piece = ids[begin : begin + PIECE]
        low, high = min(low, int(piece.min())), max(high, int(piece.max()))
        forget(piece)
    return low, high
