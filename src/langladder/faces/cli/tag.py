"""`langladder tag`: a tag for each word of the sentences of a file, of a pipe, or of a conversation."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from langladder.faces.cli.output import json_option, note_normalised, print_json, print_table
from langladder.faces.cli.reading import asked, is_folder, lines_given
from langladder.ground.errors import InputError, printable

if TYPE_CHECKING:
    from langladder.models.tagger import Tagger
    from langladder.text.words.segmenters import WordChoice

COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_red", "bright_cyan", "bright_green", "bright_yellow")
CHUNK = 512  # sentences tagged together


@click.command(short_help="Tag the words of sentences, of a file, or of what comes through a pipe.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("given", nargs=-1, metavar="[FILE | SENTENCE]...")
@click.option("--explain", is_flag=True, help="Show how likely each tag is, and the second best.")
@click.option(
    "--words",
    "mode",
    type=click.Choice(["whitespace", "apart", "auto", "separated", "unicode", "jieba", "fugashi", "pythainlp"]),
    default="whitespace",
    show_default=True,
    help="What a word is: whitespace, what stands between spaces; apart, the same without the punctuation at its ends; "
    "unicode, a run of letters; jieba, fugashi, pythainlp: as these cut Chinese, Japanese, Thai.",
)
@json_option
def tag(model: Path, given: tuple[str, ...], explain: bool, mode: "WordChoice", as_json: bool) -> None:
    """Tag the words of each SENTENCE, and of those in each FILE, one a line (also .gz; - is the standard input).
    As many lines come out as went in: a blank one is answered by an empty one.

    Without any, read what comes through a pipe, or ask for sentences. MODEL is a folder that the pipeline wrote. Words
    should look as in the training text, punctuation apart: `the dog sleeps .`; --words apart takes it off.

    The probability of a tag is that given the whole sentence (the marginal); on a terminal each tag has its colour.

    \b
    Examples:
      langladder tag models/tagger/bilstm_crf "the dog sleeps ." --explain
      langladder tag models/tagger/hmm sentences.txt --json
      langladder tag models/tagger/bilstm_crf
    """
    loaded = read_tagger(model)
    if not given and sys.stdin.isatty():
        _converse(loaded, mode, explain, as_json)
        return
    from langladder.faces.http.tagging import tag_lines

    lines = [line for _, line in lines_given(given)]
    note_normalised(loaded.normalisation, lines, "lines")
    answers: list[dict[str, Any]] = []
    for first in range(0, len(lines), CHUNK):
        part = tag_lines(loaded, lines[first : first + CHUNK], mode, explain)
        if as_json:
            answers += part
        else:
            _show(loaded, part, explain)
    if as_json:
        print_json({"sentences": answers})


def read_tagger(folder: Path) -> "Tagger":
    """A tagger out of a folder of the pipeline. Raises InputError for anything else."""
    if not is_folder(str(folder)) or not (folder / "config.json").is_file():
        raise InputError(f"{folder}: not a tagger (a folder with config.json); see models/tagger/")
    from langladder.models.tagger import Tagger

    return Tagger.load(folder)


def _show(model: "Tagger", answers: Sequence[dict[str, Any]], explain: bool) -> None:
    for answer in answers:
        tagged = zip(answer["words"], answer["tags"], strict=True)
        # into a pipe or file click leaves the colours out
        shown = printable if sys.stdout.isatty() else str
        pairs = (f"{shown(word)}/{click.style(shown(name), fg=_colour(model, name))}" for word, name in tagged)
        click.echo(" ".join(pairs))
        if explain and answer["words"]:
            keys = ("words", "tags", "probabilities", "second", "second_probabilities")
            rows = list(zip(*(answer[key] for key in keys), strict=True))
            print_table(["word", "tag", "p", "second best", "p"], rows)


def _colour(model: "Tagger", name: str) -> str:
    return COLOURS[model.tags.index(name) % len(COLOURS)]


def _converse(model: "Tagger", mode: "WordChoice", explain: bool, as_json: bool) -> None:
    from langladder.faces.http.tagging import tag_lines

    for line in asked("A sentence a line, words apart from punctuation; Ctrl-D ends."):
        if not line.strip():
            continue
        (answer,) = tag_lines(model, [line], mode, explain)
        print_json(answer) if as_json else _show(model, [answer], explain)
