"""Counts of a text, computed once for all rungs that need them, as files of sparse matrices.

A `Counting` says what is counted: `CooccurrenceConfig` (term–term) or `DocumentCounting` (term–document). Its `key`, of
which everything that decides the counts is part, is the name of its file, e.g. `window5-flat-symmetric.parquet`. The
file is a Parquet table with a row for each entry of the matrix, sorted by word, then by context:

    word (int32), context (int32), count (float64); the matrix's shape in the schema's metadata

Contexts ascend, so that their differences are stored; counts are few different numbers, so that their places in a list
are. What is read back is what counting anew would give, to the bit and in the same order of entries.

Sparse word vectors are stored as safetensors: the three arrays of CSR and the shape.
"""

from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.sparse import csr_matrix

from langladder.ground.artefacts import read_arrays, write_arrays
from langladder.ground.atomic import atomic_file
from langladder.ground.errors import InputError
from langladder.ground.memory import forget
from langladder.ground.schema import Config
from langladder.text.words.vocabulary import WordCorpus

MOST_COLUMNS = 10_000_000  # of a saved matrix, besides those that hold something
PIECE = 1 << 20  # entries that are written together
COLUMNS = [("word", pa.int32()), ("context", pa.int32()), ("count", pa.float64())]


class Counting(Config, ABC):
    """A kind of counts of a text."""

    @property
    @abstractmethod
    def key(self) -> str:
        """Names the counts; other counts, another key."""

    @abstractmethod
    def count(self, corpus: WordCorpus, scratch: Path | None = None) -> csr_matrix:
        """The counts, (V, contexts) float64 CSR with columns ascending in each row.

        Args:
            scratch: a folder for temporary data that does not fit into memory; None: the system's.
        """


def file_name(counting: Counting) -> str:
    """The file of these counts, in the folder of counts."""
    return f"{counting.key}.parquet"


def counts_of(corpus: WordCorpus, counting: Counting) -> csr_matrix:
    """Counts (V, contexts) float64 CSR: read from `corpus.counts` if they exist, else counted now.

    Raises:
        InputError: the file is damaged, or of a text with another vocabulary.
    """
    path = corpus.counts and corpus.counts / file_name(counting)
    if path is None or not path.is_file():
        return counting.count(corpus)
    counts = read_counts(path)
    if counts.shape[0] != len(corpus.vocabulary):
        raise InputError(
            f"{path}: counts of {counts.shape[0]:,} words, but the vocabulary has {len(corpus.vocabulary):,}; count "
            "again (stage `cooccur`)"
        )
    return counts


def entry_rows(bounds: np.ndarray, begin: int, end: int) -> np.ndarray:
    """The rows of some entries of a CSR matrix with the indptr `bounds`, (V + 1,): (end − begin,) int32."""
    inside = np.clip(bounds, begin, end)
    return np.repeat(np.arange(len(bounds) - 1, dtype=np.int32), inside[1:] - inside[:-1])


def write_counts(path: Path, counts: csr_matrix) -> None:
    """Write counts as Parquet, a piece at a time: they may be mapped from files."""
    schema = pa.schema(COLUMNS, metadata={"shape": " ".join(map(str, counts.shape))})
    bounds = counts.indptr.astype(np.int64)
    with (
        atomic_file(path) as temporary,
        pq.ParquetWriter(
            temporary,
            schema,
            compression="zstd",
            use_dictionary=["word", "count"],
            column_encoding={"context": "DELTA_BINARY_PACKED"},
        ) as out,
    ):
        for begin in range(0, counts.nnz, PIECE):
            end = min(begin + PIECE, counts.nnz)
            word = entry_rows(bounds, begin, end)
            context, count = counts.indices[begin:end], counts.data[begin:end]
            out.write_table(pa.table([word, context, count], schema=schema))
            forget(context)
            forget(count)


def read_counts(path: Path) -> csr_matrix:
    """Read what `write_counts` wrote.

    Raises:
        InputError: the file is damaged or holds something else.
    """
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            if [(field.name, field.type) for field in schema] != COLUMNS or b"shape" not in (schema.metadata or {}):
                raise InputError(f"{path}: not a table of counts (its columns are {schema.names[:8]})")
            rows, columns = (int(size) for size in schema.metadata[b"shape"].split())
            lengths = np.zeros(rows, dtype=np.int64)
            contexts, counts = np.empty(file.metadata.num_rows, np.int32), np.empty(file.metadata.num_rows)
            end = 0
            for number in range(file.num_row_groups):
                group = file.read_row_group(number).columns
                word, context, count = (column.to_numpy() for column in group)
                begin, end = end, end + len(word)
                if any(column.null_count for column in group) or (word[1:] < word[:-1]).any():
                    raise InputError(f"{path}: not a table of counts (it has nulls, or is not sorted by word)")
                lengths += np.bincount(word, minlength=rows)
                contexts[begin:end], counts[begin:end] = context, count
        matrix = csr_matrix((counts, contexts, np.append(0, np.cumsum(lengths))), shape=(rows, columns))
        matrix.check_format(full_check=True)  # compiled code trusts every index
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: not a table of counts ({str(error)[:200]})") from error
    return matrix


def write_sparse(path: Path, matrix: csr_matrix) -> None:
    """Write a matrix as safetensors: indptr, indices, data, shape."""
    shape = np.array(matrix.shape, dtype=np.int64)
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
    write_arrays(path, {"indptr": indptr, "indices": indices, "data": matrix.data, "shape": shape})


def read_sparse(path: Path) -> csr_matrix:
    """Read what `write_sparse` wrote.

    Raises:
        InputError: the file is missing or holds something else.
    """
    arrays = read_arrays(path)
    if set(arrays) != {"indptr", "indices", "data", "shape"}:
        raise InputError(f"{path}: not a sparse matrix (its arrays are {', '.join(sorted(arrays))})")
    kinds = {name: (array.ndim, array.dtype.kind) for name, array in arrays.items()}
    whole = all(kinds[name] == (1, "i") for name in ("indptr", "indices", "shape"))
    shape = tuple(arrays["shape"].tolist())
    if not whole or kinds["data"] != (1, "f") or len(shape) != 2:
        raise InputError(f"{path}: not a sparse matrix (its arrays are {kinds})")
    # one row may have to be made dense
    if min(shape) < 0 or shape[0] + 1 != len(arrays["indptr"]) or shape[1] > MOST_COLUMNS + len(arrays["data"]):
        raise InputError(
            f"{path}: a sparse matrix of shape {shape}, which its {len(arrays['data'])} entries cannot fill"
        )
    try:
        matrix = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        matrix.check_format(full_check=True)  # compiled code trusts every index
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path}: not a sparse matrix ({error})") from error
    return matrix
