"""`langladder analogy`: a is to b as c is to …, for three words or a file of questions."""

from typing import TYPE_CHECKING

import click

from langladder.faces.cli.options import json_option, vectors_argument
from langladder.faces.cli.output import interval, print_json, print_table, read_vectors_argument
from langladder.faces.cli.words import file_of, note_spelled
from langladder.ground.errors import Damage

if TYPE_CHECKING:
    from langladder.embeddings.base import AnalogyMethod, WordVectors

METHODS: dict[str, "AnalogyMethod"] = {"add": "3cosadd", "mul": "3cosmul"}


@click.command()
@vectors_argument
@click.argument("asked", nargs=-1, required=True, metavar="A B C | FILE")
@click.option("-k", "--count", type=click.IntRange(min=1), default=5, show_default=True, help="Answers to show.")
@click.option("--method", type=click.Choice([*METHODS]), default="add", show_default=True, help="3CosAdd or 3CosMul.")
@click.option("--restrict", type=click.IntRange(min=1), help="Answer from the most frequent so many words only.")
@json_option
def analogy(
    vectors: str, damage: Damage, asked: tuple[str, ...], count: int, method: str, restrict: int | None, as_json: bool
) -> None:
    """A is to B as C is to …: the best answers.

    With a FILE (or folder) in the form of Google's question set, how many of its questions are answered right; there
    the case of words does not matter, and questions with a word that has no vector are left out.

    \b
    Examples:
      langladder analogy models/embedding/skipgram man woman king
      langladder analogy vectors.bin questions-words.txt --method mul --restrict 30000
    """
    if len(asked) not in (1, 3):
        raise click.UsageError(f"{len(asked)} words: an analogy asks three, A B C (or give one file of questions)")
    known = read_vectors_argument(vectors, damage)
    if len(asked) == 1:
        _answer_file(known, asked[0], METHODS[method], restrict, damage, as_json)
        return
    from langladder.evaluation.word_questions import analogy as answers_to

    note_spelled(known, asked)
    answers = answers_to(known, asked, count, METHODS[method], restrict)
    if as_json:
        print_json({"a": asked[0], "b": asked[1], "c": asked[2], "method": METHODS[method], "answers": answers}, damage)
        return
    title = "{} is to {} as {} is to".format(*asked)
    rows = [[place, answer["word"], answer["score"]] for place, answer in enumerate(answers, start=1)]
    print_table(["", title, "cosine" if method == "add" else "3CosMul"], rows)


def _answer_file(
    vectors: "WordVectors", path: str, method: "AnalogyMethod", restrict: int | None, damage: Damage, as_json: bool
) -> None:
    from langladder.evaluation.analogy import evaluate_analogies

    questions = file_of(vectors, path, "an analogy asks three words, A B C, or one file of questions")
    found = evaluate_analogies(vectors, questions, restrict_vocabulary=restrict, method=method)
    if as_json:
        print_json(found.model_dump(mode="json", exclude={"cosmul"}), damage)
        return
    totals = {"all": found.overall, "semantic": found.semantic, "syntactic": found.syntactic}
    named = [(section.name, section) for section in found.sections]
    figures = [*named, *((name, figure) for name, figure in totals.items() if figure)]
    print_table(
        ["section", "right", "95 % interval", "answered", "questions"],
        [[name, f.accuracy, interval(f.interval), f.answered, f.questions] for name, f in figures],
    )
