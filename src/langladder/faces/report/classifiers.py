"""Classifiers in the report: which differences mean something, single decisions and where they come from.

Words with their weights are marks of the page: blue speaks for the label, red against it, the fuller the more. Colour
does not carry the sign alone: a straight line stands under what speaks for the label, a wavy one under what speaks
against it, and the number is shown under the mouse.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import NamedTuple
from unicodedata import category

from markupsafe import Markup

from langladder.evaluation.classifier import ClassifierPage, Decision, Filter
from langladder.faces.report import numbers
from langladder.faces.report.bidi import isolated, plain
from langladder.faces.report.graphs import draw_tree, legend
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.items import Calibration, Judging, Scores, judged_section
from langladder.faces.report.labels import confusion_maps, label_explanation, label_rows
from langladder.faces.report.plots import score_plot
from langladder.faces.report.section import Picture, Section, in_two_widths, page_columns
from langladder.faces.report.selection import BESIDE, Loss, aligned, choice
from langladder.faces.report.steps import ladder_steps
from langladder.text.tokenize.specials import RESERVED
from langladder.text.words.segmentation import has_unspaced_script

WEIGHED = 8  # texts that rungs label side by side

MISTAKES = 6  # of each rung

TREES = 4  # of each rung that reads trees

MAX_TREES = 24  # of all rungs together

COLOURS = 4  # of colour; what has less than half of the first is plain

_SPACES = "▁ "  # of tokens that bring their own

CERTAIN = 0.9995  # below this accuracy the best guess makes mistakes

SEPARATOR = "‖"  # between the two texts of a pair

Classifiers = Sequence[Entry[ClassifierPage]]


def loss(page: ClassifierPage) -> float:
    """The share of the test texts that is wrong."""
    return 1 - page.scores.accuracy


def headline(inputs: ReportInputs, family: str) -> tuple[str, str] | None:
    """Which classifier is best, and with how much."""
    rungs = [rung for rung in inputs.rungs_with(family, ClassifierPage) if rung.page.is_sound]
    if not rungs:
        return None
    best = min(rungs, key=lambda rung: loss(rung.page))
    text = f"{best.title_with_given}, which labels {numbers.share(best.page.scores.accuracy)} of the test texts right"
    if best.page.below_best is not None:
        below = 100 * best.page.below_best
        where = f"{abs(below):.1f} points {'below' if below >= 0 else 'above'}"
        text += f", {where} the best possible"
    return "Best classifier on these texts", text


def pictures(inputs: ReportInputs, family: str) -> Iterable[Picture]:
    """The accuracy of each rung with its interval."""
    rungs = inputs.rungs_with(family, ClassifierPage)
    if not rungs:
        return []
    best = next((rung.page.bayes_accuracy for rung in rungs if rung.page.bayes_accuracy is not None), None)
    draw = partial(
        score_plot,
        rungs,
        lambda page: (page.scores.accuracy, page.scores.accuracy_interval),
        "accuracy",
        "accuracy of the classifiers on the test texts (higher is better)",
        best=best,
        line="best possible",
    )
    caption = "Accuracy of each classifier with its 95 % interval. The oldest rung is at the bottom."
    if best is not None:
        caption += " The dashed line is the Bayes accuracy, the best that any classifier can reach on average."
    finding = ladder_steps(rungs, page_columns([rung.page for rung in rungs]))
    return [replace(in_two_widths(draw), caption=caption, finding=finding)]


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Which differences mean something, label by label, how sure; then text by text and rung by rung."""
    rungs = inputs.rungs_with(family, ClassifierPage)
    if not rungs:
        return
    yield judged_section(rungs, JUDGING)
    weighed = [rung for rung in rungs if any(example.weights for example in rung.page.shown)]
    context: dict[str, object] = {
        "texts": aligned(
            weighed,
            lambda page: (((example.text, example.second, example.label), seen(example)) for example in page.shown),
        ),
        "weighed": choice(weighed, loss, BESIDE),
        "shown": WEIGHED,
        "rungs": inside(rungs, loss),
        "one": choice(rungs, loss, 1, most=2),
    }
    yield Section("decisions", "What the classifiers decide, and why", "decisions.html.j2", context)


def _opening(rungs: Classifiers) -> str:
    """What the best possible classifier reaches, where the corpus knows it."""
    best = next((rung.page for rung in rungs if rung.page.bayes_accuracy is not None), None)
    if best is None or best.bayes_accuracy is None:
        return ""
    entropy = best.bayes_cross_entropy
    text = f"The best possible classifier would get {numbers.share(best.bayes_accuracy)} of these labels right"
    text += "." if entropy is None else f", with a cross-entropy of {numbers.decimals(3)(entropy)} nats per text."
    if best.bayes_accuracy < CERTAIN:
        text += (
            " The grammar that generated the texts does not determine the rest. No classifier can do better on "
            "average; on this many texts one may do so by luck."
        )
    return text


JUDGING = Judging[ClassifierPage](
    id="classifiers",
    title="Classifiers compared",
    items="test texts",
    score=lambda page: page.scores.accuracy,
    interval=lambda page: page.scores.accuracy_interval,
    tables=[Scores("Label by label", "label", lambda page: label_rows(page.per_label), label_explanation("label"))],
    opening=_opening,
    calibration=Calibration(lambda page: page.reliability, "right answers", "its answer", "texts"),
    answered=lambda page: page.coverage,
)


ClassifierRungs = Sequence[Entry[ClassifierPage]]


@dataclass(frozen=True)
class WordMark:
    """A word of a text: its weight as shown, and its class on the page; both empty where it hardly counts.

    `after` is what stands behind it: a space, or nothing where the text goes on at once (Chinese, Thai).
    """

    text: str
    weight: str = ""
    kind: str = ""
    after: str = " "


@dataclass(frozen=True)
class Seen:
    """A text as one rung read it: what it said, how surely, its words with their weights and attention."""

    label: str
    said: str
    probability: float
    words: list[WordMark]
    attention: list[WordMark]


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
    maps: list[Picture]
    mistakes: list[tuple[str, Seen]]
    trees: list[Picture]
    legend: dict[str, tuple[str, str]]
    filters: list[tuple[str, list[Filter]]]


def seen(decision: Decision) -> Seen:
    """A decision as the page shows it; words without weights where the classifier cannot tell them."""
    pieces = (
        decision.pieces
        if decision.weights
        else [decision.text, *(["<sep>", decision.second] if decision.second is not None else [])]
    )
    words = marked(pieces, decision.weights or [0.0] * len(pieces), decision.text)
    attention = attended(decision.pieces, decision.attention, decision.text) if decision.attention else []
    return Seen(decision.label, decision.said, decision.probability, words, attention)


def inside(rungs: ClassifierRungs, loss: Loss[ClassifierPage]) -> list[Inside]:
    """Every rung that has something to show."""
    maps = {
        drawn.name: drawn
        for drawn in confusion_maps(
            [rung for rung in rungs if rung.page.confusion],  # none of multi-label texts
            lambda page: (page.confusion, page.labels),
            loss,
            "Confusions",
        )
    }
    reading = [rung for rung in rungs if any(example.tree for example in rung.page.shown)]
    each = min(TREES, max(1, MAX_TREES // max(1, len(reading))))
    blocks = []
    for rung in rungs:
        page = rung.page
        trees = list(_trees(page, rung.title, each))
        blocks.append(
            Inside(
                rung.name,
                rung.title,
                maps[rung.name].figures if rung.name in maps else [],
                [(mistake.text, seen(mistake)) for mistake in page.mistakes[:MISTAKES]],
                trees,
                dict(legend(page.labels)) if trees else {},
                [(label, list(own)) for label, own in groupby(page.filters, key=lambda example: example.label)],
            )
        )
    return blocks


def _trees(page: ClassifierPage, title: str, most: int) -> Iterator[Picture]:
    """The first trees that are not too large; a wrong label is told below."""
    drawn = 0
    for example in page.shown:
        svg = draw_tree(example.tree, example.text.split(" "), page.labels, f"{title}: {plain(example.text)}")
        if svg is not None and drawn < most:
            drawn += 1
            predicted = isolated(example.said) + f" ({100 * example.probability:.0f} %)"
            yield Picture(
                Markup(svg),
                predicted if example.said == example.label else predicted + ", really " + isolated(example.label),
            )


def marked(pieces: Sequence[str], weights: Sequence[float], text: str = "") -> list[WordMark]:
    """The words of a text with their weights, the largest of the text in full colour."""
    return list(_marks(_whole_words(pieces, weights, text), ("for", "against")))


def attended(pieces: Sequence[str], weights: Sequence[float], text: str = "") -> list[WordMark]:
    """The words of a text with their attention, which is never below 0."""
    return list(_marks(_whole_words(pieces, weights, text), ("seen", "seen")))


class _Word(NamedTuple):
    """A word of a text as a classifier read it, and what stands behind it: a space, or nothing."""

    text: str
    weight: float
    after: str


def _marks(words: Sequence[_Word], kinds: tuple[str, str]) -> Iterator[WordMark]:
    most = max((abs(word.weight) for word in words), default=0.0)
    for text, weight, after in words:
        level = round(COLOURS * abs(weight) / most) if most > 0 else 0
        kind = kinds[0] if weight > 0 else kinds[1]
        yield (
            WordMark(text, f"{weight:+.2f}".replace("-", "−"), f"{kind}-{level}", after)
            if level
            else WordMark(text, after=after)
        )


def _whole_words(pieces: Sequence[str], weights: Sequence[float], text: str) -> list[_Word]:
    """The pieces of a word together, with the sum of their weights.

    Pieces go together where one follows the other at once in the text, with a letter or digit at both sides, of a
    script that writes spaces between words.
    """
    words: list[_Word] = []
    lowered, end = text.lower(), -1
    for piece, weight in zip(pieces, weights, strict=True):
        bare = piece.strip(_SPACES)
        start = lowered.find(bare.lower(), max(end, 0)) if bare else -1
        follows = start >= 0 and start == end
        word = SEPARATOR if piece == RESERVED[0] else bare or "␣"
        if follows and _is_letter(words[-1].text[-1]) and _is_letter(bare[0]):
            words[-1] = _Word(words[-1].text + bare, words[-1].weight + weight, " ")
        else:
            if follows:
                words[-1] = words[-1]._replace(after="")
            words.append(_Word(word, weight, " "))
        end = start + len(bare) if start >= 0 else end
    return words


def _is_letter(char: str) -> bool:
    """Whether it is a letter, mark or digit of a script that writes spaces between words."""
    return category(char)[0] in "LMN" and not has_unspaced_script(char)
