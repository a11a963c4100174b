"""`langladder classify`: a label for each text of a file, of a pipe, or of a conversation, and why."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from langladder.faces.cli.output import echo, json_option, note_normalised, print_json, print_table
from langladder.faces.cli.reading import asked, is_folder, lines_given
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.faces.http.labelling import Answer
    from langladder.models.classifier import Classifier

CHUNK = 256  # texts read together: enough for like lengths to stand together, few enough to see answers come


@click.command(short_help="Label texts, a file, or what comes through a pipe.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("given", nargs=-1, metavar="[FILE | TEXT]...")
@click.option("--explain", is_flag=True, help="Show how much each word speaks for the label, or against it.")
@click.option("--top", type=click.IntRange(1, 1000), default=1, show_default=True, help="Labels to show.")
@json_option
def classify(model: Path, given: tuple[str, ...], explain: bool, top: int, as_json: bool) -> None:
    """Label each TEXT, and the texts in each FILE, one a line (also .gz; - is the standard input).
    As many answers come out as lines went in: a blank one has no label.

    Without any, read what comes through a pipe, or ask for texts. MODEL is a folder that the pipeline wrote. Two texts
    of a pair stand on a line with a tab between them; a classifier of trees reads bracketed trees, one a line.

    On a terminal a table answers; into a pipe go lines of label, probability and text, with tabs between them.

    \b
    Examples:
      langladder classify models/classifier/logistic reviews.txt --top 2
      langladder classify models/classifier/bilstm "the film was not boring ." --explain
      langladder classify models/classifier/tree_lstm "((not) (boring))" --explain
    """
    loaded = read_classifier(model)
    if not given and sys.stdin.isatty():
        _converse(loaded, explain, top, as_json)
        return
    from langladder.faces.http.labelling import BLANK, answer, parsed

    lines = list(lines_given(given))
    note_normalised(loaded.normalisation, [line for _, line in lines], "lines")
    texts = [parsed(loaded, line, where) if line.strip() else BLANK for where, line in lines]
    answers: list[Answer] = []
    for first in range(0, len(texts), CHUNK):
        part = answer(loaded, texts[first : first + CHUNK], top, explain)
        if as_json:
            answers += part
        else:
            _show(part, legend=first == 0)
    if as_json:
        print_json({"labels": loaded.labels, "texts": [one.as_dict() for one in answers]})


def read_classifier(folder: Path) -> "Classifier":
    """A classifier out of a folder of the pipeline. Raises InputError for anything else."""
    if not is_folder(str(folder)) or not (folder / "config.json").is_file():
        raise InputError(f"{folder}: not a classifier (a folder with config.json); see models/classifier/")
    from langladder.models.classifier import Classifier

    return Classifier.load(folder)


def _show(answers: "list[Answer]", *, legend: bool = False) -> None:
    if any(one.explained is not None for one in answers):
        from langladder.faces.cli.weights_shown import explanation, legend_line

        if legend:
            click.echo(legend_line())
        for one in answers:
            click.echo(explanation(one) if one.explained is not None else "")
    elif not sys.stdout.isatty():
        for one in answers:
            echo("\t".join([*(f"{label}\t{p:.4f}" for label, p in one.top), one.line]))
    else:
        most = max((len(one.top) for one in answers), default=0)
        columns = ["label", "p", *(name for place in range(2, most + 1) for name in (f"{place}.", "p")), "text"]
        rows = [
            [
                *(cell for found in one.top for cell in found),
                *[""] * 2 * (most - len(one.top)),
                one.line.replace("\t", " ‖ "),
            ]
            for one in answers
        ]
        print_table(columns, rows)


def _converse(model: "Classifier", explain: bool, top: int, as_json: bool) -> None:
    from langladder.faces.http.labelling import answer, parsed

    legend = True
    for line in asked("A text a line; Ctrl-D ends."):
        if not line.strip():
            continue
        try:
            found = answer(model, [parsed(model, line)], top, explain)
        except InputError as error:
            echo(f"Error: {error}", err=True)
            continue
        print_json(found[0].as_dict()) if as_json else _show(found, legend=legend)
        legend = False
