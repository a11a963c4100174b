"""Sparse matrices as files: the three arrays of CSR and the shape, as safetensors."""

import json
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from langladder.artefacts import read_arrays
from langladder.atomic import atomic_file
from langladder.errors import InputError
from langladder.memory import forget

MOST_COLUMNS = 10_000_000  # of a saved matrix, besides those that hold something
TYPES = {np.dtype(np.int64): "I64", np.dtype(np.int32): "I32", np.dtype(np.float64): "F64", np.dtype(np.float32): "F32"}
PIECE = 1 << 20  # entries


def write_sparse(path: Path, matrix: csr_matrix) -> None:
    """Write a matrix as safetensors: indptr, indices, data, shape; a mapped matrix piece by piece."""
    arrays = {  # in the order in which safetensors itself writes them
        "indptr": matrix.indptr.astype(np.int64),
        "shape": np.array(matrix.shape, dtype=np.int64),
        "data": matrix.data,
        "indices": matrix.indices,
    }
    kinds = {name: np.dtype(np.int32) if name == "indices" else array.dtype for name, array in arrays.items()}
    head, end = {}, 0
    for name, array in arrays.items():
        size = array.size * kinds[name].itemsize
        head[name] = {"dtype": TYPES[kinds[name]], "shape": list(array.shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, array in arrays.items():
            for begin in range(0, len(array), PIECE):
                piece = array[begin : begin + PIECE]
                file.write(np.ascontiguousarray(piece, kinds[name]).data)
                forget(piece)


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
