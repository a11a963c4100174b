"""Word similarity: do word pairs rank by their vectors as by the scores that people gave them?

Sets such as WordSim-353 (Finkelstein et al. 2002), its parts for similarity and relatedness (Agirre et al. 2009),
SimLex-999 (Hill et al. 2015) and RG-65 (Rubenstein & Goodenough 1965): a line has two words and a score, separated by
tabs or spaces. The figure is Spearman's ρ, the correlation of the ranks; pairs with a word that has no vector are left
out, and coverage says how many are not.
"""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from langladder.embeddings.base import WordVectors
from langladder.evaluation.page import Interval, Measured, Metric
from langladder.evaluation.question_files import question_files, rows_by_word
from langladder.evaluation.significance import spearman_interval
from langladder.ground.errors import InputError
from langladder.text.read.lines import filled_lines

Pair = tuple[str, str, float]

Measure = Literal["cosine", "dot", "euclidean"]


class SimilaritySet(Measured):
    """Spearman's ρ against human (or true) word similarity on one data set; pairs and covered are counts."""

    name: str
    spearman: Annotated[
        float | None,
        Metric(
            "ρ {name}",
            "Spearman's rank correlation of cosines with the judgements of {name}, −1 to 1",
            better="higher",
            name="similarity_{name}",
        ),
    ]
    interval: Interval | None
    pairs: int
    covered: int
    coverage: Annotated[float, Metric(name="similarity_{name}_coverage")]


class Similarities(Measured):
    """All data sets of a file or folder."""

    sets: list[SimilaritySet]
    measure: str
    skipped_files: list[str]


def read_similarity(path: Path) -> list[Pair]:
    """The pairs of one file: word, word, score. Lines that open with # are comments.

    Raises:
        InputError: the file is missing, has no pairs, or a line is malformed (names it).
    """
    pairs = []
    for number, text in filled_lines(Path(path)):
        if text.startswith("#"):
            continue
        pair = _parse(text)
        if pair is None:
            raise InputError(
                f"{path}:{number}: {text[:60]!r} is not `word word score` "
                "(tabs or spaces between, the score a number; a line of headings needs a # in front)"
            )
        pairs.append(pair)
    if not pairs:
        raise InputError(f"{path}: has no word pairs")
    return pairs


def _parse(text: str) -> Pair | None:
    fields = [field.strip() for field in text.split("\t")] if "\t" in text else text.split()
    if len(fields) != 3 or not all(fields):
        return None
    try:
        score = float(fields[2])
    except ValueError:
        return None
    return (fields[0], fields[1], score) if np.isfinite(score) else None


def evaluate_similarity(
    vectors: WordVectors, path: Path, *, ignore_case: bool = True, measure: Measure = "cosine"
) -> Similarities:
    """Compare with the human scores of a file, or of all similarity sets in a folder.

    Args:
        ignore_case: match words in any case; of words that only differ in case, the most frequent one is used.
        measure: see `pair_scores`.

    Returns:
        The figures of each set; `spearman` and its interval are None where fewer than two pairs are covered (three for
        the interval) or one side is constant.

    Raises:
        InputError: see `read_similarity`.
    """
    files, skipped = question_files(path, lambda line: _parse(line) is not None, "word pairs with scores")
    rows = rows_by_word(vectors, ignore_case=ignore_case)

    def fold(word: str) -> str:
        spelled = vectors.normalisation.normalise(word)
        return spelled.casefold() if ignore_case else spelled

    sets = []
    for file in files:
        pairs = read_similarity(file)
        known = [
            (rows[fold(first)], rows[fold(second)], score)
            for first, second, score in pairs
            if fold(first) in rows and fold(second) in rows
        ]
        first, second = (np.array([pair[side] for pair in known], dtype=np.int64) for side in (0, 1))
        scores, judgements = pair_scores(vectors, first, second, measure), np.array([score for *_, score in known])
        correlation = spearman(scores, judgements)
        sets.append(
            SimilaritySet(
                name=file.name.removesuffix(".gz").rpartition(".")[0] or file.name,
                spearman=correlation,
                interval=None if correlation is None else spearman_interval(scores, judgements),
                pairs=len(pairs),
                covered=len(known),
                coverage=round(len(known) / len(pairs), 6),
            )
        )
    return Similarities(sets=sets, measure=measure, skipped_files=skipped)


def pair_scores(vectors: WordVectors, first: np.ndarray, second: np.ndarray, measure: Measure = "cosine") -> np.ndarray:
    """Similarity of pairs of rows, (P,) and (P,) → (P,); larger is more similar.

    Args:
        measure: "cosine" v · w / (‖v‖ ‖w‖), "dot" v · w, or "euclidean" −‖v − w‖, the latter two of the vectors as
            they are.
    """
    if measure == "cosine":
        return vectors.cosines(first, second)
    v, w = vectors.matrix[first], vectors.matrix[second]  # (P, D)
    if measure == "euclidean":
        v = w = v - w
    products = v.multiply(w) if vectors.is_sparse else v * w
    sums = np.asarray(products.sum(axis=1)).ravel()
    return sums if measure == "dot" else -np.sqrt(sums)


def spearman(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's ρ of two lists of figures, (P,) each; None if it is undefined."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    from scipy.stats import spearmanr  # takes time to load

    return round(float(spearmanr(first, second).statistic), 6)
