"""Sections of the page and columns of its tables, and how a family's module makes them (`Family.report_module`).

Any of the module's functions may be missing: without `columns` the table shows the metrics that the family's page
declares, without `sections` nothing stands beside it.

    columns(pages)          the columns of its table, for these rungs
    loss(page)              by which a rung is better the lower it is; None where nothing was measured
    headline(inputs, name)  what is best, and which rung it is: a sentence at the head of the explorer's ladder
    pictures(inputs, name)  drawings above the tables
    sections(inputs, name)  its part of the report: sections that have something to show
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import pairwise
from typing import Any, Generic, Literal, TypeVar

from markupsafe import Markup

from langladder.evaluation.page import LAST, TEST, Declared, Metric, Page, declared
from langladder.faces.report import numbers
from langladder.faces.report.inputs import ReportInputs, Timing
from langladder.faces.report.plots import BROAD, NARROW, LinePlot
from langladder.faces.report.selection import Choice
from langladder.families.family import AnyFamily

P = TypeVar("P", bound=Page)


@dataclass(frozen=True)
class Picture:
    """A drawing with what stands below it, and over it; the rungs to choose from, where it is a line plot.

    Attributes:
        finding: what its figures say, in a sentence or a few. narrow: the drawing for narrow screens.
    """

    svg: Markup
    caption: str = ""
    heading: str = ""
    choice: Choice | None = None
    finding: str = ""
    narrow: str = ""


def in_two_widths(draw: Callable[..., str | None]) -> Picture:
    """What `draw` draws for each `kind`, broad and narrow."""
    broad, narrow = (Markup(draw(kind=kind) or "") for kind in (BROAD, NARROW))
    return Picture(broad, narrow=narrow)


def drawn_lines(plot: LinePlot, heading: str = "", caption: str = "", finding: str = "") -> Picture:
    """A line plot as a figure of the page."""
    return Picture(Markup(plot.svg), caption, heading, plot.choice, finding, Markup(plot.narrow))


@dataclass(frozen=True)
class RungPictures:
    """The drawings of one rung."""

    name: str
    title: str
    figures: list[Picture]


@dataclass(frozen=True)
class Section:
    """A section with something to show.

    Attributes:
        id: its anchor; title: its heading, and its line in the contents.
        template: a file of faces/report/templates/; context: what it shows, by the names that it uses.
    """

    id: str
    title: str
    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Column(Generic[P]):
    """One measure: `read(page, timing)` gives the number or `None`; the rest as in `Metric`.

    Attributes:
        margin: what the number may be off for the seeds that it was trained with, where no column beside it says so.
        interval: whether it is half the interval of another.
    """

    title: str
    explanation: str
    read: Callable[[P, Timing], float | None]
    show: numbers.Style
    better: Literal["lower", "higher"] | None
    brief: bool = False
    compared: bool = False
    margin: Callable[[P], float | None] | None = None
    interval: bool = False


def page_columns(pages: Sequence[P], metrics: Sequence[Declared] | None = None) -> list[Column[P]]:
    """What the pages of a family declare, then what training cost on the machine that trained.

    Args:
        metrics: those to show, if not all.
    """
    if not pages:
        return []
    kind = type(pages[0])
    metrics = declared(kind) if metrics is None else metrics
    covered = _with_intervals(metrics)
    waiting = [column for columns in metrics for column in _columns(columns, pages, alone=columns not in covered)]
    placed = [column for column, after in waiting if not after]
    placed += [column for column, after in waiting if after == LAST]
    waiting = [(column, after) for column, after in waiting if after not in ("", LAST)]
    while waiting:
        titles = [column.title for column in placed]
        column, after = next((entry for entry in waiting if entry[1] in titles), waiting[0])
        placed.insert(titles.index(after) + 1 if after in titles else len(placed), column)
        waiting.remove((column, after))
    return [*(_per_unit(entry, pages) for entry in placed), *_cost_columns(kind.trained_on)]


def _per_unit(column: Column[P], pages: Sequence[P]) -> Column[P]:
    """The column, with graphemes in its title where what is called words are graphemes in the text of a page."""
    title = column.title.replace("perplexity per word", "perplexity per grapheme")
    if title == column.title or all(page.text_unit == "word" for page in pages):
        return column
    return replace(column, title=title)


def _with_intervals(metrics: Sequence[Declared]) -> list[Declared]:
    """The metrics beside which a column shows their interval: that behind them, or that which follows their title."""
    columns = []
    for before, metric in pairwise(metrics):
        if metric.interval:
            named = [other for other in metrics if metric.metric.after and other.metric.title == metric.metric.after]
            columns += named or [before]
    return columns


def _columns(entry: Declared, pages: Sequence[P], *, alone: bool) -> Iterator[tuple[Column[P], str]]:
    """The columns of a metric, each with the title that it follows.

    Args:
        alone: no column beside it has its interval: then what it may be off for its seeds stands with it.
    """
    metrics: dict[str, Metric] = {TEST if entry.each == "split" else "": entry.metric} | dict(entry.metric.splits)
    if entry.each == "name":
        metrics = {key: entry.metric for page in pages for key in entry.keys(page)}
    for key, metric in metrics.items():
        if metric.sentence:
            words = {"position": type(pages[0]).position, "name": key}
            title, sentence = metric.title.format(**words), metric.sentence.format(**words)
            named = replace(metric, title=title, sentence=sentence)
            yield _column(named, entry, key, alone=alone), metric.after


def _column(metric: Metric, entry: Declared, key: str, *, alone: bool) -> Column[Any]:
    name = entry.logged_as(key)
    return Column(
        metric.title,
        metric.sentence,
        lambda page, _: entry.read(page, key),
        numbers.style_of(metric),
        metric.better,
        metric.brief,
        metric.compared,
        (lambda page: page.spread.get(name)) if alone and metric.compared else None,
        entry.interval,
    )


def _cost_columns(unit: str) -> tuple[Column[Any], ...]:
    """`unit` is what training reads: tokens or words; none: there are no such columns."""
    if not unit:
        return ()
    return (
        Column(
            f"{unit} trained on",
            f"{unit} that training has read, repeats counted",
            lambda _, cost: cost.tokens,
            numbers.compact,
            None,
        ),
        Column(
            f"{unit}/s",
            f"training {unit} per second",
            lambda _, cost: cost.tokens_per_second,
            numbers.compact,
            "higher",
            brief=True,
        ),
        Column(
            "time",
            "training by the clock; sentences compare the processor time, which other jobs change less",
            lambda _, cost: cost.seconds,
            numbers.seconds,
            "lower",
            brief=True,
        ),
        Column(
            "memory",
            "peak memory of the training process",
            lambda _, cost: cost.peak_memory_bytes,
            numbers.memory,
            "lower",
        ),
    )


def family_columns(family: AnyFamily, pages: Sequence[Page]) -> Sequence[Column[Any]]:
    """The columns of its table, for these rungs."""
    if not family.report_module or not pages:
        return ()
    function = _function(family, "columns")
    return page_columns(pages) if function is None else function(pages)


def family_loss(family: AnyFamily, page: Page) -> float | None:
    """By which a rung is better the lower it is; None where nothing was measured."""
    function = _function(family, "loss")
    return None if function is None else function(page)


def family_headline(family: AnyFamily, inputs: ReportInputs) -> tuple[str, str] | None:
    """What is best, and which rung it is."""
    function = _function(family, "headline")
    return None if function is None else function(inputs, family.name)


def family_pictures(family: AnyFamily, inputs: ReportInputs) -> Iterable[Picture]:
    """Drawings above the tables."""
    function = _function(family, "pictures")
    return () if function is None else function(inputs, family.name)


def family_sections(family: AnyFamily, inputs: ReportInputs) -> Iterable[Section]:
    """Its part of the report."""
    function = _function(family, "sections")
    return () if function is None else function(inputs, family.name)


def _function(family: AnyFamily, name: str) -> Callable[..., Any] | None:
    return getattr(import_module(family.report_module), name, None) if family.report_module else None
