"""Two ladders side by side, in the terminal: what one run scored, what the other did, and the difference.

A run is what its `reports/ladder.json` says (`tables.ladder_summary`), so it may be of another commit, of another
folder or of another corpus. Rungs stand in the order of the ladder; one that only one of the runs has keeps its row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from rich.table import Table as RichTable
from rich.text import Text

from langladder.errors import InputError
from langladder.reporting import numbers
from langladder.reporting.columns import Column, columns_of
from langladder.reporting.inputs import ReportInputs, Task
from langladder.reporting.rungs import EmbeddingRung, LanguageModelRung, Meta, Rung, Timing, TranslatorRung
from langladder.reporting.tables import TITLES, fits, narrow_table

# What is compared unless columns are named; where word vectors have several similarity sets, the first.
TELLING: dict[Task, tuple[str, ...]] = {
    "lm": ("perplexity a word", "bits a byte", "parameters"),
    "embedding": ("analogies", "ρ", "dimension"),
    "translator": ("BLEU", "chrF", "exact"),
}


@dataclass(frozen=True)
class Compared:
    """One measure of one rung: its value in A and in B, shown; the difference B − A, and whether it is a gain."""

    a: str
    b: str
    difference: str
    better: bool | None


@dataclass(frozen=True)
class Comparison:
    """All rungs of one task: titles of the measures, and (title of the rung, its measures) in order."""

    title: str
    measures: list[str]
    rows: list[tuple[str, list[Compared]]]


def read_summary(value: Any, where: str) -> ReportInputs:
    """The rungs that a `reports/ladder.json` holds.

    Raises:
        InputError: it is none (names `where` and the key).
    """
    try:
        return ReportInputs(
            Meta.model_validate(value["chosen"]),
            [LanguageModelRung.model_validate(rung) for rung in value["lm"]],
            [EmbeddingRung.model_validate(rung) for rung in value["embedding"]],
            [TranslatorRung.model_validate(rung) for rung in value["translator"]],
        )
    except (ValidationError, KeyError, TypeError) as error:
        raise InputError(f"{where}: not a reports/ladder.json as the stage report writes it ({error})") from error


def compare(
    a: ReportInputs, b: ReportInputs, tasks: Sequence[Task] = tuple(TELLING), columns: Sequence[str] = ()
) -> list[Comparison]:
    """The ladders of two runs side by side.

    Args:
        tasks: which of them.
        columns: titles of the measures, or beginnings of them; none: those of `TELLING`.

    Raises:
        InputError: no such measure (names those there are).
    """
    found = [_compare(a, b, task, columns or TELLING[task]) for task in tasks]
    if columns and not any(one.measures for one in found):
        both = [(task, [*a.rungs(task), *b.rungs(task)]) for task in tasks]
        known = [column.title for task, rungs in both for column in columns_of(task, rungs) if _has(column, rungs)]
        raise InputError(f"columns: {', '.join(columns)}: no such measure; there are {', '.join(dict.fromkeys(known))}")
    return [one for one in found if one.measures]


def _compare(a: ReportInputs, b: ReportInputs, task: Task, wanted: Sequence[str]) -> Comparison:
    sides = [{rung.name: rung for rung in side.rungs(task)} for side in (a, b)]
    rungs = _merged(list(sides[0]), list(sides[1]))
    both = [side[name] for side in sides for name in rungs if name in side]
    measures = [column for start in wanted if (column := _measured(columns_of(task, both), start, both))]
    rows = []
    for name in rungs:
        pair = [side.get(name) for side in sides]
        title = next(rung.title for rung in reversed(pair) if rung is not None)
        rows.append((title, [_cell(column, *pair) for column in measures]))
    return Comparison(TITLES[task], [column.title for column in measures], rows)


def _merged(a: list[str], b: list[str]) -> list[str]:
    """The names of both in the order of B; what B lacks comes after what it came after in A."""
    merged = list(b)
    for place, name in enumerate(a):
        if name not in merged:
            before = next((other for other in reversed(a[:place]) if other in merged), None)
            merged.insert(0 if before is None else merged.index(before) + 1, name)
    return merged


def _measured(columns: Sequence[Column[Any]], start: str, rungs: Sequence[Rung]) -> Column[Any] | None:
    """The first column whose title begins so and that has a value."""
    exact = [column for column in columns if column.title == start]
    for column in exact or [column for column in columns if column.title.startswith(start)]:
        if _has(column, rungs):
            return column
    return None


def _has(column: Column[Any], rungs: Sequence[Rung]) -> bool:
    return any(column.read(rung, Timing()) is not None for rung in rungs)


def _cell(column: Column[Any], a: Rung | None, b: Rung | None) -> Compared:
    before, after = (None if rung is None else column.read(rung, Timing()) for rung in (a, b))
    old, new = (numbers.DASH if value is None else column.show(value) for value in (before, after))
    if before is None or after is None:
        return Compared(old, new, "", None)
    if old == new:
        return Compared(old, new, "=", None)
    gain = after - before
    text = ("+" if gain > 0 else "−") + column.show(abs(gain)).removesuffix(" %")
    return Compared(old, new, text, None if column.better is None else (gain > 0) == (column.better == "higher"))


def differing(a: Meta, b: Meta) -> dict[str, tuple[Any, Any]]:
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
