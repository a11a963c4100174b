"""The output of commands: tables for people, JSON for machines; and where commands may write.

A pipe or file gets plain text lines of any length. On a terminal, long words are wrapped, never cut, and control
characters in a model's output are printed visibly instead of executed (`langladder.ground.errors.printable`).

A command never overwrites anything without --overwrite, and never what it reads. Everything is checked before the work
begins. Even with --overwrite, a folder is replaced only if it is of the kind that the command writes
(`langladder.ground.atomic`). Links are followed, as by a shell's `>`, and `-` is the standard output.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

import click

from langladder.ground.atomic import Owner, check_file, check_folder
from langladder.ground.errors import CONTROL, Damage, InputError, printable
from langladder.ground.remote import File, Remote

Target = TypeVar("Target", bound=File)
Cell = str | int | float | None

STDOUT = Path("-")
_PIPE_COLUMNS = 100_000


def echo(text: str, err: bool = False) -> None:
    """Print a text; on a terminal and on stderr, without control characters."""
    click.echo(printable(text) if err or sys.stdout.isatty() else text, err=err)


def note(text: str | None) -> None:
    """Print a note about the answer on stderr, if there is one."""
    if text is not None:
        echo(f"note: {text}", err=True)


def note_reading(model: Path, texts: Sequence[str]) -> None:
    """Print that some texts were normalised, and which words a model has not met: its answer says little about them."""
    from langladder.answers.unknown import reading_notes

    for entry in reading_notes(model, texts):
        note(entry)


def print_json(value: object, damage: Damage | None = None) -> None:
    """Print one JSON document; on a terminal, all control characters are escaped.

    If entries of a file were skipped, `skipped` lists them.
    """
    if damage and damage.counts and isinstance(value, dict):
        value = {**value, "skipped": damage.report()}
    text = as_text(value)
    if sys.stdout.isatty():
        text = CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    click.echo(text)


def as_text(value: object) -> str:
    """A JSON document as it is printed and written.

    Raises:
        InputError: a number in it is not finite.
    """
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    except ValueError as error:
        raise InputError("the answer has a number that is not finite: the model's weights are unusable") from error


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], title: str | None = None) -> None:
    """Print a table: numbers right-aligned, floats with four decimals, None as a dash; nothing if there are no rows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = list(rows)
    if not rows:
        return
    terminal = sys.stdout.isatty()
    width, colours = (None, "auto") if terminal else (_PIPE_COLUMNS, None)
    console = Console(width=width, color_system=colours, force_terminal=terminal, highlight=False)  # type: ignore[arg-type]
    table = Table(box=box.SIMPLE_HEAD, title=None if title is None else Text(printable(title)), title_justify="left")
    for number, column in enumerate(columns):
        numeric = any(isinstance(row[number], int | float) for row in rows)
        table.add_column(Text(printable(column)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(_cell(cell))) for cell in row))  # `Text`: a word such as [bold] is not markup
    console.print(table)


def _cell(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:.4f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def interval(figure: Sequence[float] | None) -> str | None:
    """A 95 % interval as text."""
    return None if figure is None else f"{figure[0]:.3f} … {figure[1]:.3f}"


def claim(
    out: Target,
    overwrite: bool,
    reads: Iterable[Path | str | None] = (),
    folder: Owner | None = None,
    *,
    answers: bool = False,
) -> Target:
    """The path to write to, links followed.

    Args:
        reads: the files and folders that the command reads.
        folder: the kind of folder that is written; None: a file.
        answers: whether something else is printed to the standard output, as with --json.

    Raises:
        InputError: the path exists and `overwrite` is not given, or it is not of this kind, or the command reads it.
    """
    if isinstance(out, Remote):
        if not overwrite and out.exists():
            raise InputError(f"{out}: exists already; give --overwrite to replace it")
        return out
    if out == STDOUT:
        if folder is not None or answers:
            what = (
                "a folder cannot go to the standard output" if folder else "the standard output is used for the answer"
            )
            raise InputError(f"-: {what}; give a path")
        return out
    path = out.resolve() if out.is_symlink() and (out.is_file() or out.is_dir() or not out.exists()) else out
    for read in reads:
        if read is not None and (problem := _overlap(Path(read), path)):
            raise InputError(f"{out}: {problem}; write somewhere else")
    empty = folder is not None and path.is_dir() and not any(path.iterdir())
    if folder is None:
        check_file(path)
    else:
        check_folder(path, folder)
    if not overwrite and not empty and (path.is_file() or path.is_dir()):
        raise InputError(f"{out}: exists already; give --overwrite to replace it")
    return cast(Target, path)


def _overlap(read: Path, path: Path) -> str | None:
    """The problem with a path that the command also reads, whole or in part."""
    if not read.exists() or not (path.is_file() or path.is_dir()):
        return None
    if path.resolve() in read.resolve().parents:
        return f"contains {read}, which this command reads"
    return "is read by this command" if read.samefile(path) or read.resolve() in path.resolve().parents else None


@contextmanager
def to(out: File) -> Iterator[Path]:
    """`out` itself, or a temporary path that is copied to the standard output or the URL at the end."""
    if isinstance(out, Path) and out != STDOUT:
        yield out
        return
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / (out.name if isinstance(out, Remote) else "out")
        yield temporary
        if isinstance(out, Remote):
            from langladder.ground.remote import copy

            copy(temporary, out, overwrite=True)
            return
        with temporary.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def report_written(out: File, line: str) -> None:
    """Print what was written; on stderr if the output itself goes to the standard output."""
    echo(line, err=out == STDOUT)
