"""Hand-made features of words: the word, its affixes of one to four letters, its shape, and its neighbours.

They are the usual ones (Ratnaparkhi 1996; the tutorials of CRFsuite and scikit-learn). A CRF has a weight for each
(`feature_crf`). A network uses them in addition to its learned input (`neural_tagger`), with a small table to which
they are hashed (Weinberger et al. 2009), so no list of features is stored.

Shape legend: T words, M maximum features of a word.
"""

from collections.abc import Iterable, Sequence
from zlib import crc32

import numpy as np

AFFIX = 4  # letters of the longest prefix and suffix
BESIDE = (-2, -1, 1, 2)  # offsets of the neighbours


def shape(word: str) -> str:
    """`McDonald's-3` → `XxXx'x-d`: letters as x and X, digits as d, without repetitions."""
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word[:50]]
    return "".join(kind for position, kind in enumerate(kinds) if position == 0 or kind != kinds[position - 1])


def sentence_features(words: Sequence[str]) -> list[list[str]]:
    """The true features of each word of a sentence."""
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
    """The number of distinct features of the words of sentences."""
    return len({feature for words in sentences for own in sentence_features(words) for feature in own})


def rows_of_features(words: Sequence[str], rows: int) -> np.ndarray:
    """The rows of each word's features, 1 … `rows`, padded with zeros: (T, M) int32."""
    results = [
        [1 + crc32(feature.encode("utf-8", "surrogatepass")) % rows for feature in own]
        for own in sentence_features(words)
    ]
    table = np.zeros((len(results), max(map(len, results), default=0)), dtype=np.int32)
    for word, own in enumerate(results):
        table[word, : len(own)] = own
    return table
