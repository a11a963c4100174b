"""Sparse matrices as files: the three arrays of CSR and the shape, as safetensors."""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from langladder.artefacts import read_arrays, write_arrays
from langladder.errors import InputError

MOST_COLUMNS = 10_000_000  # of a saved matrix, besides those that hold something


def write_sparse(path: Path, matrix: csr_matrix) -> None:
    """Write a matrix as safetensors: indptr, indices, data, shape."""
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    shape = np.array(matrix.shape, dtype=np.int64)
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
