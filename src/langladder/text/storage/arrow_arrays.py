"""NumPy's numbers, truth values and texts as Arrow's, and back.

`pyarrow.array` and `to_numpy` do it too, but load pandas for it, which takes longer than cleaning some megabytes.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

_TYPES = {"int64": pa.int64(), "float64": pa.float64()}
_KINDS = {"int64": np.int64, "int32": np.int32, "double": np.float64}


def numbers(found: np.ndarray, known: np.ndarray | None = None) -> pa.Array:
    """int64 or float64; null where `known` is False."""
    bits = None if known is None or known.all() else _bits(known)
    found = np.ascontiguousarray(found)
    return pa.Array.from_buffers(_TYPES[found.dtype.name], len(found), [bits, pa.py_buffer(found)])


def values(array: pa.Array) -> np.ndarray:
    """Numbers of an array, not copied, anything where it has nulls; of one of truth values, copied."""
    if array.type == pa.bool_():
        bits = np.unpackbits(np.frombuffer(array.buffers()[1], np.uint8), bitorder="little")
        return bits[array.offset : array.offset + len(array)].astype(bool)
    kind = _KINDS[str(array.type)]
    found = np.frombuffer(array.buffers()[1] if len(array) else b"", kind)
    return found[array.offset : array.offset + len(array)]


def truths(found: np.ndarray) -> pa.Array:
    """bool, to filter by."""
    return pa.Array.from_buffers(pa.bool_(), len(found), [None, _bits(found)])


def texts(found: Sequence[str]) -> pa.Array:
    """string."""
    encoded = [value.encode() for value in found]
    bounds = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(value) for value in encoded], out=bounds[1:])
    if bounds[-1] >= 2**31:
        raise pa.ArrowCapacityError("texts of more than two gigabytes at once")
    buffers = [None, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def _bits(found: np.ndarray) -> pa.Buffer:
    return pa.py_buffer(np.packbits(found, bitorder="little"))
