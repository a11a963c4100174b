"""How commands answer: tables for people, JSON for machines.

Into a pipe or file go plain text lines as long as they need to be; on a terminal long words are folded, never cut, and
control characters of what a model says are shown, not obeyed (`langladder.ground.errors.printable`).
"""

import json
import re
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from langladder.ground.errors import Damage, InputError, printable
from langladder.ground.remote import located

if TYPE_CHECKING:
    from langladder.embeddings.base import WordVectors
    from langladder.text.words.normalisation import Normalisation

Function = TypeVar("Function", bound=Callable[..., Any])
Cell = str | int | float | None

_WIDE = 100_000  # columns of a pipe


def vectors_argument(function: Function) -> Function:
    """The argument VECTORS, first of every command, and the option --damaged, as `damage`."""
    damaged = click.option(
        "--damaged",
        "damage",
        type=click.Choice(["skip", "strict"]),
        default="skip",
        show_default=True,
        callback=lambda _context, _option, policy: Damage(policy),
        help="Damaged entries of VECTORS: skip leaves them out and counts them, strict refuses the file.",
    )
    return click.argument("vectors", metavar="VECTORS", callback=_there)(damaged(function))


def read_given(vectors: str, damage: Damage) -> "WordVectors":
    """The word vectors that a command was given; of entries left out, a warning goes to the standard error.

    Raises:
        InputError: see `read_vectors`.
    """
    from langladder.formats.vector_files import read_vectors

    return read_vectors(vectors, damage)


def _there(context: click.Context, _: click.Parameter, vectors: str) -> str:
    """What is given first must be there: a word in its place is the likeliest slip."""
    if not context.resilient_parsing and not located(vectors).exists():
        first = "what comes first is where the word vectors are, such as models/embedding/skipgram"
        raise InputError(f"{vectors}: no such file or folder; {first}")
    return vectors


def json_option(function: Function) -> Function:
    """The option --json, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")(function)


def echo(text: str, err: bool = False) -> None:
    """Print a text; on a terminal, and on stderr, without its control characters."""
    click.echo(printable(text) if err or sys.stdout.isatty() else text, err=err)


def note_normalised(
    normalisation: "Normalisation", texts: Sequence[str], what: str, known: Container[str] = frozenset()
) -> None:
    """Say once, on stderr, that texts that were asked for are not written as the training text was, and are now.

    Args:
        what: such texts in the plural: `lines`, `words`.
        known: those of them that are taken as they are.
    """
    changed, names = normalisation.changing([text for text in texts if text not in known])
    if changed:
        some, by = f"{changed:,} of {len(texts):,} {what}", ", ".join(names)
        verb = "was" if changed == 1 else "were"
        echo(f"note: {some} {verb} normalised as the training text was ({by})", err=True)


def print_json(value: Any, damage: Damage | None = None) -> None:
    """Print one JSON document; on a terminal, control characters that JSON may hold as they are, escaped.

    Where entries of a file were left out, `skipped` says which.
    """
    text = as_text(value | {"skipped": damage.report()} if damage and damage.counts else value)
    if sys.stdout.isatty():
        text = re.sub(r"[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text)
    click.echo(text)


def as_text(value: Any) -> str:
    """A JSON document as it is printed and written.

    Raises:
        InputError: a number in it is not finite.
    """
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    except ValueError as error:
        raise InputError(
            "the answer has a number that is not finite: the model's own numbers are beyond use"
        ) from error


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], title: str | None = None) -> None:
    """Print a table; numbers stand to the right, floats with four decimals, None as a dash; no rows, no table."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = list(rows)
    if not rows:
        return
    terminal = sys.stdout.isatty()
    width, colours = (None, "auto") if terminal else (_WIDE, None)
    console = Console(width=width, color_system=colours, force_terminal=terminal, highlight=False)  # type: ignore[arg-type]
    table = Table(box=box.SIMPLE_HEAD, title=None if title is None else Text(printable(title)), title_justify="left")
    for place, column in enumerate(columns):
        numeric = any(isinstance(row[place], int | float) for row in rows)
        table.add_column(Text(printable(column)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(_shown(cell))) for cell in row))  # `Text`: a word such as [bold] is no markup
    console.print(table)


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:.4f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def interval(figure: Sequence[float] | None) -> str | None:
    """A 95 % interval as text."""
    return None if figure is None else f"{figure[0]:.3f} … {figure[1]:.3f}"
