"""Everything that is measured and shown of one set of word vectors: analogies, similarity, neighbours, a map.

The map is a principal component analysis (Pearson 1901) of words whose relations are known: those of the analogy
questions, so that pairs which differ in one way (country and capital, singular and plural) can be seen to lie in
parallel. Where a corpus has no questions, the most frequent words stand in.
"""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from langladder.embeddings.base import WordVectors
from langladder.evaluation.analogy import evaluate_analogies, is_syntactic, read_analogies
from langladder.evaluation.question_files import question_files
from langladder.evaluation.similarity import evaluate_similarity

NEAREST = 10  # shown of each word
GROUPS, PAIRS = 5, 8  # of the map: sections of questions, word pairs of each


def evaluate_word_vectors(
    vectors: WordVectors, analogies: Path, similarity: Path, *, restrict_vocabulary: int | None, neighbours: int
) -> dict[str, Any]:
    """Scores and pictures of word vectors.

    Args:
        analogies, similarity: a set or a folder of sets; an empty file means that there is none.
        neighbours: number of words whose nearest words are listed.

    Returns:
        {"dimension", "vocabulary", "scores": {"analogy" or None, "similarity": [...]}, "neighbours", "map"}.
    """
    figures = None
    if not _is_empty(analogies):
        figures = evaluate_analogies(vectors, analogies, restrict_vocabulary=restrict_vocabulary)
        figures |= figures["overall"] | {"total": figures["overall"]["questions"]}
        figures["sections"] = [section | {"total": section["questions"]} for section in figures["sections"]]
    words = _spread(vectors, neighbours)
    return {
        "dimension": int(vectors.matrix.shape[1]),
        "vocabulary": len(vectors),
        "scores": {
            "analogy": figures,
            "similarity": [] if _is_empty(similarity) else evaluate_similarity(vectors, similarity)["sets"],
        },
        "neighbours": [
            {"word": word, "nearest": [[other, round(cosine, 4)] for other, cosine in vectors.nearest(word, NEAREST)]}
            for word in words
        ],
        "map": _map(vectors, analogies),
    }


def _is_empty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


def _spread(vectors: WordVectors, count: int) -> list[str]:
    """Words that mean something, from frequent to rarer: letters only, past the function words at the list's head."""
    letters = [word for word in vectors.words if word.isalpha()]
    head = min(50, len(letters) // 4)
    return letters[head :: max(1, min(25, (len(letters) - head) // count))][:count]


def _map(vectors: WordVectors, analogies: Path) -> list[dict[str, Any]]:
    """[{"word", "x", "y", "group"}], coordinates rounded to 4 decimals, of vectors scaled to length 1."""
    chosen = _questioned(vectors, analogies) or dict.fromkeys(vectors.words[: 2 * GROUPS * PAIRS], "frequent words")
    matrix = vectors.dense([vectors.row(word) for word in chosen]).astype(np.float64)  # (W, D)
    points = PCA(n_components=min(2, *matrix.shape), svd_solver="full").fit_transform(matrix)  # (W, ≤ 2)
    points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
    return [
        {"word": word, "x": round(float(x), 4), "y": round(float(y), 4), "group": group}
        for (word, group), (x, y) in zip(chosen.items(), points, strict=True)
    ]


def _questioned(vectors: WordVectors, analogies: Path) -> dict[str, str]:
    """Word → section of the words asked about, in turn from questions of meaning and of syntax."""
    if _is_empty(analogies):
        return {}
    files, _ = question_files(analogies, lambda line: line.startswith(":"), "analogy questions")
    sections = [section for file in files for section in read_analogies(file)]
    sections.sort(key=lambda section: is_syntactic(section.name))
    chosen: dict[str, str] = {}
    groups = 0
    for section in sections:
        pairs = dict.fromkeys((a, b) for a, b, _, _ in section.questions if a in vectors and b in vectors)
        fresh = [pair for pair in pairs if not set(pair) & set(chosen)][:PAIRS]
        if len(fresh) >= 2 and groups < GROUPS:
            chosen |= dict.fromkeys([word for pair in fresh for word in pair], section.name)
            groups += 1
    return chosen
