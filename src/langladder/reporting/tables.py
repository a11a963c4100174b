"""The ladder as tables: the same rows for the page, for Markdown and for the terminal.

The best of a column is marked where at least two rungs were measured and they differ *as shown*: two equal-looking
numbers are both best.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from langladder.reporting import numbers
from langladder.reporting.columns import LM_COLUMNS, Column, R, embedding_columns, translator_columns
from langladder.reporting.inputs import ReportInputs, Task


@dataclass(frozen=True)
class Cell:
    """A number as shown; `value` is what it sorts by, `None` where it was not measured."""

    text: str
    value: float | None
    best: bool

    @property
    def sorted_by(self) -> str:
        """The value as the page's script reads it; nothing where it was not measured."""
        return "" if self.value is None else str(self.value).replace("inf", "Infinity")


@dataclass(frozen=True)
class Row:
    """A rung and its cells, one a column."""

    name: str
    title: str
    cells: list[Cell]


@dataclass(frozen=True)
class LadderTable:
    """All rungs of one task in the order of the ladder; `columns` are (title, explanation, better)."""

    task: Task
    title: str
    columns: list[tuple[str, str, str | None]]
    rows: list[Row]


def ladder_rows(inputs: ReportInputs) -> list[LadderTable]:
    """The ladder: a table a task that has rungs (language models, word vectors, translators)."""
    tables = (
        _table("lm", "Language models", LM_COLUMNS, inputs.lms, inputs),
        _table("embedding", "Word vectors", embedding_columns(inputs.embeddings), inputs.embeddings, inputs),
        _table("translator", "Translators", translator_columns(inputs.translators), inputs.translators, inputs),
    )
    return [table for table in tables if table.rows]


def _table(task: Task, title: str, columns: Iterable[Column[R]], rungs: list[R], inputs: ReportInputs) -> LadderTable:
    columns = list(columns)
    cells = [
        _cells(column, [column.read(rung, inputs.timing(task, rung.name)) for rung in rungs]) for column in columns
    ]
    rows = [Row(rung.name, rung.title, [column[i] for column in cells]) for i, rung in enumerate(rungs)]
    return LadderTable(task, title, [(c.title, c.explanation, c.better) for c in columns], rows)


def _cells(column: Column[R], values: list[float | None]) -> list[Cell]:
    texts = [numbers.DASH if value is None else column.show(value) for value in values]
    measured = [(value, text) for value, text in zip(values, texts, strict=True) if value is not None]
    best = None
    if column.better and len({text for _, text in measured}) > 1:
        best = (min if column.better == "lower" else max)(measured)[1]
    return [Cell(text, value, text == best) for value, text in zip(values, texts, strict=True)]


def to_markdown(tables: Sequence[LadderTable]) -> str:
    """The tables in Markdown, best values bold; ends with a newline."""
    return "\n".join(f"**{table.title}**\n\n{_markdown(table)}" for table in tables)


def _markdown(table: LadderTable) -> str:
    head = ["rung", *(title for title, _, _ in table.columns)]
    lines = [head, ["---", *("---:" for _ in table.columns)]]
    lines += [
        [row.title, *(f"**{cell.text}**" if cell.best else cell.text for cell in row.cells)] for row in table.rows
    ]
    return "".join("| " + " | ".join(text.replace("|", "\\|") for text in line) + " |\n" for line in lines)


def to_rich(tables: Sequence[LadderTable]) -> list[RichTable]:
    """The tables for the terminal (print each with `rich.console.Console`), best values bold and green."""
    return [_rich(table) for table in tables]


def _rich(table: LadderTable) -> RichTable:
    drawn = RichTable(title=table.title, title_justify="left")
    drawn.add_column("rung")
    for title, _, _ in table.columns:
        drawn.add_column(title, justify="right")
    for row in table.rows:
        cells = (Text(cell.text, style="bold green" if cell.best else "") for cell in row.cells)
        drawn.add_row(Text(row.title), *cells)
    return drawn


def ladder_summary(inputs: ReportInputs) -> dict[str, Any]:
    """What `reports/ladder.json` holds: choices, every rung's size and scores; no timings."""
    detail = {"samples", "neighbours", "map", "examples", "by_length"}
    return {
        "chosen": inputs.meta.model_dump(),
        "floor_perplexity_per_word": inputs.floor,
        "lm": [rung.model_dump(exclude=detail | {"vectors"}) for rung in inputs.lms],
        "embedding": [rung.model_dump(exclude=detail) for rung in inputs.embeddings],
        "translator": [rung.model_dump(exclude=detail) for rung in inputs.translators],
    }
