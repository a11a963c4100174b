"""Two ladders side by side, in the terminal: what one run scored, what the other did, and the difference.

A run is what its `reports/ladder.json` says (`tables.ladder_summary`), so it may be of another commit, of another
folder or of another corpus. Rungs stand in the order of the ladder; one that only one of the runs has keeps its row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from rich.table import Table as RichTable
from rich.text import Text

from langladder.evaluation.page import Page
from langladder.faces.report import numbers
from langladder.faces.report.inputs import Entry, Meta, ReportInputs, RungMetadata, Timing, checked_page
from langladder.faces.report.section import Column, family_columns
from langladder.faces.report.tables import fits, narrow_table
from langladder.families.family import AnyFamily
from langladder.ground.errors import InputError

NOT_OURS = "not a reports/ladder.json as this version's stage report writes it"


@dataclass(frozen=True)
class Compared:
    """One measure of one rung: its value in A and in B, shown; the difference B − A, and whether it is a gain."""

    a: str
    b: str
    difference: str
    better: bool | None


@dataclass(frozen=True)
class Comparison:
    """All rungs of one family: titles of the measures, and (title of the rung, its measures) in order."""

    title: str
    measures: list[str]
    rows: list[tuple[str, list[Compared]]]


def read_summary(value: object, where: str, families: Sequence[AnyFamily]) -> ReportInputs:
    """The rungs that a `reports/ladder.json` holds.

    Args:
        families: those that are read; a file may have others.

    Raises:
        InputError: it is none (names `where` and the key).
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("chosen"), Mapping):
        raise InputError(f"{where}: {NOT_OURS} (there is nothing under `chosen`)")
    try:
        rungs = {
            family.name: [
                Entry(checked_page(family, rung, family.name), RungMetadata.model_validate(rung))
                for rung in value.get(family.name, ())
            ]
            for family in families
            if family.trained
        }
        return ReportInputs(Meta.model_validate(value["chosen"]), families, rungs)
    except (InputError, ValidationError, AttributeError, TypeError) as error:
        problem = " ".join(str(error).split())
        raise InputError(f"{where}: {NOT_OURS} ({problem[:200]}{'…' * (len(problem) > 200)})") from error


def compare(a: ReportInputs, b: ReportInputs, columns: Sequence[str] = ()) -> list[Comparison]:
    """The ladders of two runs side by side.

    Args:
        columns: titles of the measures, or beginnings of them; none: those that are `compared`.

    Raises:
        InputError: no such measure (names those there are).
    """
    measures = {family.name: _measures(family, [*a.of(family.name), *b.of(family.name)]) for family in b.families}
    wanted = {name: _wanted(found, columns) for name, found in measures.items()}
    if columns and not any(wanted.values()):
        known = dict.fromkeys(column.title for found in measures.values() for column in found)
        raise InputError(f"columns: {', '.join(columns)}: no such measure; there are {', '.join(known)}")
    return [
        _compare(family.title, a.of(family.name), b.of(family.name), wanted[family.name])
        for family in b.families
        if wanted[family.name]
    ]


def _measures(family: AnyFamily, rungs: Sequence[Entry[Page]]) -> list[Column[Any]]:
    """The columns that have a value."""
    columns = family_columns(family, [rung.page for rung in rungs])
    return [column for column in columns if any(column.read(rung.page, Timing()) is not None for rung in rungs)]


def _wanted(measures: Sequence[Column[Any]], starts: Sequence[str]) -> list[Column[Any]]:
    """For each beginning the column of that title, or else the first whose title begins so."""
    if not starts:
        return [column for column in measures if column.compared]
    found = [
        next((column for exact in (True, False) for column in measures if _is(column, start, exact=exact)), None)
        for start in starts
    ]
    return [column for column in found if column is not None]


def _is(column: Column[Any], title: str, *, exact: bool) -> bool:
    return column.title == title if exact else column.title.startswith(title)


def _compare(
    title: str, a: Sequence[Entry[Page]], b: Sequence[Entry[Page]], measures: Sequence[Column[Any]]
) -> Comparison:
    sides = [{rung.name: rung for rung in side} for side in (a, b)]
    rows = []
    for name in _merged(list(sides[0]), list(sides[1])):
        pair = [side.get(name) for side in sides]
        called = next(rung.title for rung in reversed(pair) if rung is not None)
        rows.append((called, [_cell(column, *pair) for column in measures]))
    return Comparison(title, [column.title for column in measures], rows)


def _merged(a: list[str], b: list[str]) -> list[str]:
    """The names of both in the order of B; what B lacks comes after what it came after in A."""
    merged = list(b)
    for index, name in enumerate(a):
        if name not in merged:
            before = next((other for other in reversed(a[:index]) if other in merged), None)
            merged.insert(0 if before is None else merged.index(before) + 1, name)
    return merged


def _cell(column: Column[Any], a: Entry[Page] | None, b: Entry[Page] | None) -> Compared:
    before, after = (None if rung is None else column.read(rung.page, Timing()) for rung in (a, b))
    old, new = (numbers.DASH if value is None else column.show(value) for value in (before, after))
    if before is None or after is None:
        return Compared(old, new, "", None)
    if old == new:
        return Compared(old, new, "=", None)
    gain = after - before
    text = ("+" if gain > 0 else "−") + column.show(abs(gain)).removesuffix(" %")
    return Compared(old, new, text, None if column.better is None else (gain > 0) == (column.better == "higher"))


def differing(a: Meta, b: Meta) -> dict[str, tuple[object, object]]:
    """The choices in which two runs differ."""
    pairs = {name: (getattr(a, name), getattr(b, name)) for name in Meta.model_fields}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def drawn(comparison: Comparison, width: int) -> RichTable:
    """The comparison for a terminal so many characters wide; measures that do not fit are left out from the right."""
    table = _drawn(comparison)
    if len(comparison.measures) == 1 or fits(table, width):
        return table
    rows = [(title, cells[:-1]) for title, cells in comparison.rows]
    return drawn(Comparison(comparison.title, comparison.measures[:-1], rows), width)


def _drawn(comparison: Comparison) -> RichTable:
    headings = [heading for measure in comparison.measures for heading in (f"{measure} A", "B", "B − A")]
    rows = []
    for title, measures in comparison.rows:
        cells: list[Text] = []
        for one in measures:
            style = {True: "bold green", False: "red", None: ""}[one.better]
            cells += [Text(one.a), Text(one.b), Text(one.difference, style=style)]
        rows.append((title, cells))
    return narrow_table(comparison.title, headings, rows)
