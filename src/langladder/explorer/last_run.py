"""What the last run of a folder left: its ladder, what each rung cost, which run made it, what it grew from.

Scores come from `reports/ladder.json`. Times, years and MLflow's runs are not in it, since some of them differ between
two runs of one commit; they are read off the tables of `reports/index.html`, as text. What a rung grew from stands in
its own provenance, its curve in `curves/`. All but the first may be missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from math import isfinite
from pathlib import Path
from typing import Any

from langladder.artefacts import read_json
from langladder.errors import InputError
from langladder.families import families
from langladder.reporting.comparison import read_summary
from langladder.reporting.entries import Entry, Timing, Told
from langladder.reporting.inputs import ReportInputs, read_curve

LADDER, PAGE = "reports/ladder.json", "reports/index.html"
MOST_BYTES = 64 * 2**20  # of a report's page
RUNS = ["family", "rung", "MLflow run"]
"""Headings of the table of runs."""
COSTS = {"time": "seconds", "memory": "peak_memory_bytes"}
"""Column → field of `Timing`; what ends with /s is the speed."""


@dataclass
class Shown:
    """What a report's page says of a rung beside its scores."""

    year: int | None = None
    run: str | None = None
    costs: dict[str, float] = field(default_factory=dict)


def last_run(place: Path) -> ReportInputs | None:
    """The ladder of a folder; None where none was made.

    Raises:
        InputError: its files are damaged, or of another version.
    """
    if not (place / LADDER).is_file():
        return None
    inputs = read_summary(read_json(place / LADDER), str(place / LADDER), list(families().values()))
    told = page_facts(place / PAGE, {family.title: family.name for family in inputs.families})
    rungs = {
        family: [_with_facts(place, family, rung, told.get((family, rung.title), Shown())) for rung in found]
        for family, found in inputs.rungs.items()
    }
    return replace(inputs, rungs=rungs)


def _with_facts(place: Path, family: str, rung: Entry[Any], shown: Shown) -> Entry[Any]:
    base, reads = grown(place / "models" / family / rung.name)
    curve = place / "curves" / family / f"{rung.name}.csv"
    memory = shown.costs.get("peak_memory_bytes")
    return replace(
        rung,
        told=Told(title=rung.told.title, year=shown.year, base=base, reads=reads),
        timing=Timing(
            seconds=shown.costs.get("seconds"),
            tokens_per_second=shown.costs.get("tokens_per_second"),
            peak_memory_bytes=None if memory is None else int(memory),
            run=shown.run,
        ),
        curve=tuple(read_curve(curve)) if curve.is_file() else (),
    )


def grown(folder: Path) -> tuple[str | None, str | None]:
    """The rung (`family/name`) that a model grew from, and the folder that it read beside that; None for neither."""
    file = folder / "provenance.json"
    try:
        found: Any = read_json(file) if file.is_file() else None
    except InputError:
        return None, None
    if not isinstance(found, dict):
        return None, None
    lineage, settings = found.get("lineage"), found.get("settings")
    base = lineage[0].get("rung") if isinstance(lineage, list) and lineage and isinstance(lineage[0], dict) else None
    own = settings.get(folder.parent.name) if isinstance(settings, dict) else None
    reads = own.get("reads") if base and isinstance(own, dict) else None
    return (base if isinstance(base, str) else None), (reads if isinstance(reads, str) else None)


def page_facts(path: Path, names: Mapping[str, str]) -> dict[tuple[str, str], Shown]:
    """(family, title of the rung) → what the page shows of it; nothing where there is no page, or another one.

    Args:
        names: title of a family → its name.
    """
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        return {}
    tables = _Tables()
    tables.feed(path.read_text(encoding="utf-8", errors="replace"))
    found: dict[tuple[str, str], Shown] = {}
    for region, heads, rows in tables.found:
        if heads == RUNS:
            for family, title, run in (row for row in rows if len(row) == len(RUNS)):
                found.setdefault((names.get(family.text, ""), title.text), Shown()).run = run.text
        elif region in names:
            for row in (row for row in rows if len(row) == len(heads)):
                _costs(found.setdefault((names[region], row[0].text), Shown()), heads, row)
    return found


def _costs(shown: Shown, heads: list[str], row: "list[_Cell]") -> None:
    aside = row[0].aside
    shown.year = int(aside) if aside.isdecimal() and len(aside) <= 4 else None
    for head, cell in zip(heads[1:], row[1:], strict=True):
        name = COSTS.get(head) or ("tokens_per_second" if head.endswith("/s") else None)
        if name and cell.value:
            try:
                number = float(cell.value)
            except ValueError:
                continue
            if isfinite(number):
                shown.costs[name] = number


@dataclass
class _Cell:
    """A cell's text, what stands in a <span> of it (a year), the number it is sorted by."""

    text: str = ""
    aside: str = ""
    value: str = ""


class _Tables(HTMLParser):
    """The tables of a page: (label of the region around it, headings, rows); only text is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str], list[list[_Cell]]]] = []
        self._region, self._span = "", False
        self._cell: _Cell | None = None
        self._head = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See `HTMLParser`."""
        given = dict(attrs)
        if tag == "div":
            self._region = given.get("aria-label") or ""
        elif tag == "table":
            self.found.append((self._region, [], []))
        elif self.found and tag == "thead":
            self._head = True
        elif self.found and tag == "tr" and not self._head:
            self.found[-1][2].append([])
        elif self.found and tag in ("td", "th"):
            self._cell = _Cell(value=given.get("data-value") or "")
        self._span = tag == "span"

    def handle_data(self, data: str) -> None:
        """See `HTMLParser`."""
        if self._cell is None:
            return
        if self._span:
            self._cell.aside += data.strip()
        else:
            self._cell.text += data

    def handle_endtag(self, tag: str) -> None:
        """See `HTMLParser`."""
        if tag == "thead":
            self._head = False
        elif tag in ("td", "th") and self._cell is not None:
            self._cell.text = self._cell.text.strip()
            if self._head:
                self.found[-1][1].append(self._cell.text)
            elif self.found[-1][2]:
                self.found[-1][2][-1].append(self._cell)
            self._cell = None
        self._span = False
