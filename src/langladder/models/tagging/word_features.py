"""Hand-made features of words: the word, its affixes of one to four letters, its shape, and its neighbours.

They are the usual ones (Ratnaparkhi 1996; the tutorials of CRFsuite and scikit-learn). A CRF weighs them directly
(`feature_crf`); a network takes them besides what it has learnt to read (`neural_tagger`), from a table of few rows, to
which they are hashed (Weinberger et al. 2009): no list of features is kept.

Shape legend: T words, M features of the word that has most.
"""

from collections.abc import Iterable, Sequence
from zlib import crc32

import numpy as np

AFFIX = 4  # letters of the longest prefix and suffix
BESIDE = (-2, -1, 1, 2)  # where the neighbours stand


def shape(word: str) -> str:
    """`McDonald's-3` → `XxXx'x-d`: letters as x and X, digits as d, equal ones in a row once."""
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word[:50]]
    return "".join(kind for position, kind in enumerate(kinds) if position == 0 or kind != kinds[position - 1])


def sentence_features(words: Sequence[str]) -> list[list[str]]:
    """The features of each word of a sentence that are true."""
    lower = [word.lower() for word in words]
    shapes = [shape(word) for word in words]
    return [list(_features(words[position], lower, shapes, position)) for position in range(len(words))]


def _features(word: str, lower: Sequence[str], shapes: Sequence[str], position: int) -> Iterable[str]:
    yield "bias"
    yield f"word={word}"
    yield f"lower={lower[position]}"
    yield f"shape={shapes[position]}"
    for n in range(1, min(AFFIX, len(word)) + 1):
        yield f"prefix={lower[position][:n]}"
        yield f"suffix={lower[position][-n:]}"
    if "-" in word:
        yield "hyphen"
    for offset in BESIDE:
        other = position + offset
        if 0 <= other < len(lower):
            yield f"lower[{offset:+d}]={lower[other]}"
            if abs(offset) == 1:
                yield f"shape[{offset:+d}]={shapes[other]}"
                yield f"suffix[{offset:+d}]={lower[other][-3:]}"
        else:
            yield f"end[{offset:+d}]"


def count_features(sentences: Iterable[Sequence[str]]) -> int:
    """How many different features the words of sentences have."""
    return len({feature for words in sentences for own in sentence_features(words) for feature in own})


def rows_of_features(words: Sequence[str], rows: int) -> np.ndarray:
    """The rows, out of so many, that the features of each word have, from 1, then zeros: (T, M) int32."""
    found = [
        [1 + crc32(feature.encode("utf-8", "surrogatepass")) % rows for feature in own]
        for own in sentence_features(words)
    ]
    table = np.zeros((len(found), max(map(len, found), default=0)), dtype=np.int32)
    for word, own in enumerate(found):
        table[word, : len(own)] = own
    return table
