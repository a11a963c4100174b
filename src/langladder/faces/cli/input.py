"""What the commands read: arguments that are texts or file names, lines from a pipe, lines typed by the user."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from langladder.faces.cli.output import echo
from langladder.ground.errors import InputError

LONGEST_LINE = 400_000  # bytes; no model reads more at once, and a tokenizer needs 150 times as much memory
TOO_LONG = "; each line is one text: split it"
_NAME = re.compile(r"\S*/\S*|\S+\.(txt|tsv|csv|jsonl?|gz|text)")  # more likely the name of a file than a text


def refuse_broken_text(arguments: list[str]) -> None:
    """Raise a usage error for an argument that is not UTF-8: Python represents such bytes as lone surrogates."""
    for number, argument in enumerate(arguments, start=1):
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise click.UsageError(f"argument {number} ({ascii(argument)[:60]}) is not valid UTF-8 text") from error


def standard_input() -> list[str]:
    """The lines from a pipe.

    Raises:
        InputError: a line is not UTF-8, or longer than `LONGEST_LINE`; the message names the line.
    """
    data = sys.stdin.buffer.read()
    lines = []
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else [], start=1):
        if len(line) > LONGEST_LINE:
            raise InputError(f"standard input:{number}: a line longer than {LONGEST_LINE:,} bytes{TOO_LONG}")
        try:
            lines.append(line.removesuffix(b"\r").decode())
        except UnicodeDecodeError as error:
            where = f"standard input: not UTF-8 in line {number}"
            raise InputError(f"{where} ({error.reason}); convert it first") from error
    return lines


def typed_lines(hint: str) -> Iterator[str]:
    """What the user types after `> `, line by line; Ctrl-D or Ctrl-C ends it.

    Args:
        hint: printed first.
    """
    echo(hint, err=True)
    while True:
        try:
            line = input("> ")
        except (EOFError, KeyboardInterrupt):
            click.echo()
            return
        except UnicodeDecodeError as error:
            echo(f"Error: not UTF-8 ({error.reason})", err=True)
            continue
        yield line


def input_lines(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The texts of some arguments: each line of those that are files, the others as they are, each with its source.

    Args:
        words: of the command line; `-`, or no words, means the standard input.

    Raises:
        InputError: a word looks like a file name but no such file exists; a file is not text, or a line is too long.
    """
    from langladder.text.read.lines import read_lines

    for word in words or ("-",):
        if word == "-":
            yield from ((f"standard input:{number}", line) for number, line in enumerate(standard_input(), start=1))
        elif _is_file(word):
            lines = read_lines(Path(word), max_bytes=LONGEST_LINE, advice=TOO_LONG)
            yield from ((f"{word}:{number}", line) for number, line in enumerate(lines, start=1))
        else:
            yield "", word


def _is_file(word: str) -> bool:
    if not word.strip(" ."):  # Python takes "" for ".", and both for a folder
        return False
    try:
        if Path(word).exists():
            return True
    except (OSError, ValueError):  # a text may be too long for a file name
        return False
    if _NAME.fullmatch(word):
        raise InputError(f"{word[:200]}: no such file (if this is a text and not a file name, pass it through a pipe)")
    return False


def is_folder(word: str) -> bool:
    """Whether a word on the command line names a folder; a sentence may be too long for a file name."""
    try:
        return Path(word).is_dir()
    except (OSError, ValueError):
        return False
