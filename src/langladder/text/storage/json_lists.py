"""Lists of words and of counts as JSON files hold them, seen to be such lists."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from langladder.errors import InputError


def word_list(path: Path, value: Any) -> list[str]:
    """The words that a JSON file lists. Raises InputError for anything but a list of different words."""
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise InputError(f"{path}: words: not a list of words")
    if len(set(value)) < len(value):
        twice = next(word for word, number in Counter(value).items() if number > 1)
        raise InputError(f"{path}: the word {twice[:60]!r} occurs twice")
    return value


def count_list(path: Path, value: Any) -> np.ndarray:
    """The counts that a JSON file lists, int64. Raises InputError for anything but whole numbers of 0 or more."""
    whole = isinstance(value, list) and all(type(count) is int and 0 <= count < 2**63 for count in value)
    if not whole:
        raise InputError(f"{path}: counts: not a list of whole numbers from 0 to 2^63 - 1")
    return np.array(value, dtype=np.int64)
