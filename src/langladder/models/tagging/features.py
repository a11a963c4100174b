"""Hand-made features of a word in its sentence: what people gave a CRF before networks made their own.

The usual set: the word, its affixes of one to four letters, its shape, and the words and shapes beside it (Ratnaparkhi
1996; the tutorials of CRFsuite and scikit-learn).
"""

from collections.abc import Iterable, Sequence

AFFIX = 4  # letters of the longest prefix and suffix
BESIDE = (-2, -1, 1, 2)  # where the neighbours stand


def shape(word: str) -> str:
    """`McDonald's-3` → `XxXx'x-d`: letters as x and X, digits as d, equal ones in a row once."""
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word[:50]]
    return "".join(kind for place, kind in enumerate(kinds) if place == 0 or kind != kinds[place - 1])


def sentence_features(words: Sequence[str]) -> list[list[str]]:
    """The features of each word of a sentence that are true."""
    lower = [word.lower() for word in words]
    shapes = [shape(word) for word in words]
    return [list(_features(words[place], lower, shapes, place)) for place in range(len(words))]


def _features(word: str, lower: Sequence[str], shapes: Sequence[str], place: int) -> Iterable[str]:
    yield "bias"
    yield f"word={word}"
    yield f"lower={lower[place]}"
    yield f"shape={shapes[place]}"
    for n in range(1, min(AFFIX, len(word)) + 1):
        yield f"prefix={lower[place][:n]}"
        yield f"suffix={lower[place][-n:]}"
    if "-" in word:
        yield "hyphen"
    for offset in BESIDE:
        other = place + offset
        if 0 <= other < len(lower):
            yield f"lower[{offset:+d}]={lower[other]}"
            if abs(offset) == 1:
                yield f"shape[{offset:+d}]={shapes[other]}"
                yield f"suffix[{offset:+d}]={lower[other][-3:]}"
        else:
            yield f"end[{offset:+d}]"
