"""The ladder as tables: the same rows for the page, for Markdown and for the terminal.

The best of a column is marked where at least two rungs were measured and they differ *as shown*: two equal-looking
numbers are both best. A column in which nothing was measured is left out. Page and `reports/ladder.md` show every
column; the terminal and the README, which are narrower, the telling ones.
"""

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from langladder.evaluation.page import Page
from langladder.faces.report import numbers
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.section import Column, family_columns
from langladder.faces.report.steps import ladder_steps
from langladder.ground.errors import printable

ALSO_GIVEN = "also given"
"""The column of what a rung has that others of its table have not: trees, a lexicon, another rung's training."""
NAME_WIDTH = 24  # characters that a rung's name has on each of its lines, at least
HEADING_WIDTH = 9  # of a heading that takes several lines


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
class Heading:
    """What stands over a column: its title, one sentence that explains it, which end is better."""

    title: str
    explanation: str
    better: Literal["lower", "higher"] | None
    brief: bool


@dataclass(frozen=True)
class Row:
    """A rung and its cells, one a column; the year of its method; what it is given that others are not.

    Attributes:
        anchor: the anchor of its own part of the page. run: its run in MLflow, if it is known.
    """

    name: str
    title: str
    cells: list[Cell]
    anchor: str
    run: str | None
    approach: str = ""
    year: int | None = None
    also_given: str = ""


@dataclass(frozen=True)
class LadderTable:
    """All rungs of a kind in the order of the ladder.

    Attributes:
        note: what ± covers. steps: what each step bought, in sentences (`faces.report.steps`); "": not asked for.
    """

    family: str
    title: str
    columns: list[Heading]
    rows: list[Row]
    note: str = ""
    steps: str = ""

    @property
    def has_given(self) -> bool:
        """Whether any of the rungs is given what others are not, which is a column then."""
        return any(row.also_given for row in self.rows)

    def approaches(self) -> list[tuple[str, list[Row]]]:
        """The rows by approach, the approach whose first rung stands lowest on the ladder first."""
        names = dict.fromkeys(row.approach for row in self.rows)
        return [(name, [row for row in self.rows if row.approach == name]) for name in names]


def anchor(family: str, name: str) -> str:
    """Where a rung's own part of the page begins."""
    return f"rung-{family}-{name}"


def ladder_rows(inputs: ReportInputs, *, steps: bool = False) -> list[LadderTable]:
    """The ladder: a table for each kind of rung that has columns.

    Args:
        steps: also what each step bought, which takes a test of every two rungs.
    """
    tables = []
    for family, rungs in inputs.kinds:
        if columns := family_columns(family, [rung.page for rung in rungs]):
            table = _table(family.name, family.title, columns, rungs)
            tables.append(replace(table, steps=ladder_steps(rungs, columns)) if steps and len(rungs) > 1 else table)
    return tables


def brief(tables: Sequence[LadderTable]) -> list[LadderTable]:
    """The tables with their telling columns only; what a rung is also given is named by its kind."""
    short = [_only(table, [i for i, column in enumerate(table.columns) if column.brief]) for table in tables]
    return [
        replace(table, rows=[replace(row, also_given=_kinds(row.also_given)) for row in table.rows]) for table in short
    ]


def _kinds(also_given: str) -> str:
    """`pre-training: BERT; rewards: …` → `pre-training; rewards`."""
    return "; ".join(part.partition(": ")[0] for part in also_given.split("; "))


def _only(table: LadderTable, kept: Sequence[int]) -> LadderTable:
    rows = [replace(row, cells=[row.cells[i] for i in kept]) for row in table.rows]
    return replace(table, columns=[table.columns[i] for i in kept], rows=rows)


def _table(family: str, title: str, columns: Sequence[Column[Any]], rungs: Sequence[Entry[Page]]) -> LadderTable:
    read = [(column, [column.read(rung.page, rung.timing) for rung in rungs]) for column in columns]
    measured = [(column, values) for column, values in read if any(value is not None for value in values)]
    margins = [[column.margin(rung.page) if column.margin else None for rung in rungs] for column, _ in measured]
    cells = [_cells(column, values, beside) for (column, values), beside in zip(measured, margins, strict=True)]
    note = _note(
        [rung.page for rung in rungs],
        intervals=any(column.interval for column, _ in measured),
        margins=any(margin is not None for beside in margins for margin in beside),
    )
    note = "; ".join(filter(None, [note, _optimizers(rungs)]))
    rows = [
        Row(
            rung.name,
            rung.title,
            [column[i] for column in cells],
            anchor(rung.family, rung.page.name),
            rung.timing.run,
            rung.approach,
            rung.metadata.year,
            rung.metadata.also_given,
        )
        for i, rung in enumerate(rungs)
    ]
    headings = [Heading(c.title, c.explanation, c.better, c.brief) for c, _ in measured]
    return LadderTable(family, title, headings, rows, note)


def _optimizers(rungs: Sequence[Entry[Page]]) -> str:
    """The optimisers of the networks, where they differ: then a part of a difference is due to them."""
    titles: dict[str, list[str]] = {}
    for rung in rungs:
        if rung.metadata.optimizer:
            titles.setdefault(rung.metadata.optimizer, []).append(rung.title)
    several = sorted(titles.items(), key=lambda item: len(item[1]))
    parts = [f"{optimizer}: {', '.join(of)}" for optimizer, of in several[:-1]]
    return f"optimisers differ: {'; '.join(parts)}; the other networks {several[-1][0]}" if parts else ""


def _note(pages: Sequence[Page], *, intervals: bool, margins: bool) -> str:
    """What ± covers in a table.

    Args:
        intervals: whether it has columns of them. margins: whether some stand beside a figure.
    """
    counts = sorted({page.seeds for page in pages if page.seeds > 1})
    seeds = f"{' or '.join(map(str, counts))} seeds" if counts else ""
    whose = ", of rungs trained by gradient," if any(page.seeds == 1 for page in pages) else ""
    parts = []
    if intervals:
        over = type(pages[0]).sampled
        parts.append(f"±: 95 % interval over {over}" + (f" and{whose} {seeds}" if seeds else ""))
    if margins:
        parts.append(f"±{' behind a figure' if parts else ''}: 95 % interval over {seeds}{' only' if parts else ''}")
    if seeds:
        details = "time, speed and the details by section, label or length"
        parts.append(f"figures are means over the seeds; {details} are those of the first seed")
    folds = sorted({by_fold.folds for page in pages if (by_fold := getattr(page, "by_fold", None))})
    if folds:
        whose = "" if all(getattr(page, "by_fold", None) for page in pages) else "of rungs with cross-validation, "
        count = f"{' or '.join(map(str, folds))} folds"
        parts.append(f"{whose}each item is tested once, by the model that was trained on the other folds ({count})")
    return "; ".join(parts)


def _cells(column: Column[Any], values: list[float | None], margins: Sequence[float | None]) -> list[Cell]:
    texts = [numbers.DASH if value is None else column.show(value) for value in values]
    measured = [(value, text) for value, text in zip(values, texts, strict=True) if value is not None]
    best = None
    if column.better and len({text for _, text in measured}) > 1:
        best = (min if column.better == "lower" else max)(measured)[1]
    return [
        Cell(text if margin is None else f"{text} ± {column.show(margin)}", value, text == best)
        for value, text, margin in zip(values, texts, margins, strict=True)
    ]


def to_markdown(tables: Sequence[LadderTable]) -> str:
    """The tables in Markdown, best values bold, each with what its steps bought; ends with a newline."""
    parts = []
    for table in tables:
        note = f" ({table.note})" if table.note else ""
        parts.append(f"**{table.title}**{note}\n\n{_markdown(table)}" + (f"\n{table.steps}\n" if table.steps else ""))
    return "\n".join(parts)


def _markdown(table: LadderTable) -> str:
    texts = ["rung", *([ALSO_GIVEN] if table.has_given else [])]
    lines = [[*texts, *(column.title for column in table.columns)]]
    lines += [[*("---" for _ in texts), *("---:" for _ in table.columns)]]
    for row in table.rows:
        texts = [row.title, *([row.also_given or numbers.DASH] if table.has_given else [])]
        lines.append([*texts, *(f"**{cell.text}**" if cell.best else cell.text for cell in row.cells)])
    return "".join(map(markdown_row, lines))


def markdown_row(cells: Iterable[str]) -> str:
    """A row of a table in Markdown, with the end of its line."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def to_rich(tables: Sequence[LadderTable], width: int) -> list[RichTable]:
    """The telling columns for a terminal so many characters wide, best values bold and green.

    Where they do not fit, columns are left out from the right; long names of rungs take several lines.
    """
    drawn = []
    for table in brief(tables):
        while not fits(_rich(table), width) and len(table.columns) > 1:
            table = _only(table, range(len(table.columns) - 1))
        drawn.append(_rich(table))
    return drawn


def fits(table: RichTable, width: int) -> bool:
    """Whether a table can be shown in so many characters without cutting a number."""
    console = Console(width=10_000)
    return table.__rich_measure__(console, console.options).minimum <= width


def narrow_table(title: str, headings: Sequence[str], rows: Sequence[tuple[str, Sequence[Text]]]) -> RichTable:
    """A table of rungs for the terminal: names and headings take several lines where they must, numbers never."""
    drawn = RichTable(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    longest = max([len("rung"), *(cell_len(name) for name, _ in rows)])
    drawn.add_column("rung", min_width=min(NAME_WIDTH, longest), overflow="fold")
    for column, heading in enumerate(headings):
        widest = max([*map(len, heading.split()), *(cells[column].cell_len for _, cells in rows)])
        lines = wrap(heading, max(widest, HEADING_WIDTH))
        drawn.add_column("\n".join(lines), justify="right", min_width=max([widest, *map(len, lines)]))
    for name, cells in rows:
        drawn.add_row(Text(printable(name)), *cells)
    return drawn


def _rich(table: LadderTable) -> RichTable:
    rows = [
        (
            f"{row.title} ({ALSO_GIVEN} {row.also_given})" if row.also_given else row.title,
            [Text(cell.text, style="bold green" if cell.best else "") for cell in row.cells],
        )
        for row in table.rows
    ]
    drawn = narrow_table(table.title, [column.title for column in table.columns], rows)
    drawn.caption, drawn.caption_justify = table.note or None, "left"
    return drawn


def ladder_summary(inputs: ReportInputs) -> dict[str, Any]:
    """What `reports/ladder.json` holds: choices, every trained rung's lineage, size and scores; no timings."""
    return {"chosen": inputs.meta.model_dump()} | {
        family.name: [
            {"title": rung.title}
            | rung.page.summary()
            | rung.metadata.model_dump(include={"year", "base", "reads", "module"}, exclude_none=True)
            | ({"also_given": rung.metadata.also_given} if rung.metadata.also_given else {})
            | {"name": rung.name}
            for rung in inputs.of(family.name)
        ]
        for family in inputs.families
        if family.trained
    }


def ladder_headline(inputs: ReportInputs, listed: Mapping[str, Collection[str]]) -> dict[str, dict[str, Any]]:
    """What `reports/headline/` holds: a file a family (`lm_perplexity_per_word`) → rung → that figure.

    Args:
        listed: family → its rungs; what a page of another family holds is none of them.
    """
    figures: dict[str, dict[str, Any]] = {}
    for family in inputs.families:
        pages = {rung.page.name: rung.page for rung in reversed(inputs.of(family.name))}
        kept = [pages[name] for name in listed.get(family.name, ()) if name in pages and pages[name].is_sound]
        figure = kept[0].headline(kept) if kept else None
        if figure:
            values = {page.name: page.figures().get(figure) for page in kept}
            infinite = {name: "infinite" for name, value in values.items() if value == math.inf}
            figures[f"{family.name}_{figure}"] = values | infinite
    return figures


def ladder_timings(inputs: ReportInputs) -> dict[str, Any]:
    """What `reports/timings.json` holds: what each trained rung (`family/name`) cost, its MLflow run.

    Some of it differs between two runs of one commit, so DVC does not track it; `ladder` says which ladder.json it
    belongs to.
    """
    rungs = {}
    for family in (family for family in inputs.families if family.trained):
        for rung in inputs.of(family.name):
            if known := rung.timing.model_dump(exclude={"timed"}, exclude_none=True):
                rungs[f"{family.name}/{rung.name}"] = known
    return {"ladder": ladder_id(ladder_summary(inputs)), "rungs": rungs}


def ladder_id(summary: Mapping[str, Any]) -> str:
    """Tells one `ladder_summary` from another."""
    return hashlib.sha256(json.dumps(summary, sort_keys=True).encode()).hexdigest()[:16]
