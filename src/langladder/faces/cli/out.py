"""Where a command may write: never over what is there without --overwrite, never over what it reads.

Everything is checked before the work begins. A folder is replaced, even if asked, only where it is of the sort that the
command writes (`langladder.ground.atomic`). Links are followed, as a shell's `>` does, and `-` is the standard output.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from langladder.faces.cli.output import echo
from langladder.ground.atomic import Owner, check_file, check_folder
from langladder.ground.errors import InputError
from langladder.ground.remote import File, Remote, located

Function = TypeVar("Function", bound=Callable[..., Any])
Target = TypeVar("Target", bound=File)
STDOUT = Path("-")


class Place(click.ParamType):  # type: ignore[type-arg]
    """A path, or a URL."""

    name = "path or url"

    def convert(self, value: Any, _param: click.Parameter | None, _context: click.Context | None) -> File:
        """What it names."""
        return located(value)


def overwrite_option(function: Function) -> Function:
    """The option --overwrite."""
    return click.option("--overwrite", is_flag=True, help="Replace what is there already.")(function)


def claim(
    out: Target,
    overwrite: bool,
    reads: Iterable[Path | str | None] = (),
    folder: Owner | None = None,
    *,
    answers: bool = False,
) -> Target:
    """The place to write to, links followed.

    Args:
        reads: what the command reads, in files and folders.
        folder: the sort of folder that is written; None: a file.
        answers: whether something else goes to the standard output, as with --json.

    Raises:
        InputError: something is there and `overwrite` is not given, or it is not of this sort, or it is read.
    """
    if isinstance(out, Remote):
        if not overwrite and out.exists():
            raise InputError(f"{out}: exists already; give --overwrite to replace it")
        return out
    if out == STDOUT:
        if folder is not None or answers:
            what = "a folder cannot go to the standard output" if folder else "the standard output has the answer"
            raise InputError(f"-: {what}; name a place")
        return out
    place = out.resolve() if out.is_symlink() and (out.is_file() or out.is_dir() or not out.exists()) else out
    for read in reads:
        if read is not None and (told := _overlap(Path(read), place)):
            raise InputError(f"{out}: {told}; write somewhere else")
    empty = folder is not None and place.is_dir() and not any(place.iterdir())
    if folder is None:
        check_file(place)
    else:
        check_folder(place, folder)
    if not overwrite and not empty and (place.is_file() or place.is_dir()):
        raise InputError(f"{out}: exists already; give --overwrite to replace it")
    return cast(Target, place)


def _overlap(read: Path, place: Path) -> str | None:
    """What is wrong where something that is there already is read, whole or in part."""
    if not read.exists() or not (place.is_file() or place.is_dir()):
        return None
    if place.resolve() in read.resolve().parents:
        return f"holds {read}, which this command reads"
    return "is read by this command" if read.samefile(place) or read.resolve() in place.resolve().parents else None


@contextmanager
def to(place: File) -> Iterator[Path]:
    """`place` itself, or a temporary one that goes to the standard output or behind the URL at the end."""
    if isinstance(place, Path) and place != STDOUT:
        yield place
        return
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / (place.name if isinstance(place, Remote) else "out")
        yield temporary
        if isinstance(place, Remote):
            from langladder.ground.remote import copy

            copy(temporary, place, overwrite=True)
            return
        with temporary.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def tell(place: File, line: str) -> None:
    """Say what was written; on stderr where the standard output carries it."""
    echo(line, err=place == STDOUT)
