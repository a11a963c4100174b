"""Single decisions of classifiers: words with their weights, confusions, mistakes, trees, favourite n-grams."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from langladder.evaluation.classifier import ClassifierPage, Decision, Filter
from langladder.faces.report.choosing import Loss
from langladder.faces.report.enclosed import isolated, plain
from langladder.faces.report.entries import Entry
from langladder.faces.report.labels import confusion_maps
from langladder.faces.report.section import Figure
from langladder.faces.report.tree_plot import legend, tree_plot
from langladder.faces.report.word_weights import Mark, attended, marked

WEIGHED = 8  # texts that rungs label side by side
MISTAKES = 6  # of each rung
TREES = 4  # of each rung that reads trees
MAX_TREES = 24  # of all rungs together

Classifiers = Sequence[Entry[ClassifierPage]]


@dataclass(frozen=True)
class Seen:
    """A text as one rung read it: what it said, how surely, its words with their weights and attention."""

    label: str
    said: str
    probability: float
    words: list[Mark]
    attention: list[Mark]


@dataclass(frozen=True)
class Inside:
    """One rung from inside.

    Attributes:
        maps: its confusions, empty where the page has enough of other rungs'.
        trees: drawings; legend: label → sign and colour.
        filters: by label.
    """

    name: str
    title: str
    maps: list[Figure]
    mistakes: list[tuple[str, Seen]]
    trees: list[Figure]
    legend: dict[str, tuple[str, str]]
    filters: list[tuple[str, list[Filter]]]


def seen(one: Decision) -> Seen:
    """A decision as the page shows it; words without weights where the classifier cannot tell them."""
    pieces = one.pieces if one.weights else [one.text, *(["<sep>", one.second] if one.second is not None else [])]
    words = marked(pieces, one.weights or [0.0] * len(pieces), one.text)
    attention = attended(one.pieces, one.attention, one.text) if one.attention else []
    return Seen(one.label, one.said, one.probability, words, attention)


def inside(rungs: Classifiers, loss: Loss) -> list[Inside]:
    """Every rung that has something to show."""
    maps = {
        drawn.name: drawn
        for drawn in confusion_maps(rungs, lambda page: (page.confusion, page.labels), loss, "Confusions")
    }
    reading = [rung for rung in rungs if any(one.tree for one in rung.page.shown)]
    each = min(TREES, max(1, MAX_TREES // max(1, len(reading))))
    found = []
    for rung in rungs:
        page = rung.page
        trees = list(_trees(page, rung.title, each))
        found.append(
            Inside(
                rung.name,
                rung.title,
                maps[rung.name].figures if rung.name in maps else [],
                [(one.text, seen(one)) for one in page.mistakes[:MISTAKES]],
                trees,
                dict(legend(page.labels)) if trees else {},
                [(label, list(own)) for label, own in groupby(page.filters, key=lambda one: one.label)],
            )
        )
    return found


def _trees(page: ClassifierPage, title: str, most: int) -> Iterator[Figure]:
    """The first trees that are not too large; a wrong label is told below."""
    drawn = 0
    for one in page.shown:
        svg = tree_plot(one.tree, one.text.split(" "), page.labels, f"{title}: {plain(one.text)}")
        if svg is not None and drawn < most:
            drawn += 1
            said = isolated(one.said) + f" ({100 * one.probability:.0f} %)"
            yield Figure(Markup(svg), said if one.said == one.label else said + ", really " + isolated(one.label))
