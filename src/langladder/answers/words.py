"""Words: questions to word vectors: neighbours, analogies, similarity, the odd one out; the vector of a text.

Words are normalised like the training text of the vectors, so another Unicode form, or capitals if that text has none,
do not matter. For unknown words, the error suggests the nearest spellings. Vectors with character n-grams also have
vectors for words without a row.
"""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from langladder.embeddings.base import AnalogyMethod, WordVectors
from langladder.evaluation.similarity import Measure, pair_scores
from langladder.ground.errors import InputError
from langladder.text.words.segmentation import splitter_of

LEAST_ODD = 3  # minimum number of words to find the odd one
RARE = 60  # occurrences in training; the embedded corpus asks no analogies about rarer words


class ScoredWord(TypedDict):
    """A word and its score: cosine, dot product, distance, or the score of an analogy's method."""

    word: str
    score: float


class Comparison(TypedDict):
    """Three measures of two words."""

    cosine: float
    dot: float
    euclidean: float


class OddWord(TypedDict):
    """A word, and the similarity of the others without it."""

    word: str
    compactness: float


def rare_note(vectors: WordVectors, words: Sequence[str]) -> str | None:
    """One sentence about the words of a question that are rare in the training text; None if there are none."""
    if vectors.counts is None:
        return None
    counts = {word: int(vectors.counts[vectors.index[word]]) for word in map(vectors.spelled, words) if word in vectors}
    rare = [f"{word} ({count:,})" for word, count in counts.items() if count < RARE]
    if not rare:
        return None
    return (
        f"words that occur fewer than {RARE} times in the training text of these vectors: {', '.join(rare)}; their "
        "vectors are imprecise, so do not rely on the answer"
    )


def check(vectors: WordVectors, word: str) -> None:
    """Check that a word has a vector: a row, or one made from its character n-grams.

    Raises:
        InputError: it has none; the message suggests the word in another case, else the nearest spellings.
    """
    if word in vectors:
        return
    try:
        vectors[word]
    except InputError:
        same = [known for known in vectors.words if known.casefold() == word.casefold()]
        if not same:
            raise
        raise InputError(
            f"{word!r} is not among the {len(vectors):,} words that have a vector; did you mean {', '.join(same)}?"
        ) from None


def find(vectors: WordVectors, word: str) -> int:
    """The row of a word. Raises InputError as `check`, or if its vector is not a row."""
    check(vectors, word)
    return vectors.row(word)


def nearest(vectors: WordVectors, word: str, count: int, measure: Measure = "cosine") -> list[ScoredWord]:
    """The words nearest to a word, nearest first; the score of "euclidean" is the distance."""
    word = vectors.spelled(word)
    if measure == "cosine":
        check(vectors, word)
        return [{"word": other, "score": round(cosine, 6)} for other, cosine in vectors.nearest(word, count)]
    row = find(vectors, word)
    scores = pair_scores(vectors, np.full(len(vectors), row), np.arange(len(vectors)), measure)  # (V,)
    order = [int(other) for other in np.argsort(-scores, kind="stable") if other != row][:count]
    sign = -1 if measure == "euclidean" else 1
    return [{"word": vectors.words[other], "score": round(sign * float(scores[other]), 6)} for other in order]


def analogy(
    vectors: WordVectors, question: Sequence[str], count: int, method: AnalogyMethod, restrict: int | None = None
) -> list[ScoredWord]:
    """Words that are to c as b is to a, best first.

    Args:
        question: a, b, c. restrict: only answer with this many most frequent words.
    """
    words = a, b, c = [vectors.spelled(word) for word in question]
    if restrict is None:
        for word in words:
            check(vectors, word)
        return [
            {"word": word, "score": round(score, 6)} for word, score in vectors.analogy(a, b, c, count, method=method)
        ]
    rows_of_words = np.array([[find(vectors, word) for word in words]])
    among = np.arange(min(restrict, len(vectors)))
    rows, scores = vectors.analogies(rows_of_words, count, among=among, method=method)
    return [
        {"word": vectors.words[row], "score": round(float(score), 6)}
        for row, score in zip(rows[0], scores[0], strict=True)
        if score > -np.inf
    ]


def compare(vectors: WordVectors, first: str, second: str) -> Comparison:
    """Cosine, dot product and Euclidean distance of two words."""
    first, second = vectors.spelled(first), vectors.spelled(second)
    for word in (first, second):
        check(vectors, word)
    v, w = vectors[first].astype(np.float64), vectors[second].astype(np.float64)
    cosine, dot, distance = vectors.similarity(first, second), float(v @ w), float(np.linalg.norm(v - w))
    return {"cosine": round(cosine, 6), "dot": round(dot, 6), "euclidean": round(distance, 6)}


def odd_one_out(vectors: WordVectors, words: Sequence[str]) -> list[OddWord]:
    """The similarity of the others without each word (see `evaluation.clusters`), the odd one first.

    Raises:
        InputError: fewer than three different words, or a word without a row.
    """
    from langladder.evaluation.clusters import compactness_scores  # scikit-learn takes time to load

    group = list(dict.fromkeys(map(vectors.spelled, words)))
    if len(group) < LEAST_ODD:
        raise InputError(f"words: {len(group)} different; to find the odd one, give {LEAST_ODD} or more")
    scores = compactness_scores(vectors, np.array([find(vectors, word) for word in group]))
    order = np.argsort(-scores, kind="stable").tolist()
    return [{"word": group[index], "compactness": round(float(scores[index]), 6)} for index in order]


def text_vector(vectors: WordVectors, text: str) -> np.ndarray:
    """The mean of the vectors of a text's words, (D,) float32; if the text is a single word, that word's vector.

    Raises:
        InputError: none of its words has a vector.
    """
    rows = []
    # the whole text first, because an invisible character after a full stop would keep it attached to its word
    whole = vectors.spelled(text)
    for word in [whole] if whole in vectors else splitter_of(vectors.words_by)(whole):
        try:
            rows.append(vectors[word])
        except InputError:  # it has none
            continue
    if not rows:
        raise InputError(f"input: no word of {text[:60]!r} is among the {len(vectors):,} words with a vector")
    mean: np.ndarray = np.mean(rows, axis=0, dtype=np.float64).astype("<f4")
    return mean
