"""Writing that leaves nothing half-written, in formats that hold no code: JSON, safetensors, Arrow.

Every writer makes a temporary sibling and renames it, so a reader sees the old file or the new one, never a part.
"""

import errno
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from langladder.errors import InputError

FORMAT_VERSION = 1


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary sibling of `path` to write (a file or a folder); renamed to `path` when the block succeeds.

    On any error the temporary is removed and `path` is as it was.

    Raises:
        InputError: the disk is full (names the path and what is left).
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial")
    _remove(temporary)
    try:
        yield temporary
        if path.is_dir():
            _remove(path)
        temporary.replace(path)
    except BaseException as error:
        _remove(temporary)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            free = shutil.disk_usage(path.parent).free
            raise InputError(f"{path}: the disk is full ({free:,} bytes free); nothing was written") from error
        raise


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically, with \\n line ends on every system."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically: keys in the order given, no NaN (JSON has none: write null)."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON.

    Raises:
        InputError: the file is missing or is not JSON (names file, line and column).
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON ({error.msg})") from error


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays as one safetensors file, atomically; same arrays, same bytes."""
    from safetensors.numpy import save_file

    with atomic(path) as temporary:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, temporary)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read a safetensors file.

    Raises:
        InputError: the file is missing or is not safetensors.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays: dict[str, np.ndarray] = load_file(path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except SafetensorError as error:
        raise InputError(f"{path}: not a safetensors file ({error})") from error
    return arrays


def map_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file as views of the file: nothing is read until it is looked at.

    Writing to them changes the copy in memory only.

    Raises:
        InputError: the file is missing or is not safetensors.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:  # checks the header, names, lengths
            names = list(file.keys())
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except SafetensorError as error:
        raise InputError(f"{path}: not a safetensors file ({error})") from error
    data = np.memmap(path, dtype=np.uint8, mode="c")
    length = int(data[:8].view(np.uint64)[0])  # format: 8 bytes of header length, the header as JSON, the arrays
    header = json.loads(bytes(data[8 : 8 + length]))
    arrays = {}
    for name in names:
        first, last = (8 + length + offset for offset in header[name]["data_offsets"])
        dtype = _SAFETENSORS_DTYPES.get(header[name]["dtype"])
        if dtype is None:
            raise InputError(f"{path}: {name} is {header[name]['dtype']}; mapped are {', '.join(_SAFETENSORS_DTYPES)}")
        arrays[name] = np.asarray(data[first:last]).view(dtype).reshape(header[name]["shape"])
    return arrays


_SAFETENSORS_DTYPES = {"I64": np.int64, "I32": np.int32, "F64": np.float64, "F32": np.float32, "U8": np.uint8}
