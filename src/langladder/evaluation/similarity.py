"""Word similarity: do the cosines of word pairs rank like the scores that people gave them?

Sets such as WordSim-353 (Finkelstein et al. 2002) and SimLex-999 (Hill et al. 2015): a line has two words and a score,
separated by tabs or spaces. The measure is Spearman's ρ, the correlation of the ranks; pairs with a word that has no
vector are left out, and coverage says how many are not.
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from langladder.embeddings.base import WordVectors
from langladder.errors import InputError
from langladder.evaluation.question_files import question_files, read_lines

Pair = tuple[str, str, float]


def read_similarity(path: Path) -> list[Pair]:
    """The pairs of one file: word, word, score.

    Raises:
        InputError: the file is missing, has no pairs, or a line is malformed (names it).
    """
    pairs = []
    for number, text in read_lines(Path(path)):
        if text.startswith("#"):
            continue
        pair = _parse(text)
        if pair is None:
            raise InputError(f"{path}:{number}: {text[:60]!r} is not `word word score` (tabs or spaces between)")
        pairs.append(pair)
    if not pairs:
        raise InputError(f"{path}: has no word pairs")
    return pairs


def _parse(text: str) -> Pair | None:
    fields = text.split()
    if len(fields) != 3:
        return None
    try:
        score = float(fields[2])
    except ValueError:
        return None
    return (fields[0], fields[1], score) if np.isfinite(score) else None


def evaluate_similarity(vectors: WordVectors, path: Path, *, ignore_case: bool = True) -> dict[str, Any]:
    """Compare with the human scores of a file, or of all similarity sets in a folder.

    Args:
        ignore_case: match words whatever their case; of words that differ in case only, the most frequent one stands.

    Returns:
        {"sets": [{"name", "spearman", "pairs", "covered", "coverage"}], "skipped_files"}; "spearman" is null where
        fewer than two pairs are covered or one side is constant.

    Raises:
        InputError: see `read_similarity`.
    """
    files, skipped = question_files(path, lambda line: _parse(line) is not None, "word pairs with scores")
    rows: dict[str, int] = {}
    for row, word in enumerate(vectors.words):
        rows.setdefault(word.casefold() if ignore_case else word, row)

    sets = []
    for file in files:
        pairs = read_similarity(file)
        fold = str.casefold if ignore_case else str
        known = [
            (rows[fold(first)], rows[fold(second)], score)
            for first, second, score in pairs
            if fold(first) in rows and fold(second) in rows
        ]
        first, second = (np.array([pair[side] for pair in known], dtype=np.int64) for side in (0, 1))
        cosines = vectors.cosines(first, second)
        sets.append(
            {
                "name": file.name.removesuffix(".gz").rpartition(".")[0] or file.name,
                "spearman": spearman(cosines, np.array([score for *_, score in known])),
                "pairs": len(pairs),
                "covered": len(known),
                "coverage": round(len(known) / len(pairs), 6),
            }
        )
    return {"sets": sets, "skipped_files": skipped}


def spearman(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's ρ of two lists of figures, (P,) each; None where it is undefined."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return round(float(spearmanr(first, second).statistic), 6)
