"""Files in formats that hold no code, JSON and safetensors; written completely or not at all (see `atomic`).

JSON cannot represent an infinite figure: it is null, and its key is listed under `infinite`.

    {"perplexity_per_word": null, "infinite": ["perplexity_per_word"]}      infinite: a result
    {"perplexity_per_word": null}                                           not measured
"""

import json
import math
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from langladder.ground.atomic import atomic_file
from langladder.ground.errors import InputError
from langladder.ground.memory import forget

FORMAT_VERSION = 1


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically, with \\n line ends on every system."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


JSONObject = dict[str, Any]
"""An object of a JSON file, whose values may be anything that JSON has."""


def write_json(path: Path, value: object) -> None:
    """Write JSON atomically: keys in the order given, no NaN (JSON has none: write null)."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON: UTF-8, each key once, no NaN, no character that is only half of one (a lone surrogate).

    Raises:
        InputError: the file is missing or is not such JSON (names file, and line and column where they are known).
    """
    regular_file(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
        value = json.loads(text, object_pairs_hook=_each_key_once, parse_constant=_no_number)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON ({error.msg})") from error
    except UnicodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason})") from error  # type: ignore[attr-defined]
    except RecursionError as error:
        raise InputError(f"{path}: lists or objects are nested too deep") from error
    except ValueError as error:  # a duplicate key, NaN, an integer of thousands of digits
        raise InputError(f"{path}: not JSON ({error})") from error
    return value


def word_list(path: Path, value: object) -> list[str]:
    """The words that a JSON file lists. Raises InputError for anything but a list of different words."""
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise InputError(f"{path}: words: not a list of words")
    if len(set(value)) < len(value):
        twice = next(word for word, number in Counter(value).items() if number > 1)
        raise InputError(f"{path}: the word {twice[:60]!r} occurs twice")
    return value


def count_list(path: Path, value: object) -> np.ndarray:
    """The counts that a JSON file lists, int64. Raises InputError for anything but whole numbers of 0 or more."""
    whole = isinstance(value, list) and all(type(count) is int and 0 <= count < 2**63 for count in value)
    if not whole:
        raise InputError(f"{path}: counts: not a list of whole numbers from 0 to 2^63 - 1")
    return np.array(value, dtype=np.int64)


def regular_file(path: Path) -> None:
    """Raise InputError unless `path` is a file: not missing, a folder, or a device (/dev/zero has no end)."""
    try:
        mode = Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:  # not allowed, a cycle of links, a name that is too long or has a NUL
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: {'a folder' if stat.S_ISDIR(mode) else 'a device or pipe'}, but a file is needed")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: cannot be read (permission denied)")


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in mapping if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:60]!r} occurs twice in one object")
    return mapping


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], about: dict[str, str] | None = None) -> None:
    """Write named arrays as one safetensors file, atomically; same arrays, same bytes. `about`: for its header.

    The bytes are those of safetensors' own `save_file`; mapped arrays are written in pieces.
    """
    whole = {name: np.atleast_1d(array) for name, array in arrays.items()}
    kinds = {name: array.dtype.name for name, array in whole.items()}
    names = sorted(whole, key=lambda name: (list(_TYPES).index(kinds[name]), name))
    head: dict[str, object] = {} if about is None else {"__metadata__": about}
    end = 0
    for name in names:
        begin, end = end, end + whole[name].nbytes
        head[name] = {"dtype": _TYPES[kinds[name]], "shape": whole[name].shape, "data_offsets": [begin, end]}
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            array = np.ascontiguousarray(whole[name], whole[name].dtype.newbyteorder("<")).reshape(-1)
            for first in range(0, len(array), _PIECE):
                file.write(array[first : first + _PIECE].data)
                forget(array[first : first + _PIECE])


class ArrayFacts(NamedTuple):
    """Type (safetensors' name: F32) and shape of an array, from the header of a safetensors file."""

    dtype: str
    shape: tuple[int, ...]


def read_array_facts(path: Path) -> dict[str, ArrayFacts]:
    """Types and shapes of the arrays of a safetensors file, by name; the arrays themselves are not read.

    The file is as long as its arrays together, so arrays of these shapes need no more memory than it has bytes.

    Raises:
        InputError: the file is missing or is not safetensors.
    """
    with _arrays(path) as file:
        return _facts(file)


def _facts(file: Any) -> dict[str, ArrayFacts]:
    parts = {name: file.get_slice(name) for name in file.offset_keys()}  # as they lie in the file, end to end
    return {name: ArrayFacts(str(part.get_dtype()), tuple(part.get_shape())) for name, part in parts.items()}


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read a safetensors file.

    Raises:
        InputError: the file is missing, is not safetensors, or has an array of a type that NumPy lacks.
    """
    with _arrays(path) as file:
        for name, (dtype, _) in _facts(file).items():
            if dtype not in _TYPES.values():
                raise InputError(f"{path}: {name[:100]} is {dtype}; supported are {', '.join(_TYPES.values())}")
        arrays: dict[str, np.ndarray] = file.get_tensors()
    return arrays


def read_weights(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Some arrays of a safetensors file as float32, also those in half precision (F16, BF16).

    Raises:
        InputError: the file is missing, is not safetensors, or lacks one of them.
    """
    with _arrays(path, "pt") as file:  # NumPy has no type for BF16
        return {name: file.get_tensor(name).float().numpy() for name in names}


def map_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file as views of the file: nothing is read before it is used.

    Writing to them changes the copy in memory only.

    Raises:
        InputError: the file is missing, is not safetensors, or has an array of a type that is not mapped.
    """
    with _arrays(path) as file:  # checks the header, names, lengths
        data = np.memmap(path, dtype=np.uint8, mode="c")
        first = 8 + int(data[:8].view(np.uint64)[0])  # format: 8 bytes of header length, the header as JSON, the arrays
        arrays = {}
        for name, (dtype, shape) in _facts(file).items():
            if dtype not in _MAPPED:
                raise InputError(f"{path}: {name} is {dtype}; allowed: {', '.join(_MAPPED)}")
            last = first + math.prod(shape) * np.dtype(_MAPPED[dtype]).itemsize
            arrays[name] = np.asarray(data[first:last]).view(_MAPPED[dtype]).reshape(shape)
            first = last
    return arrays


@contextmanager
def _arrays(path: Path, framework: str = "numpy") -> Iterator[Any]:
    """A safetensors file, open for reading; its header is checked."""
    from safetensors import SafetensorError, safe_open

    regular_file(path)
    try:
        with safe_open(path, framework=framework) as file:
            yield file
    except InputError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: not a safetensors file that can be read ({error})") from error


_TYPES = {  # safetensors' names, in the order in which it puts arrays
    "uint64": "U64",
    "int64": "I64",
    "float64": "F64",
    "float32": "F32",
    "uint32": "U32",
    "int32": "I32",
    "float16": "F16",
    "uint16": "U16",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}
_PIECE = 1 << 20  # numbers that are written together
_MAPPED = {"I64": np.int64, "I32": np.int32, "I8": np.int8, "F64": np.float64, "F32": np.float32, "U8": np.uint8}


# ---- infinite figures


INFINITE = "infinite"
INFINITY = "∞"


def figures_to_json(figures: Mapping[str, object]) -> dict[str, object]:
    """The figures as JSON can hold them; `infinite` is there only where one is."""
    infinite = [key for key, value in figures.items() if isinstance(value, float) and math.isinf(value)]
    plain = {key: None if key in infinite else value for key, value in figures.items()}
    return plain | {INFINITE: infinite} if infinite else plain


def figures_from_json(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures as numbers again (without `infinite`)."""
    values = {key: value for key, value in figures.items() if key != INFINITE}
    return values | dict.fromkeys(figures.get(INFINITE, ()), math.inf)


def format_figure(value: float, form: str) -> str:
    """The number in a format such as `.2f`, ∞ where it is infinite."""
    return f"{value:{form}}".replace("inf", INFINITY)
