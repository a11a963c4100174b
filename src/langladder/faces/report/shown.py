"""How a family is shown: by the functions of the module that its declaration names (`Family.shown_by`).

Any of them may be missing: a family without `columns` has no table, one without `sections` nothing beside it.

    columns(pages)          the columns of its table, for these rungs
    loss(page)              by which a rung is better the lower it is; None where nothing was measured
    headline(inputs, name)  a sentence at the head of the report: what is best, and which rung it is
    picture(inputs, name)   a drawing above the tables
    sections(inputs, name)  its part of the report: sections that have something to show
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from langladder.faces.report.columns import Column
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.section import Figure, Section
from langladder.families.family import Family


def columns(family: Family, pages: Sequence[Any]) -> Sequence[Column[Any]]:
    """See above."""
    return _call(family, "columns", pages) or ()


def loss(family: Family, page: Any) -> float | None:
    """See above."""
    found: float | None = _call(family, "loss", page)
    return found


def headline(family: Family, inputs: ReportInputs) -> tuple[str, str] | None:
    """See above."""
    found: tuple[str, str] | None = _call(family, "headline", inputs, family.name)
    return found


def picture(family: Family, inputs: ReportInputs) -> Figure | None:
    """See above."""
    found: Figure | None = _call(family, "picture", inputs, family.name)
    return found


def sections(family: Family, inputs: ReportInputs) -> Iterable[Section]:
    """See above."""
    return _call(family, "sections", inputs, family.name) or ()


def _call(family: Family, name: str, *given: Any) -> Any:
    function = getattr(import_module(family.shown_by), name, None) if family.shown_by else None
    return None if function is None else function(*given)
