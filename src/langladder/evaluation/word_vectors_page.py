"""The page of word vectors: how large, how good, what lies near what."""

from typing import Any, ClassVar

from pydantic import Field

from langladder.evaluation.page import Interval, Measured, Page


class AnalogyFigure(Measured):
    """Answers to some analogy questions: `answered` are those whose words all have vectors, accuracy is among them."""

    accuracy: float | None
    interval: Interval | None
    correct: int
    answered: int
    questions: int
    coverage: float


class AnalogySection(AnalogyFigure):
    """One section of the question file."""

    name: str


class AnalogyTotals(Measured):
    """All questions together, and their two halves where the set has both."""

    overall: AnalogyFigure
    semantic: AnalogyFigure | None
    syntactic: AnalogyFigure | None


class Analogies(AnalogyTotals):
    """Answers to a question file or a folder of them; `cosmul`: the totals by 3CosMul, where they were asked for."""

    sections: list[AnalogySection]
    restrict_vocabulary: int | None
    method: str
    skipped_files: list[str]
    cosmul: AnalogyTotals | None = None


class SimilaritySet(Measured):
    """Spearman's ρ against human (or true) word similarity on one data set; pairs and covered are counts."""

    name: str
    spearman: float | None
    interval: Interval | None
    pairs: int
    covered: int
    coverage: float


class Similarities(Measured):
    """All data sets of a file or folder."""

    sets: list[SimilaritySet]
    measure: str
    skipped_files: list[str]


class OutlierFigure(Measured):
    """Odd ones out: the share that is found, and the mean of their places (OPP), of so many cases."""

    accuracy: float | None
    opp: float | None
    cases: int


class Outliers(OutlierFigure):
    """Over all groups, with the interval of the accuracy."""

    interval: Interval | None


class WordGroup(OutlierFigure):
    """One group of words: how many it has and how many of them have vectors; its odd ones out."""

    name: str
    words: int
    covered: int


class Clusters(Measured):
    """How well known groups of words are kept together; `groups` counts those with a known word."""

    purity: float | None
    groups: int
    words: int
    covered: int
    coverage: float
    outliers: Outliers
    sections: list[WordGroup] = Field(default_factory=list)


class WordVectorsScores(Measured):
    """Intrinsic scores of word vectors; None or nothing where the corpus brings no such set."""

    analogy: Analogies | None = None
    similarity: list[SimilaritySet] = Field(default_factory=list)
    clusters: Clusters | None = None


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
    """Of one set of word vectors: how large, how good, what lies near what."""

    detail: ClassVar[dict[str, Any]] = {"neighbours": True, "map": True, "scores": {"clusters": {"sections"}}}

    dimension: int
    vocabulary: int
    bytes_per_word: float
    scores: WordVectorsScores
    neighbours: list[Neighbours] = Field(default_factory=list)
    map: list[MapPoint] = Field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """See `Page.figures`."""
        overall, clusters = self.scores.analogy and self.scores.analogy.overall, self.scores.clusters
        found = {"analogy": overall and overall.accuracy, "analogy_coverage": overall and overall.coverage}
        if clusters:
            found |= {"purity": clusters.purity, "outliers": clusters.outliers.accuracy}
        for one in self.scores.similarity:
            found |= {f"similarity_{one.name}": one.spearman, f"similarity_{one.name}_coverage": one.coverage}
        return found
