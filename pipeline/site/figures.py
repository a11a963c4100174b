"""The figures of the last runs: the tables of reports/ladder.md if there is a run, else the published ones.

The figures of claims are in docs/results/, one row each, or in the guide about them.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from pipeline import ROOT

TABLE = re.compile(r"\*\*(?P<title>[^*\n]+)\*\*[^\n]*\n\n(?P<rows>(?:\|.*\n)+)")
RUNS = ("reports/ladder.md", "ladders/*/reports/ladder.md")
PUBLISHED = ("docs/results/default.md", "docs/results/history.md", "docs/results/full.md")


class Table(NamedTuple):
    """One family's table: its column headings, and a rung's title → its figures."""

    source: str
    headings: list[str]
    rungs: dict[str, list[str]]


@cache
def tables() -> dict[str, Table]:
    """Title of a family → its table; of several runs that with the most rungs."""
    runs = [file.relative_to(ROOT).as_posix() for pattern in RUNS for file in sorted(ROOT.glob(pattern))]
    files = runs or [name for name in PUBLISHED if (ROOT / name).is_file()]
    results: dict[str, Table] = {}
    for name in files:
        for title, table in read_tables(name, (ROOT / name).read_text(encoding="utf-8")):
            if title not in results or len(table.rungs) > len(results[title].rungs):
                results[title] = table
    return results


def read_tables(source: str, text: str) -> Iterator[tuple[str, Table]]:
    """The tables of a document that have a bold title."""
    for match in TABLE.finditer(text):
        head, _, *rows = (cells(line) for line in match["rows"].splitlines())
        yield match["title"], Table(source, head[1:], {row[0]: row[1:] for row in rows})


class Claim(NamedTuple):
    """The figures of an experiment, probe or prompt: their place in docs/, and the figures if it is a row."""

    link: str
    figures: str


@cache
def claims() -> dict[str, Claim]:
    """Name of a claim → the place of its figures: a row of docs/results, else a guide's section of measurements."""
    docs = ROOT / "docs"
    results: dict[str, Claim] = {}
    for file in sorted((docs / "results").glob("*.md")):
        for name, figures in rows(file.read_text(encoding="utf-8")):
            results.setdefault(name, Claim(f"results/{file.name}", figures))
    for file in sorted(docs.glob("*.md")):
        for heading, text in sections(file.read_text(encoding="utf-8")):
            link = f"{file.name}#{slug(heading)}"
            if named := re.search(r"\(`(\w+)`\)$", heading):  # a section of its own
                results.setdefault(named[1], Claim(link, ""))
            elif "measured" in heading:
                measured = dict.fromkeys(re.findall(r"`(\w+)` \(\[claims\.md\]", text), "") | dict(rows(text))
                for name, figures in measured.items():
                    results.setdefault(name, Claim(link, figures))
    return results


def rows(text: str) -> Iterator[tuple[str, str]]:
    """For tables whose rows begin with a name in code: each name, and its figures with their headings."""
    head: list[str] = []
    for line in text.splitlines():
        row = cells(line) if line.startswith("|") else []
        if row and set("".join(row)) <= set("-: "):
            continue
        if head and row and (name := re.match(r"`(\w+)`", row[0])):
            pairs = zip(head[1:], row[1:], strict=False)  # the claim itself is already the heading
            yield name[1], "; ".join(f"{above}: {cell}" for above, cell in pairs if cell and above != "claim")
        head = head or row if row else []


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Headings below the first, each with its content."""
    parts = re.split(r"(?m)^#{2,3} (.+)$", text)
    yield from zip(parts[1::2], parts[2::2], strict=True)


def slug(heading: str) -> str:
    """The anchor of a heading on its page of the site."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def cells(line: str) -> list[str]:
    """The cells of a row of a Markdown table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
