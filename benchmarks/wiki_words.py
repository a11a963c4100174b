"""A part of English Wikipedia as word ids: lower-cased words of letters and digits, a window never leaves its line."""

import gzip
import re
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np

from langladder.errors import InputError

FILE = Path(__file__).resolve().parents[2] / "shared" / "data" / "wiki-en" / "wiki_en.txt.gz"
WORD = re.compile(r"[a-z0-9]+")


def word_ids(path: Path, min_count: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Ids (T,) int32, most frequent word first, the lines' bounds (R + 1,), and the V words; rarer words are left out.

    Raises:
        InputError: the file is missing.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; name a text, plain or .gz, with --text")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        split = [WORD.findall(unicodedata.normalize("NFKD", line.lower())) for line in lines]
    counts = Counter(word for line in split for word in line)
    words = sorted((word for word in counts if counts[word] >= min_count), key=lambda word: (-counts[word], word))
    index = {word: number for number, word in enumerate(words)}
    rows = [np.array([index[word] for word in line if word in index], dtype=np.int32) for line in split]
    return np.concatenate(rows), np.concatenate([[0], np.cumsum([len(row) for row in rows])]), words
