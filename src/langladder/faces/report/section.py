"""Sections of the page, and how a family's module makes them (`Family.report_module`).

Any of the module's functions may be missing: without `columns` the table shows the metrics that the family's page
declares, without `sections` nothing stands beside it.

    columns(pages)          the columns of its table, for these rungs
    loss(page)              by which a rung is better the lower it is; None where nothing was measured
    headline(inputs, name)  a sentence at the head of the report: what is best, and which rung it is
    picture(inputs, name)   a drawing above the tables
    sections(inputs, name)  its part of the report: sections that have something to show
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from markupsafe import Markup

from langladder.evaluation.page import Page
from langladder.faces.report.columns import Column, page_columns
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.plots import LinePlot
from langladder.faces.report.selection import Choice
from langladder.families.family import Family


@dataclass(frozen=True)
class Picture:
    """A drawing with what stands below it, and over it; the rungs to choose from, where it is a line plot."""

    svg: Markup
    caption: str = ""
    heading: str = ""
    choice: Choice | None = None


def drawn_lines(plot: LinePlot, heading: str = "") -> Picture:
    """A line plot as a figure of the page."""
    return Picture(Markup(plot.svg), heading=heading, choice=plot.choice)


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


def family_columns(family: Family, pages: Sequence[Page]) -> Sequence[Column[Any]]:
    """The columns of its table, for these rungs."""
    if not family.report_module or not pages:
        return ()
    function = _function(family, "columns")
    return page_columns(pages) if function is None else function(pages)


def family_loss(family: Family, page: Page) -> float | None:
    """By which a rung is better the lower it is; None where nothing was measured."""
    function = _function(family, "loss")
    return None if function is None else function(page)


def family_headline(family: Family, inputs: ReportInputs) -> tuple[str, str] | None:
    """What is best, and which rung it is."""
    function = _function(family, "headline")
    return None if function is None else function(inputs, family.name)


def family_picture(family: Family, inputs: ReportInputs) -> Picture | None:
    """A drawing above the tables."""
    function = _function(family, "picture")
    return None if function is None else function(inputs, family.name)


def family_sections(family: Family, inputs: ReportInputs) -> Iterable[Section]:
    """Its part of the report."""
    function = _function(family, "sections")
    return () if function is None else function(inputs, family.name)


def _function(family: Family, name: str) -> Callable[..., Any] | None:
    return getattr(import_module(family.report_module), name, None) if family.report_module else None
