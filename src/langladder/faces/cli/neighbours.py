"""`langladder neighbours`: the words nearest to a word."""

from typing import TYPE_CHECKING

import click

from langladder.faces.cli.options import json_option, vectors_argument
from langladder.faces.cli.output import print_json, print_table, read_vectors_argument
from langladder.faces.cli.words import note_spelled
from langladder.ground.errors import Damage

if TYPE_CHECKING:
    from langladder.evaluation.similarity import Measure

COLUMNS = {"cosine": "cosine", "dot": "dot product", "euclidean": "distance"}


@click.command()
@vectors_argument
@click.argument("words", nargs=-1, required=True)
@click.option(
    "-k", "--count", type=click.IntRange(min=1), default=10, show_default=True, help="Neighbours of each word."
)
@click.option("--measure", type=click.Choice([*COLUMNS]), default="cosine", show_default=True, help="What near means.")
@json_option
def neighbours(
    vectors: str, damage: Damage, words: tuple[str, ...], count: int, measure: "Measure", as_json: bool
) -> None:
    """The words nearest to each of WORDS.

    \b
    Example:
      langladder neighbours models/embedding/skipgram king Paris -k 5
    """
    from langladder.evaluation.word_questions import nearest

    known = read_vectors_argument(vectors, damage)
    note_spelled(known, words)
    found = {word: nearest(known, word, count, measure) for word in words}
    if as_json:
        answers = [{"word": word, "nearest": near} for word, near in found.items()]
        print_json({"measure": measure, "neighbours": answers}, damage)
        return
    for word, near in found.items():
        rows = [[place, other["word"], other["score"]] for place, other in enumerate(near, start=1)]
        print_table(["", f"nearest to {word}", COLUMNS[measure]], rows)
