"""`langladder answer`: what a paragraph says to a question, or that it says nothing."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from langladder.faces.cli.output import echo, json_option, print_json, print_table
from langladder.faces.cli.reading import asked, is_folder, lines_given
from langladder.ground.errors import InputError, printable

if TYPE_CHECKING:
    from langladder.models.reader import Found, Reader


@click.command(short_help="Answer questions about a paragraph from what stands in it.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("given", nargs=-1, metavar="[FILE | QUESTION]...")
@click.option(
    "--context", "paragraph", metavar="FILE | TEXT", required=True, help="The paragraph, or a file that has it."
)
@click.option("--option", "options", multiple=True, help='An answer to choose from; give two or more, "" for none.')
@click.option("--best", type=click.IntRange(1, 1000), default=1, show_default=True, help="Answers to show.")
@json_option
def answer(
    model: Path, given: tuple[str, ...], paragraph: str, options: tuple[str, ...], best: int, as_json: bool
) -> None:
    """Answer each QUESTION, and those in each FILE, one a line (also .gz; - is the standard input).

    Without any, read what comes through a pipe, or ask for questions. MODEL is a folder that the pipeline wrote. The
    answer is a span of the paragraph, or one of the options where MODEL chooses among options. On a terminal it is
    marked in the paragraph; into a pipe go lines of answer, first character, score and question, with tabs between; a
    blank line is answered by an empty one.

    \b
    Examples:
      langladder answer models/reader_transfer/bert_span "where does anna live ?" --context text.txt
      langladder answer models/reader/sliding_window questions.txt --context "anna lives in paris ."
      langladder answer models/reader_transfer/gpt_choice "where does anna live ?" --context text.txt
        --option paris --option berlin
    """
    loaded = read_reader(model)
    if options and not loaded.chooses:
        raise InputError(f"--option: {model} finds a span in the paragraph, and chooses among no options")
    if len(options) == 1 or len(set(options)) < len(options):
        raise InputError(f"--option: {list(options)} are not two or more different ones to choose from")
    text = context_given(paragraph)
    if not given and sys.stdin.isatty():
        for line in asked("A question a line; Ctrl-D ends."):
            if line.strip():
                _told(loaded, text, [line], options, best, as_json)
        return
    _told(loaded, text, [line for _, line in lines_given(given)], options, best, as_json)


def read_reader(folder: Path) -> "Reader":
    """A reader out of a folder of the pipeline. Raises InputError for anything else."""
    if not is_folder(str(folder)) or not (folder / "config.json").is_file():
        raise InputError(f"{folder}: not a reader (a folder with config.json); see models/reader/")
    from langladder.models.reader import Reader

    return Reader.load(folder)


def context_given(word: str) -> str:
    """The lines of a file as one paragraph, or the text itself.

    Raises:
        InputError: it is empty, or looks like the name of a file and is none.
    """
    text = " ".join(line.strip() for _, line in lines_given([word]) if line.strip())
    if not text:
        raise InputError(f"--context: {word[:60]!r} is empty")
    return text


def _told(
    model: "Reader", context: str, lines: Sequence[str], options: tuple[str, ...], best: int, as_json: bool
) -> None:
    from langladder.text.labelled.questions import Question

    asked = [Question(context, line.strip(), (), options) for line in lines if line.strip()]
    answers = iter(model.answers(asked, best) if asked else [])
    found = [next(answers) if line.strip() else [] for line in lines]
    if as_json:
        shown = [
            {"question": line, "answers": [_as_dict(one) for one in some]}
            for line, some in zip(lines, found, strict=True)
        ]
        print_json({"context": context, "questions": shown})
        return
    for line, some in zip(lines, found, strict=True):
        if not some:
            click.echo("")
            continue
        if not sys.stdout.isatty():
            for one in some:
                echo(f"{one.text}\t{one.start if one.start >= 0 else ''}\t{one.score:.4f}\t{line}")
            continue
        echo(line)
        click.echo(_marked(context, some[0]))
        rows = [(one.text or "no answer", one.score, one.probability) for one in some]
        print_table(["answer", "score", "p"], rows)


def _marked(context: str, found: "Found") -> str:
    if found.start < 0:
        return printable(context)
    end = found.start + len(found.text)
    answer = click.style(printable(found.text), fg="green", bold=True)
    return printable(context[: found.start]) + answer + printable(context[end:])


def _as_dict(found: "Found") -> dict[str, Any]:
    """As JSON: of what is no span, `start` is null."""
    return found._asdict() | {"start": found.start if found.start >= 0 else None}
