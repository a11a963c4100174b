"""What rungs said of the test items, in the report: a table a family, to be filtered by rung, and by right and wrong.

The page has a part of each rung's rows: what it got wrong, the surest mistakes first, and some that are right; of a
language model the lines with the highest loss. The whole tables stand beside the pages, as Parquet and CSV.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from langladder.evaluation.predictions import Prediction
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.section import Section

WRONG, RIGHT = 24, 12  # rows of a rung
LONGEST = 300  # characters of a text


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        around: what a word stands in, or the end of a question's paragraph; "" of others.
    """

    rung: str
    title: str
    prediction: Prediction
    around: str


@dataclass(frozen=True)
class Table:
    """The rows of a kind of rung; `by_loss` where nothing is right or wrong."""

    name: str
    title: str
    side: str
    rows: list[Row]
    by_loss: bool
    total: int


def sections(inputs: ReportInputs) -> Iterable[Section]:
    """One, of every family that has predictions."""
    tables = [
        table for family, rungs in inputs.kinds if (table := _table(rungs, family.name, family.title, family.side))
    ]
    if tables:
        yield Section("predictions", "Predictions for the test items", "predictions.html.j2", {"tables": tables})


def _table(rungs: Sequence[Entry[Any]], family: str, title: str, side: str) -> Table | None:
    rungs = [rung for rung in rungs if rung.predictions]
    if not rungs:
        return None
    rows = [row for rung in rungs for row in _rows(rung)]
    by_loss = all(row.prediction.right is None for row in rows)
    return Table(family, title, side, rows, by_loss, len(rungs[0].predictions))


def _rows(rung: Entry[object]) -> Iterator[Row]:  # type: ignore[type-var]
    """Those that the page has of a rung."""
    around = dict(_around(rung.predictions))
    for prediction in chosen(rung.predictions):
        yield Row(
            rung.name,
            rung.title,
            prediction._replace(text=cut(prediction.text)),
            cut(prediction.context or around[prediction.item]),
        )


def chosen(rows: Sequence[Prediction]) -> list[Prediction]:
    """Mistakes, the surest first, and the least sure that is right; of a language model the highest losses."""
    if all(row.right is None for row in rows):
        return sorted(rows, key=lambda row: -(row.loss if row.loss is not None else math.inf))[:WRONG]
    wrong = sorted((row for row in rows if not row.right), key=lambda prediction: -(prediction.probability or 0.0))[
        :WRONG
    ]
    right = sorted((row for row in rows if row.right), key=lambda prediction: prediction.probability or 0.0)[:RIGHT]
    return [*wrong, *right]


def _around(rows: Sequence[Prediction]) -> Iterator[tuple[int, str]]:
    """Item → the sentence of its words, where it has several."""
    for item, group in groupby(rows, attrgetter("item")):
        words = [row.text for row in group]
        yield item, " ".join(words) if len(words) > 1 else ""


def cut(text: str, longest: int = LONGEST) -> str:
    """At most so many characters of a text."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
