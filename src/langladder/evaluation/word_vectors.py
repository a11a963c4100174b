"""Everything that is measured and shown of one set of word vectors: analogies, similarity, groups, neighbours, a map.

The map shows words whose relations are known: those of the analogy questions, so that by principal components pairs
which differ in one way (country and capital, singular and plural) can be seen to lie in parallel. Where a corpus has
no questions, the most frequent words stand in.
"""

from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from langladder.embeddings.base import WordVectors
from langladder.evaluation.analogy import Analogies, AnalogyTotals, evaluate_analogies, is_syntactic, read_analogies
from langladder.evaluation.bias import BiasShift
from langladder.evaluation.clusters import Clusters, evaluate_clusters
from langladder.evaluation.maps import word_map
from langladder.evaluation.page import LAST, Excluded, Measured, Metric, Metrics, Page
from langladder.evaluation.question_files import question_files
from langladder.evaluation.similarity import SimilaritySet, evaluate_similarity

NEAREST = 10  # shown of each word

GROUPS, PAIRS = 5, 8  # of the map: sections of questions, word pairs of each


class QuestionSets(NamedTuple):
    """What word vectors are judged by: a set or a folder of sets, of groups a file; None or an empty file: none."""

    analogies: Path | None
    similarity: Path | None
    groups: Path | None = None


class WordVectorsScores(Measured):
    """Intrinsic scores of word vectors; None or nothing where the corpus brings no such set."""

    analogy: Annotated[Analogies | None, Metrics()] = None
    similarity: Annotated[list[SimilaritySet], Metrics()] = Field(default_factory=list)
    clusters: Annotated[Clusters | None, Metrics()] = None
    bias: Annotated[BiasShift | None, Metrics()] = Field(default=None, exclude_if=lambda value: value is None)


class Neighbours(Measured):
    """A word and its nearest words with their cosines."""

    word: str
    nearest: list[tuple[str, float]]


class MapPoint(Measured):
    """A word's place on the 2-D map, and the group that colours it."""

    word: str
    x: float
    y: float
    group: str = ""


class WordVectorsPage(Page):
    """The page of one set of word vectors: size, scores, and neighbours."""

    trained_on = "words"
    sampled = "questions"
    detail: ClassVar[Excluded] = {"neighbours": True, "map": True, "scores": {"clusters": {"sections"}}}

    dimension: Annotated[
        int, Metric("dimension", "numbers per word", unit="whole", compared=True, after=LAST, logged=False)
    ]
    vocabulary: Annotated[
        int, Metric("words", "words with a vector", unit="whole", after="bytes per word", logged=False)
    ]
    bytes_per_word: Annotated[
        float,
        Metric(
            "bytes per word",
            "size of a word's vector: 4 bytes per number; for sparse vectors 8 per number that is not zero",
            unit="compact",
            better="lower",
            after=LAST,
            logged=False,
        ),
    ]
    scores: Annotated[WordVectorsScores, Metrics()]
    neighbours: list[Neighbours] = Field(default_factory=list)
    map: list[MapPoint] = Field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """Without questions to answer, that of the analogies is None."""
        return {"analogy": None, "analogy_coverage": None} | super().figures()


def evaluate_word_vectors(
    vectors: WordVectors,
    sets: QuestionSets,
    *,
    name: str,
    approach: str,
    restrict_vocabulary: int | None,
    neighbours: int,
) -> WordVectorsPage:
    """Scores and pictures of word vectors, dense or sparse.

    Args:
        name, approach: of the rung.
        restrict_vocabulary: answer analogies with the most frequent so many words only.
        neighbours: number of words whose nearest words are listed.
    """
    analogies, similarity, groups = map(_unless_blank, sets)
    near = {word: vectors.nearest(word, NEAREST) for word in _spread(vectors, neighbours)}
    return WordVectorsPage(
        name=name,
        approach=approach,
        dimension=int(vectors.matrix.shape[1]),
        vocabulary=len(vectors),
        bytes_per_word=round(vectors.bytes_per_word),
        scores=WordVectorsScores(
            analogy=None if analogies is None else _analogy(vectors, analogies, restrict_vocabulary),
            similarity=evaluate_similarity(vectors, similarity).sets if similarity else [],
            clusters=None if groups is None else evaluate_clusters(vectors, groups),
            bias=vectors.about.get("bias"),
        ),
        neighbours=[
            Neighbours(word=word, nearest=[(other, round(cosine, 4)) for other, cosine in result])
            for word, result in near.items()
        ],
        map=_map(vectors, analogies),
    )


def _analogy(vectors: WordVectors, path: Path, restrict_vocabulary: int | None) -> Analogies:
    figures = evaluate_analogies(vectors, path, restrict_vocabulary=restrict_vocabulary)
    other = evaluate_analogies(vectors, path, restrict_vocabulary=restrict_vocabulary, method="3cosmul")
    totals = AnalogyTotals(overall=other.overall, semantic=other.semantic, syntactic=other.syntactic)
    return figures.model_copy(update={"cosmul": totals})


def _unless_blank(path: Path | None) -> Path | None:
    """None for a blank file, with which a corpus says that it brings none."""
    return None if path is None or (path.is_file() and path.stat().st_size <= len("\n")) else path


def _spread(vectors: WordVectors, count: int) -> list[str]:
    """Words that mean something, from frequent to rarer: letters only, past the function words at the list's head."""
    letters = [word for word in vectors.words if word.isalpha()]
    head = min(50, len(letters) // 4)
    return letters[head :: max(1, min(25, (len(letters) - head) // count))][:count]


def _map(vectors: WordVectors, analogies: Path | None) -> list[MapPoint]:
    chosen = _questioned(vectors, analogies) or dict.fromkeys(vectors.words[: 2 * GROUPS * PAIRS], "frequent words")
    placed = word_map(vectors, list(chosen))
    points = zip(placed.words, placed.points.tolist(), strict=True)
    return [
        MapPoint(word=word, x=round(x, 4) + 0.0, y=round(y, 4) + 0.0, group=chosen[word]) for word, (x, y) in points
    ]


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
