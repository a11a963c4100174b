"""What sequence tasks have in common: the same measures by greedy search and by beam search."""

from dataclasses import dataclass
from typing import Any

from langladder.faces.report import numbers
from langladder.faces.report.entries import Entry

SEARCHES = {"greedy": "greedy", "beam": "beam search"}

Measures = dict[str, tuple[str, str, numbers.Style]]
"""Measure → its heading, what it is, how it is shown."""


@dataclass(frozen=True)
class Searched:
    """A rung's table, a row a search; what each column is; a line about the rung."""

    name: str
    title: str
    about: str
    columns: list[str]
    rows: list[list[str]]
    units: list[tuple[str, str]]


def searched(rung: Entry[Any], measures: Measures) -> Searched:
    """The table of a rung whose page has `parameters`, and `scores`: `sentences`, and the measures by search."""
    rows = []
    for search, title in SEARCHES.items():
        found = getattr(rung.page.scores, search)
        cells = [(getattr(found, name), style) for name, (_, _, style) in measures.items()]
        rows.append([title, *(numbers.DASH if value is None else style(value) for value, style in cells)])
    units = [(heading, explanation) for heading, explanation, _ in measures.values()]
    columns = ["search", *(heading for heading, _ in units)]
    return Searched(rung.name, rung.title, _about(rung), columns, rows, units)


def _about(rung: Entry[Any]) -> str:
    """How many were tested, how large the network is, how long it was trained."""
    parts = [f"{numbers.whole(rung.page.scores.sentences)} test examples"]
    parts.append(f"{numbers.compact(rung.page.parameters)} parameters")
    if rung.timing.seconds is not None:
        parts.append(f"trained in {numbers.seconds(rung.timing.seconds)}")
    return " · ".join(parts)
