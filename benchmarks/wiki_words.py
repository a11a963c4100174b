"""A part of English Wikipedia as word ids: lower-cased words of letters and digits, a window never leaves its line."""

import re
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
from public_data import find, read

WORD = re.compile(r"[a-z0-9]+")


def word_ids(data: Path, min_count: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Ids (T,) int32, most frequent word first, the lines' bounds (R + 1,), and the V words; rarer words are left out.

    Raises:
        Missing: the folder of public sets holds no wiki-en/wiki_en.txt.
    """
    lines = read(find(data, "wiki-en/wiki_en.txt")).decode("utf-8").split("\n")
    split = [WORD.findall(unicodedata.normalize("NFKD", line.lower())) for line in lines]
    counts = Counter(word for line in split for word in line)
    words = sorted((word for word in counts if counts[word] >= min_count), key=lambda word: (-counts[word], word))
    index = {word: number for number, word in enumerate(words)}
    rows = [np.array([index[word] for word in line if word in index], dtype=np.int32) for line in split]
    return np.concatenate(rows), np.concatenate([[0], np.cumsum([len(row) for row in rows])]), words
