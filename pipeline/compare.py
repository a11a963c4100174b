"""Compare two runs of the ladder: rungs, their main figures, the differences.

python -m pipeline.compare                     the last commit (A) and the working tree (B)
python -m pipeline.compare HEAD~1              a commit, branch, tag or experiment, and the working tree
python -m pipeline.compare main my-text        two commits, branches, tags or experiments
python -m pipeline.compare ../other .          two folders, each a checkout that `dvc repro` ran in
python -m pipeline.compare --ladder lm --columns "perplexity per token"
python -m pipeline.compare --across . ladders/mine ladders/reviews     rungs × data sets, one table

`--across` prints a table with one measure per family, and writes it to outputs/across.md and outputs/across.csv.

A commit has figures if its dvc.lock is committed: `git add dvc.lock` and `git commit` after `dvc repro`.
"""

import argparse
import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from langladder.faces.report.comparison import (
    across,
    across_markdown,
    across_rows,
    compare,
    differing,
    drawn,
    read_summary,
)
from langladder.faces.report.inputs import ReportInputs
from langladder.families import families
from langladder.ground.artefacts import read_json, write_text
from langladder.ground.errors import InputError, printable
from pipeline import ROOT
from pipeline.summary import WIDTH

LADDER = Path("reports/ladder.json")
ACROSS = "outputs/across"


def load(source: str, names: Sequence[str] = ()) -> ReportInputs:
    """The ladder of a folder or a revision of this repository, for the given families, or for all.

    A family comes with that of its rungs that start from others.

    Raises:
        InputError: it has no ladder; the message says what to do.
    """
    chosen = [family for name, family in families().items() if not names or {name, family.group} & {*names}]
    folder = ROOT / source
    if (folder / LADDER).is_file():
        return read_summary(read_json(folder / LADDER), f"{source}/{LADDER}", chosen)
    if folder.is_dir():
        raise InputError(f"{source}/{LADDER}: no such file; run `dvc repro` there first")
    return read_summary(json.loads(_of_revision(source)), f"{source}: {LADDER}", chosen)


def _of_revision(revision: str) -> str:
    from dvc import api
    from dvc.exceptions import DvcException
    from dvc.scm import SCMError  # from git: no repository, no such revision

    try:
        return str(api.read(str(LADDER), repo=str(ROOT), rev=revision))
    except (DvcException, SCMError, OSError) as error:
        raise InputError(
            f"{revision}: neither a folder nor a commit with a {LADDER} ({str(error) or type(error).__name__}). A "
            "commit has one if dvc.lock is committed after `dvc repro` (git add dvc.lock; git commit) and DVC's cache "
            "holds the file (else: dvc pull)"
        ) from error


def write_across(sources: Sequence[str], ladders: Sequence[str], columns: Sequence[str]) -> None:
    """Print rungs × data sets, and write it as Markdown and CSV.

    Raises:
        InputError: fewer than two sources, or one given twice; a source without figures; no such measure.
    """
    if len(sources) < 2 or len({*sources}) < len(sources):
        raise InputError(f"--across {' '.join(sources)}: give two or more different sources: folders or commits")
    runs = [load(source, ladders) for source in sources]
    tables, names = across(runs, columns), [_name(source) for source in sources]
    if len({*names}) < len(names):
        names = list(sources)
    data_lines = [f"{name}: {_data(run)}" for name, run in zip(names, runs, strict=True)]
    text = across_markdown(tables, names)
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(across_rows(tables, names))
    print(printable(text), *map(printable, data_lines), sep="\n")
    for ending, content in (
        ("md", text + "".join(f"\n- {line}" for line in data_lines) + "\n"),
        ("csv", buffer.getvalue()),
    ):
        write_text(ROOT / f"{ACROSS}.{ending}", content)
    print(f"compare: → {ACROSS}.md, {ACROSS}.csv")


def _name(source: str) -> str:
    """The heading of a data set's column."""
    return "here" if source == "." else Path(source).name or source


def _data(run: ReportInputs) -> str:
    """The data sets of a run, and its other choices."""
    return ", ".join(f"{key}={value}" for key, value in run.meta if value is not None)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", nargs="?", default="HEAD", help="a commit or a folder (default: HEAD)")
    parser.add_argument("b", nargs="?", default=".", help="the same (default: the working tree)")
    parser.add_argument(
        "--across", nargs="+", default=[], metavar="SOURCE", help="sources: a table of rungs × data sets"
    )
    parser.add_argument("--ladder", choices=list(families()), action="append", help="only this ladder; may be repeated")
    parser.add_argument("--columns", default="", help="titles of the measures, separated by commas")
    chosen = parser.parse_args(arguments)
    console = Console() if Console().is_terminal else Console(width=WIDTH)
    columns = [title.strip() for title in chosen.columns.split(",") if title.strip()]
    try:
        if chosen.across:
            write_across(chosen.across, chosen.ladder or (), columns)
            return
        a, b = load(chosen.a, chosen.ladder or ()), load(chosen.b, chosen.ladder or ())
        tables = compare(a, b, columns)
    except InputError as error:
        print(f"compare: {error}", file=sys.stderr)
        sys.exit(2)
    for letter, source, run in (("A", chosen.a, a), ("B", chosen.b, b)):
        name = "the working tree" if source == "." else source
        console.print(printable(f"{letter}: {name} ({_data(run)})"), highlight=False, markup=False)
    for key, (before, after) in differing(a.meta, b.meta).items():
        text = printable(f"They differ in {key}: {before} → {after}")
        console.print(text, style="yellow", highlight=False, markup=False)
    for table in tables:
        console.print("", drawn(table, console.width), sep="\n")


if __name__ == "__main__":
    main()
