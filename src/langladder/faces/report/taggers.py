"""What the report tells of taggers: their table, which differences mean something, each tag, confusions, sentences."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from langladder.evaluation.significance import paired_bootstrap
from langladder.evaluation.tagger import TaggedWord, TaggerPage
from langladder.faces.report import numbers
from langladder.faces.report.choosing import choice
from langladder.faces.report.columns import Column, cost_columns, half_width, work_columns
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.labels import chosen_maps, confusion_maps, label_table, paired, ranked
from langladder.faces.report.reliability_plot import reliability_plot
from langladder.faces.report.score_plot import score_plot
from langladder.faces.report.section import Figure, Section, drawn_lines


def loss(page: TaggerPage) -> float:
    """Share of the words that do not get their tag."""
    return 1 - page.scores.accuracy


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Every tagger: which differences mean something, its tags, what it takes for what, its sentences."""
    rungs = inputs.judged_alike(family, TaggerPage)
    if not rungs:
        return
    ceilings = [rung.page.bayes_accuracy for rung in rungs if rung.page.bayes_accuracy is not None]
    dots = score_plot(
        list(reversed(ranked(rungs, loss))),
        lambda page: (page.scores.accuracy, page.scores.accuracy_interval),
        "taggers",
        "accuracy on the test words",
        best=max(ceilings, default=None),
        line="Bayes accuracy",
    )
    maps = confusion_maps(rungs, lambda page: (page.confusion, page.labels), loss, "What is taken for what by")
    reliability = reliability_plot(rungs, lambda page: page.reliability, loss, "reliability-tags")
    bracketed = [rung for rung in rungs if rung.page.entities]
    context = {
        "dots": dots and Figure(Markup(dots)),
        "paired": paired(rungs, _right, lambda page: 1 - loss(page), paired_bootstrap),
        "tags": label_table(rungs, lambda page: page.per_label, loss),
        "kinds": label_table(bracketed, lambda page: page.entities, loss) if bracketed else None,
        "reliability": reliability and drawn_lines(reliability),
        "maps": maps,
        "mapped": chosen_maps(rungs, maps, loss),
        "sequences": [(rung, [list(map(_word(rung.page), words)) for words in rung.page.shown]) for rung in rungs],
        "sentences": choice(rungs, loss, 1, most=2),
    }
    yield Section("tags", "Tags", "taggers.html.j2", context)


def _right(page: TaggerPage) -> np.ndarray:
    return np.array(page.right)


def _word(page: TaggerPage) -> Any:
    hues = {label: round(360 * place / len(page.labels)) for place, label in enumerate(page.labels)}

    def told(word: TaggedWord) -> dict[str, Any]:
        return {
            "word": word.word,
            "said": word.said,
            "tag": word.tag,
            "wrong": word.tag != word.said,
            "hue": hues.get(word.said, 0),
            "sure": numbers.share(word.probability),
            "unknown": word.unknown,
        }

    return told


ACCURACY: tuple[Column[TaggerPage], ...] = (
    Column(
        "accuracy",
        "share of the test words that get their tag",
        lambda page, _: 100 * page.scores.accuracy,
        numbers.decimals(2),
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "±",
        "half the width of its 95 % interval, by drawing test sentences anew (bootstrap); not over seeds",
        lambda page, _: half_width(page.scores.accuracy_interval),
        numbers.decimals(2),
        None,
        brief=True,
    ),
    Column(
        "Bayes",
        "what the best possible tagger reaches under the grammar that drew the sentences",
        lambda page, _: None if page.bayes_accuracy is None else 100 * page.bayes_accuracy,
        numbers.decimals(2),
        None,
        brief=True,
    ),
    Column(
        "unknown words",
        "accuracy on words that the training text lacks",
        lambda page, _: page.scores.unknown_accuracy,
        numbers.share,
        "higher",
        brief=True,
        compared=True,
    ),
    Column("macro-F₁", "mean F₁ over the tags", lambda page, _: page.scores.macro_f1, numbers.share, "higher"),
    Column(
        "sentences",
        "share of the sentences whose words all get their tag",
        lambda page, _: page.scores.sentences_right,
        numbers.share,
        "higher",
    ),
)
ENTITIES: tuple[Column[TaggerPage], ...] = (
    Column(
        "entity F₁",
        "F₁ of whole phrases, by seqeval",
        lambda page, _: page.scores.entity_f1,
        numbers.share,
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "F₁ ±",
        "half the width of the entity F₁'s 95 % interval, by drawing test sentences anew (bootstrap); not over seeds",
        lambda page, _: half_width(page.scores.entity_interval),
        numbers.decimals(1),
        None,
        brief=True,
    ),
    Column(
        "invalid",
        "sentences whose tags break their scheme (IOB2, IOBES)",
        lambda page, _: page.scores.invalid_sequences,
        numbers.whole,
        "lower",
    ),
)
REST: tuple[Column[TaggerPage], ...] = (
    Column(
        "cross-entropy",
        "nats per word, of the tag's probability given the whole sentence",
        lambda page, _: page.scores.cross_entropy,
        numbers.decimals(3),
        "lower",
    ),
    Column(
        "ECE",
        "expected calibration error: how far the probability of what is said lies from the share that is right",
        lambda page, _: page.scores.calibration_error,
        numbers.decimals(3),
        "lower",
    ),
    Column("parameters", "numbers of the model", lambda page, _: page.parameters, numbers.compact, "lower", brief=True),
    *work_columns("word"),
    *cost_columns("words"),
)


def columns(pages: Sequence[TaggerPage]) -> tuple[Column[TaggerPage], ...]:
    """The columns; of phrases where the tags bracket some, the ceiling where the grammar is known."""
    bracketed = any(page.scores.entity_f1 is not None for page in pages)
    ceiling = any(page.bayes_accuracy is not None for page in pages)
    first = tuple(column for column in ACCURACY if ceiling or column.title != "Bayes")
    return (*first, *(ENTITIES if bracketed else ()), *REST)
