"""Everything that is measured and shown of one set of word vectors: analogies, similarity, groups, neighbours, a map.

The map shows words whose relations are known: those of the analogy questions, so that by principal components pairs
which differ in one way (country and capital, singular and plural) can be seen to lie in parallel. Where a corpus has
no questions, the most frequent words stand in.
"""

from pathlib import Path
from typing import Any

from langladder.embeddings.base import WordVectors
from langladder.evaluation.analogy import evaluate_analogies, is_syntactic, read_analogies
from langladder.evaluation.clusters import evaluate_clusters
from langladder.evaluation.maps import MapMethod, word_map
from langladder.evaluation.question_files import question_files
from langladder.evaluation.similarity import evaluate_similarity

NEAREST = 10  # shown of each word
GROUPS, PAIRS = 5, 8  # of the map: sections of questions, word pairs of each


def evaluate_word_vectors(
    vectors: WordVectors,
    analogies: Path | None,
    similarity: Path | None,
    *,
    restrict_vocabulary: int | None,
    neighbours: int,
    groups: Path | None = None,
    cosmul: bool = True,
    map_method: MapMethod = "pca",
) -> dict[str, Any]:
    """Scores and pictures of word vectors, dense or sparse.

    Args:
        analogies, similarity: a set or a folder of sets; None or an empty file means that there is none.
        groups: a file of word groups; None or an empty file means that there is none.
        neighbours: number of words whose nearest words are listed.
        cosmul: answer the analogies by 3CosMul too.

    Returns:
        {"dimension", "vocabulary", "scores": {"analogy" or None, "similarity": [...], "clusters" or None},
        "neighbours", "map"}. "analogy" has the keys of `evaluate_analogies`, those of its "overall", and "cosmul":
        {"overall", "semantic", "syntactic"} or None.
    """
    analogies, similarity, groups = map(_given, (analogies, similarity, groups))
    words = _spread(vectors, neighbours)
    return {
        "dimension": int(vectors.matrix.shape[1]),
        "vocabulary": len(vectors),
        "scores": {
            "analogy": analogies and _analogy(vectors, analogies, restrict_vocabulary, cosmul),
            "similarity": evaluate_similarity(vectors, similarity)["sets"] if similarity else [],
            "clusters": groups and evaluate_clusters(vectors, groups),
        },
        "neighbours": [
            {"word": word, "nearest": [[other, round(cosine, 4)] for other, cosine in vectors.nearest(word, NEAREST)]}
            for word in words
        ],
        "map": _map(vectors, analogies, map_method),
    }


def _analogy(vectors: WordVectors, path: Path, restrict_vocabulary: int | None, cosmul: bool) -> dict[str, Any]:
    figures = evaluate_analogies(vectors, path, restrict_vocabulary=restrict_vocabulary)
    figures |= figures["overall"] | {"total": figures["overall"]["questions"]}
    figures["sections"] = [section | {"total": section["questions"]} for section in figures["sections"]]
    figures["cosmul"] = None
    if cosmul:
        other = evaluate_analogies(vectors, path, restrict_vocabulary=restrict_vocabulary, method="3cosmul")
        figures["cosmul"] = {key: other[key] for key in ("overall", "semantic", "syntactic")}
    return figures


def _given(path: Path | None) -> Path | None:
    """None for a blank file, with which a corpus says that it brings none."""
    return None if path is None or (path.is_file() and path.stat().st_size <= len("\n")) else path


def _spread(vectors: WordVectors, count: int) -> list[str]:
    """Words that mean something, from frequent to rarer: letters only, past the function words at the list's head."""
    letters = [word for word in vectors.words if word.isalpha()]
    head = min(50, len(letters) // 4)
    return letters[head :: max(1, min(25, (len(letters) - head) // count))][:count]


def _map(vectors: WordVectors, analogies: Path | None, method: MapMethod) -> list[dict[str, Any]]:
    chosen = _questioned(vectors, analogies) or dict.fromkeys(vectors.words[: 2 * GROUPS * PAIRS], "frequent words")
    return word_map(vectors, chosen, method)


def _questioned(vectors: WordVectors, analogies: Path | None) -> dict[str, str]:
    """Word → section of the words asked about, in turn from questions of meaning and of syntax."""
    if analogies is None:
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
