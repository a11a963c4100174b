"""Two ladders side by side, in the terminal: what one run scored, what the other did, and the difference.

Of several, rungs × data sets by one measure a family: each cell with its ±, the best of each data set, and the mean
rank of the rungs that every data set has (Demšar 2006).

A run is what its `reports/ladder.json` says (`tables.ladder_summary`), so it may be of another commit, of another
folder or of another corpus. Rungs stand in the order of the ladder; one that only one of the runs has keeps its row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    """All rungs of a kind: titles of the measures, and (title of the rung, its measures) in order."""

    title: str
    measures: list[str]
    rows: list[tuple[str, list[Compared]]]


def read_summary(value: object, where: str, families: Sequence[AnyFamily]) -> ReportInputs:
    """The rungs in a `reports/ladder.json`.

    Args:
        families: the families to read; the file can have others.

    Raises:
        InputError: the file is invalid (the message names `where` and the key).
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
    tables, known = [], dict[str, None]()
    for family, (before, after) in _kinds([a, b]):
        measures = _measures(family, [*before, *after])
        known |= dict.fromkeys(column.title for column in measures)
        if wanted := _wanted(measures, columns):
            tables.append(_compare(family.title, before, after, wanted))
    if columns and not tables:
        raise InputError(f"columns: {', '.join(columns)}: no such measure; there are {', '.join(known)}")
    return tables


def _kinds(runs: Sequence[ReportInputs]) -> list[tuple[AnyFamily, list[list[Entry[Page]]]]]:
    """Each kind of rung, with its rungs in each run."""
    sides = [{family.name: rungs for family, rungs in run.kinds} for run in runs]
    return [
        (family, [side.get(family.name, []) for side in sides])
        for family in runs[-1].families
        if any(family.name in side for side in sides)
    ]


@dataclass(frozen=True)
class Cell:
    """A rung on a data set: its value as shown, with its ±; None: not measured there."""

    text: str
    value: float | None
    margin: float | None = None
    best: bool = False


@dataclass(frozen=True)
class Across:
    """The rungs of a kind on several data sets.

    Attributes:
        rows: name and title of a rung, a cell a data set, and its mean rank among the rungs that all have; None: some
            data set lacks it.
    """

    family: str
    title: str
    measure: str
    rows: list[tuple[str, str, list[Cell], float | None]]


def across(runs: Sequence[ReportInputs], columns: Sequence[str] = ()) -> list[Across]:
    """Rungs × data sets, a table for each kind of rung, by its first measure, or by those named.

    Args:
        columns: as of `compare`.

    Raises:
        InputError: no such measure (names those there are).
    """
    tables, known = [], dict[str, None]()
    for family, rungs in _kinds(runs):
        sides = [{rung.name: rung for rung in side} for side in rungs]
        measures = _measures(family, [rung for side in sides for rung in side.values()])
        known |= dict.fromkeys(column.title for column in measures)
        for column in _wanted(measures, columns)[: None if columns else 1]:
            behind = measures[measures.index(column) + 1 :][:1]
            interval = behind[0] if behind and behind[0].interval else None
            tables.append(_across(family, sides, column, interval))
    if columns and not tables:
        raise InputError(f"columns: {', '.join(columns)}: no such measure; there are {', '.join(known)}")
    return tables


def _across(
    family: AnyFamily, sides: Sequence[Mapping[str, Entry[Page]]], column: Column[Any], interval: Column[Any] | None
) -> Across:
    names: list[str] = []
    for side in sides:
        names = _merged(names, list(side))
    cells = {name: [_across_cell(side.get(name), column, interval) for side in sides] for name in names}
    sign = {"higher": -1, "lower": 1}.get(column.better or "", 0)
    everywhere = [name for name in names if all(cell.value is not None for cell in cells[name])]
    ranks = dict[str, float]()
    if sign and len(everywhere) > 1:
        from scipy.stats import rankdata  # takes time to load

        values = [[sign * (cell.value or 0.0) for cell in cells[name]] for name in everywhere]  # rungs × data sets
        means = rankdata(values, axis=0).mean(axis=1)
        ranks = dict(zip(everywhere, means.tolist(), strict=True))
    for index in range(len(sides)):
        measured = [row[index].value for row in cells.values() if row[index].value is not None]
        if sign and len(measured) > 1:
            best = min(sign * value for value in measured if value is not None)
            for row in cells.values():
                value = row[index].value
                row[index] = replace(row[index], best=value is not None and sign * value == best)
    titles = {name: rung.title for side in sides for name, rung in side.items()}
    rows = [(name, titles[name], cells[name], ranks.get(name)) for name in names]
    return Across(family.name, family.title, column.title, rows)


def _across_cell(rung: Entry[Page] | None, column: Column[Any], interval: Column[Any] | None) -> Cell:
    value = None if rung is None else column.read(rung.page, Timing())
    if rung is None or value is None:
        return Cell(numbers.DASH, None)
    margin = interval.read(rung.page, Timing()) if interval else None
    if margin is None and column.margin:
        margin = column.margin(rung.page)
    return Cell(column.show(value) + ("" if margin is None else f" ± {column.show(margin)}"), value, margin)


def across_markdown(tables: Sequence[Across], names: Sequence[str]) -> str:
    """The tables as Markdown; the best of each data set is bold.

    Args:
        names: of the data sets.
    """
    parts = []
    for table in tables:
        ranked = any(rank is not None for *_, rank in table.rows)
        heads = [table.measure, *names, *(["mean rank"] if ranked else [])]
        lines = [f"**{table.title}**", "", _line(heads), _line(["---", *["---:"] * (len(heads) - 1)])]
        for _, title, cells, rank in table.rows:
            texts = [f"**{cell.text}**" if cell.best else cell.text for cell in cells]
            lines.append(_line([title, *texts, *([numbers.DASH if rank is None else f"{rank:.1f}"] if ranked else [])]))
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def across_rows(tables: Sequence[Across], names: Sequence[str]) -> list[list[object]]:
    """The same as rows of a CSV file, its header first: a row a rung and data set."""
    rows: list[list[object]] = [["family", "rung", "title", "measure", "data_set", "value", "margin"]]
    for table in tables:
        for rung, title, cells, _ in table.rows:
            rows += [
                [table.family, rung, title, table.measure, name, cell.value, "" if cell.margin is None else cell.margin]
                for name, cell in zip(names, cells, strict=True)
                if cell.value is not None
            ]
    return rows


def _measures(family: AnyFamily, rungs: Sequence[Entry[Page]]) -> list[Column[Any]]:
    """The columns that have a value."""
    columns = family_columns(family, [rung.page for rung in rungs])
    return [column for column in columns if any(column.read(rung.page, Timing()) is not None for rung in rungs)]


def _wanted(measures: Sequence[Column[Any]], starts: Sequence[str]) -> list[Column[Any]]:
    """For each beginning the column of that title, or else the first whose title begins so."""
    if not starts:
        return [column for column in measures if column.compared]
    columns = [
        next((column for exact in (True, False) for column in measures if _is(column, start, exact=exact)), None)
        for start in starts
    ]
    return [column for column in columns if column is not None]


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
        for entry in measures:
            style = {True: "bold green", False: "red", None: ""}[entry.better]
            cells += [Text(entry.a), Text(entry.b), Text(entry.difference, style=style)]
        rows.append((title, cells))
    return narrow_table(comparison.title, headings, rows)
