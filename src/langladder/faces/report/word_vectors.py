"""What the report tells of word vectors: their table, what lies near what, maps."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from langladder.evaluation.analogy import Analogies, AnalogyFigure
from langladder.evaluation.word_vectors import WordVectorsPage
from langladder.faces.report import numbers, plots
from langladder.faces.report.choosing import BESIDE, COLOURED, choice
from langladder.faces.report.columns import Column, cost_columns
from langladder.faces.report.entries import Entry, Timing
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.section import Figure, RungFigures, Section
from langladder.faces.report.views import Aligned, aligned

BRIEF_SETS = 2  # similarity sets, of however many there are

WordVectorRungs = Sequence[Entry[WordVectorsPage]]


def loss(page: WordVectorsPage) -> float | None:
    """Wrong analogies; where there are none, what similarity lacks."""
    analogy = page.scores.analogy
    if analogy is not None and analogy.overall.accuracy is not None:
        return 1 - analogy.overall.accuracy
    return next((1 - found.spearman for found in page.scores.similarity if found.spearman is not None), None)


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Neighbours, with the analogies by section; maps."""
    rungs = inputs.judged_alike(family, WordVectorsPage)
    near = [rung for rung in rungs if rung.page.neighbours]
    asked = [rung for rung in rungs if rung.page.scores.analogy and rung.page.scores.analogy.sections]
    if near or asked:
        context = {
            "neighbours": aligned(near, lambda page: ((found.word, found) for found in page.neighbours)),
            "near": choice(near, loss, BESIDE),
            "sections": analogy_sections(asked),
            "asked": choice(asked, loss, COLOURED),
        }
        yield Section("neighbours", "Nearest neighbours", "neighbours.html.j2", context)
    if drawn := list(maps(rungs)):
        mapped = [rung for rung in rungs if rung.name in {found.name for found in drawn}]
        context = {"maps": drawn, "mapped": choice(mapped, loss, 1, most=2)}
        yield Section("map", "Maps of the word vectors", "map.html.j2", context)


def maps(rungs: WordVectorRungs) -> Iterable[RungFigures]:
    """The map of each rung that has one."""
    for i, rung in enumerate(rungs):
        if svg := plots.map_plot(rung.page.map, rung.title, f"map-{i}"):
            yield RungFigures(rung.name, rung.title, [Figure(Markup(svg))])


def analogy_sections(rungs: WordVectorRungs) -> Aligned[str, str]:
    """A row a section: accuracy, and how many of its questions were answered where that is not all."""

    def shown(page: WordVectorsPage) -> Iterable[tuple[str, str]]:
        for section in page.scores.analogy.sections if page.scores.analogy else ():
            text = numbers.DASH if section.accuracy is None else numbers.share(section.accuracy)
            few = "" if section.answered == section.questions else f" ({section.answered:,} of {section.questions:,})"
            yield section.name, text + few

    return aligned(rungs, shown)


def columns(pages: Sequence[WordVectorsPage]) -> tuple[Column[WordVectorsPage], ...]:
    """The word-vector columns: one a similarity set, in the order in which the rungs first name them."""
    sets = dict.fromkeys(scored.name for page in pages for scored in page.scores.similarity)
    return (
        Column(
            "analogies",
            "share of answered questions a : b = c : ? whose nearest word is the right one (3CosAdd, question words "
            "left out)",
            lambda page, _: page.scores.analogy.overall.accuracy if page.scores.analogy else None,
            numbers.share,
            "higher",
            brief=True,
            compared=True,
        ),
        Column(
            "±",
            "half the width of the analogies' 95 % interval, by drawing questions anew (bootstrap); not over seeds",
            lambda page, _: _half_width(page.scores.analogy),
            numbers.share,
            None,
            brief=True,
        ),
        Column(
            "3CosMul",
            "the same questions, similarities multiplied and divided instead of added and taken away",
            lambda page, _: _cosmul(page.scores.analogy),
            numbers.share,
            "higher",
        ),
        Column(
            "answered",
            "share of the analogy questions whose four words all have a vector",
            lambda page, _: page.scores.analogy.overall.coverage if page.scores.analogy else None,
            numbers.share,
            "higher",
        ),
        *(_half_column(half) for half in ("semantic", "syntactic") if any(_half(page, half) for page in pages)),
        *(_similarity_column(name, place) for place, name in enumerate(sets)),
        *_cluster_columns(pages),
        Column("dimension", "numbers per word", lambda page, _: page.dimension, numbers.whole, None, compared=True),
        Column(
            "bytes per word",
            "what a word's vector takes: 4 per number, where most are zero 8 for each that is not",
            lambda page, _: page.bytes_per_word,
            numbers.compact,
            "lower",
        ),
        Column("words", "words with a vector", lambda page, _: page.vocabulary, numbers.whole, None),
        *cost_columns("words"),
    )


def _half_width(analogy: Analogies | None) -> float | None:
    interval = analogy.overall.interval if analogy else None
    return (interval[1] - interval[0]) / 2 if interval else None


def _cosmul(analogy: Analogies | None) -> float | None:
    return analogy.cosmul.overall.accuracy if analogy and analogy.cosmul else None


def _cluster_columns(pages: Sequence[WordVectorsPage]) -> list[Column[WordVectorsPage]]:
    if not any(page.scores.clusters for page in pages):
        return []
    return [
        Column(
            "purity",
            "share of words in a cluster (k-means) where their own group is the commonest",
            lambda page, _: page.scores.clusters.purity if page.scores.clusters else None,
            numbers.share,
            "higher",
        ),
        Column(
            "outliers",
            "share of word sets whose odd one out is found",
            lambda page, _: page.scores.clusters.outliers.accuracy if page.scores.clusters else None,
            numbers.share,
            "higher",
        ),
    ]


def _half(page: WordVectorsPage, name: str) -> AnalogyFigure | None:
    half: AnalogyFigure | None = getattr(page.scores.analogy, name, None)
    return half


def _half_column(name: str) -> Column[WordVectorsPage]:
    def read(page: WordVectorsPage, _: Timing) -> float | None:
        figure = _half(page, name)
        return figure.accuracy if figure else None

    return Column(name, f"analogies, the {name} questions only", read, numbers.share, "higher", brief=True)


def _similarity_column(name: str, place: int) -> Column[WordVectorsPage]:
    def read(page: WordVectorsPage, _: Timing) -> float | None:
        return next((scored.spearman for scored in page.scores.similarity if scored.name == name), None)

    explanation = f"Spearman's rank correlation of cosines with the judgements of {name}, −1 to 1"
    return Column(f"ρ {name}", explanation, read, numbers.decimals(3), "higher", place < BRIEF_SETS, place == 0)
