"""What the report tells of taggers: their table, which differences mean something, tags by rung, confusions, sentences."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from langladder.evaluation.paired import holm, paired_bootstrap, pairs
from langladder.evaluation.tagging_page import TaggedWord, TaggerPage
from langladder.reporting import numbers
from langladder.reporting.choosing import choice
from langladder.reporting.columns import Column, cost_columns
from langladder.reporting.entries import Entry
from langladder.reporting.inputs import ReportInputs
from langladder.reporting.section import Section

MOST_TAGS = 30  # of a confusion matrix that can be read
MOST_COMPARED = 12  # rungs, the best ones, that are compared two by two
BESIDE = 6  # rungs side by side at first

Rungs = Sequence[Entry[TaggerPage]]


def loss(page: TaggerPage) -> float:
    """Share of the words that do not get their tag."""
    return 1 - page.scores.accuracy


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Every tagger: its tags, what it takes for what, its sentences; and which differences between them mean something."""
    rungs = inputs.judged_alike(family, TaggerPage)
    if not rungs:
        return
    best = min(rungs, key=lambda rung: loss(rung.page))
    context = {
        "rungs": rungs,
        "compared": compared(rungs),
        "by_tag": _by_label([(rung, rung.page.per_label) for rung in rungs]),
        "by_entity": _by_label([(rung, rung.page.entities) for rung in rungs if rung.page.entities]),
        "confused": {"title": best.title, "rows": confused(best.page), "labels": best.page.labels},
        "sequences": [(rung, [list(map(_word(rung.page), words)) for words in rung.page.shown]) for rung in rungs],
        "chosen": choice(rungs, loss, BESIDE),
        "sentences": choice(rungs, loss, 1, most=2),
    }
    yield Section("tags", "Tags", "taggers.html.j2", context)


def compared(rungs: Rungs) -> list[dict[str, Any]]:
    """Every two rungs, the better one first: how many points of accuracy lie between them, and p by the bootstrap."""
    ranked = sorted(rungs, key=lambda rung: loss(rung.page))[:MOST_COMPARED]
    known = {rung.name: rung for rung in ranked if rung.page.right}
    tests = {
        pair: paired_bootstrap(*(np.array(known[name].page.right) for name in pair))
        for pair in pairs(list(known))
        if len({len(known[name].page.right) for name in pair}) == 1
    }
    kept = holm(tests)
    return [
        {
            "better": known[pair[0]].title,
            "worse": known[pair[1]].title,
            "points": numbers.decimals(2)(100 * (loss(known[pair[1]].page) - loss(known[pair[0]].page))),
            "p": numbers.decimals(4)(p),
            "sure": pair in kept,
        }
        for pair, p in tests.items()
    ]


def confused(page: TaggerPage) -> list[dict[str, Any]]:
    """The rows of the confusion matrix, shaded by their share of the row's mistakes; none of too large a tag set."""
    if len(page.labels) > MOST_TAGS:
        return []
    found = []
    for place, (label, row) in enumerate(zip(page.labels, page.confusion, strict=True)):
        most = max([count for column, count in enumerate(row) if column != place] or [0])
        cells = [
            {"count": count, "right": column == place, "shade": 0 if column == place else round(60 * count / max(1, most))}
            for column, count in enumerate(row)
        ]
        if any(row):
            found.append({"label": label, "cells": cells})
    return found


def _by_label(scored: Sequence[tuple[Entry[TaggerPage], Sequence[Any]]]) -> dict[str, Any]:
    """F₁ of every label by rung, the most frequent label first."""
    support = {score.label: score.support for _, scores in scored for score in scores if score.support}
    f1 = [{score.label: score.f1 for score in scores} for _, scores in scored]
    rows = [
        (label, numbers.whole(support[label]), [numbers.share(found.get(label, 0.0)) for found in f1])
        for label in sorted(support, key=lambda label: (-support[label], label))
    ]
    return {"rungs": [(rung.name, rung.title) for rung, _ in scored], "rows": rows}


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


def _half(interval: tuple[float, float] | None) -> float | None:
    return None if interval is None else 100 * (interval[1] - interval[0]) / 2


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
        lambda page, _: _half(page.scores.accuracy_interval),
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
    *cost_columns("words"),
)


def columns(pages: Sequence[TaggerPage]) -> tuple[Column[TaggerPage], ...]:
    """The columns; of phrases where the tags bracket some, the ceiling where the grammar is known."""
    bracketed = any(page.scores.entity_f1 is not None for page in pages)
    ceiling = any(page.bayes_accuracy is not None for page in pages)
    first = tuple(column for column in ACCURACY if ceiling or column.title != "Bayes")
    return (*first, *(ENTITIES if bracketed else ()), *REST)
