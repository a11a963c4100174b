"""`langladder similarity`: how alike two words are, or how well a list of scored pairs is met."""

from typing import TYPE_CHECKING

import click

from langladder.faces.cli.options import json_option, vectors_argument
from langladder.faces.cli.output import interval, print_json, print_table, read_vectors_argument
from langladder.faces.cli.words import file_of, note_spelled
from langladder.ground.errors import Damage

if TYPE_CHECKING:
    from langladder.embeddings.base import WordVectors
    from langladder.evaluation.similarity import Measure


@click.command()
@vectors_argument
@click.argument("asked", nargs=-1, required=True, metavar="WORD WORD | FILE")
@click.option(
    "--measure",
    type=click.Choice(["cosine", "dot", "euclidean"]),
    default="cosine",
    show_default=True,
    help="By what the pairs of a file are ranked.",
)
@json_option
def similarity(vectors: str, damage: Damage, asked: tuple[str, ...], measure: "Measure", as_json: bool) -> None:
    """How alike two words are, or how well scored pairs are met.

    Of two words: cosine, dot product and Euclidean distance.

    With a FILE (or folder) of lines `word word score`, Spearman's correlation between its scores and the vectors; there
    the case of words does not matter, and pairs with a word that has no vector are left out.

    \b
    Examples:
      langladder similarity models/embedding/skipgram king queen
      langladder similarity vectors.bin wordsim353.tsv
    """
    if len(asked) not in (1, 2):
        raise click.UsageError(f"{len(asked)} words: name two, or one file of pairs")
    known = read_vectors_argument(vectors, damage)
    if len(asked) == 2:
        _compare(known, *asked, damage, as_json)
        return
    from langladder.evaluation.similarity import evaluate_similarity

    pairs = file_of(known, asked[0], "name two words to compare, or one file of pairs `word word score`")
    found = evaluate_similarity(known, pairs, measure=measure)
    if as_json:
        print_json(found.model_dump(mode="json"), damage)
        return
    print_table(
        ["pairs of", "Spearman's ρ", "95 % interval", "known", "pairs"],
        [[s.name, s.spearman, interval(s.interval), s.covered, s.pairs] for s in found.sets],
    )


def _compare(vectors: "WordVectors", first: str, second: str, damage: Damage, as_json: bool) -> None:
    from langladder.evaluation.word_questions import compare

    note_spelled(vectors, [first, second])
    figures = compare(vectors, first, second)
    if as_json:
        print_json({"first": first, "second": second} | figures, damage)
        return
    print_table(
        [f"{first} and {second}", ""],
        [
            ["cosine", figures["cosine"]],
            ["dot product", figures["dot"]],
            ["distance", figures["euclidean"]],
        ],
    )
