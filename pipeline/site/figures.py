"""The figures of the last run: the tables of reports/ladder.md where there is a run, else those of README.md.

What was measured of claims stands in docs/results/, a row each.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from pipeline import ROOT

TABLE = re.compile(r"\*\*(?P<title>[^*\n]+)\*\*\n\n(?P<rows>(?:\|.*\n)+)")
RUNS = ("reports/ladder.md", "ladders/full/reports/ladder.md")
PUBLISHED = "README.md"


class Table(NamedTuple):
    """One family's table: what stands over its columns, and a rung's title → its figures."""

    source: str
    headings: list[str]
    rungs: dict[str, list[str]]


@cache
def tables() -> dict[str, Table]:
    """Title of a family → its table; of several runs that with the most rungs."""
    files = [name for name in RUNS if (ROOT / name).is_file()] or [PUBLISHED]
    found: dict[str, Table] = {}
    for name in files:
        for title, table in read_tables(name, (ROOT / name).read_text(encoding="utf-8")):
            if title not in found or len(table.rungs) > len(found[title].rungs):
                found[title] = table
    return found


def read_tables(source: str, text: str) -> Iterator[tuple[str, Table]]:
    """The tables of a document that stand under a bold title."""
    for match in TABLE.finditer(text):
        head, _, *rows = (cells(line) for line in match["rows"].splitlines())
        yield match["title"], Table(source, head[1:], {row[0]: row[1:] for row in rows})


@cache
def claims() -> dict[str, tuple[str, list[str], list[str]]]:
    """Name of an experiment → the page of docs/results that has its figures, headings, and its row."""
    found: dict[str, tuple[str, list[str], list[str]]] = {}
    for page in sorted((ROOT / "docs" / "results").glob("*.md")):
        head: list[str] = []
        for line in page.read_text(encoding="utf-8").splitlines():
            row = cells(line) if line.startswith("|") else []
            if row and set("".join(row)) <= set("-: "):
                continue
            name = re.match(r"`(\w+)`", row[0]) if row and head else None
            if name:
                found.setdefault(name[1], (page.stem, head[1:], row[1:]))
            head = head or row if row else []
    return found


def cells(line: str) -> list[str]:
    """The cells of a row of a Markdown table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
