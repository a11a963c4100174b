"""The columns of the ladder's tables: the metrics that a family's page declares, then what training cost."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from langladder.evaluation.metrics import LAST, TEST, Declared, Metric, declared
from langladder.evaluation.page import Page
from langladder.faces.report import numbers
from langladder.faces.report.inputs import Timing

P = TypeVar("P", bound=Page)


@dataclass(frozen=True)
class Column(Generic[P]):
    """One measure: `read(page, timing)` gives the number or `None`; the rest as in `Metric`."""

    title: str
    explanation: str
    read: Callable[[P, Timing], float | None]
    show: numbers.Style
    better: Literal["lower", "higher"] | None
    brief: bool = False
    compared: bool = False


def page_columns(pages: Sequence[P]) -> list[Column[P]]:
    """What the pages of a family declare, then what training cost on the machine that trained."""
    if not pages:
        return []
    kind = type(pages[0])
    waiting = [found for one in declared(kind) for found in _columns(one, pages)]
    placed = [column for column, after in waiting if not after]
    placed += [column for column, after in waiting if after == LAST]
    waiting = [(column, after) for column, after in waiting if after not in ("", LAST)]
    while waiting:
        titles = [column.title for column in placed]
        column, after = next((one for one in waiting if one[1] in titles), waiting[0])
        placed.insert(titles.index(after) + 1 if after in titles else len(placed), column)
        waiting.remove((column, after))
    return [*placed, *_cost_columns(kind.trained_on)]


def _columns(one: Declared, pages: Sequence[P]) -> Iterator[tuple[Column[P], str]]:
    """The columns of a metric, each with the title that it follows."""
    shown: dict[str, Metric] = {TEST if one.each == "split" else "": one.metric} | dict(one.metric.splits)
    if one.each == "name":
        shown = {key: one.metric for page in pages for key in one.keys(page)}
    for key, metric in shown.items():
        if metric.sentence:
            words = {"position": type(pages[0]).position, "name": key}
            title, sentence = metric.title.format(**words), metric.sentence.format(**words)
            yield _column(replace(metric, title=title, sentence=sentence), one, key), metric.after


def _column(metric: Metric, one: Declared, key: str) -> Column[Any]:
    return Column(
        metric.title,
        metric.sentence,
        lambda page, _: one.read(page, key),
        numbers.style_of(metric),
        metric.better,
        metric.brief,
        metric.compared,
    )


def _cost_columns(unit: str) -> tuple[Column[Any], ...]:
    """`unit` is what training reads: tokens or words; none: there are no such columns."""
    if not unit:
        return ()
    return (
        Column(
            f"{unit}/s",
            f"training {unit} taken in a second",
            lambda _, cost: cost.tokens_per_second,
            numbers.compact,
            "higher",
            brief=True,
        ),
        Column(
            "time", "wall-clock time of training", lambda _, cost: cost.seconds, numbers.seconds, "lower", brief=True
        ),
        Column(
            "memory",
            "peak memory of the training process",
            lambda _, cost: cost.peak_memory_bytes,
            numbers.memory,
            "lower",
        ),
    )
