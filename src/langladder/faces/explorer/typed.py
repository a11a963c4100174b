"""Typed texts: how models read them, the words they do not know; and example sentences from the run's own test data.

Both come from `data/clean/` of the explored folder: the words from the training split of the text that a kind
of model learns from, the sentences from its test split. If a folder has no data, a word is unknown if the model
itself has no token for it, and pages begin with a sentence of microworld.
"""

import json
from collections.abc import Iterable
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Annotated, NamedTuple, cast

from fastapi import APIRouter
from pydantic import BaseModel, Field

from langladder.answers.classify import words_of_tree
from langladder.answers.unknown import (
    Lexicon,
    as_read,
    in_project,
    lexicon_of,
    rows_of,
    table_of,
    texts_of,
    training_words,
    unknown_words,
    words_of_table,
)
from langladder.faces.explorer import microworld
from langladder.faces.explorer.page import ModelName
from langladder.faces.http.server import Json
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError
from langladder.text.words.segmentation import splitter_of

NAME = "typed"
AT_ONCE = 8
MOST_CHARACTERS = 20_000
MOST_MODELS = 60
LOOKED_AT = 2_000  # rows of the test split among which examples are looked for
SIZE = 10**7  # approximate bytes of memory of words, a tokenizer or examples
EXAMPLES = 4
LONGEST = 110  # characters of an example
LONGEST_LABELLED = 300

AS_WRITTEN = Lexicon(None, None)
"""Words as the text has them, for examples, which several models read."""


class Example(NamedTuple):
    """A sentence of the test data; `about`: metadata, such as its label."""

    text: str
    about: str = ""


CASES = {
    "labels": (
        Example("((((the) (cakes)) ((were) ((not) ((very) (ugly))))) (.))", "a review as a tree"),
        Example("the cakes were not very ugly .", "the same as a text"),
        Example("the soup was stupid , but the pie was really lovely .", "order decides"),
        Example("(((mary) ((doubted) ((that) (((the) (violins)) ((were) (ugly)))))) (.))", "who doubted that"),
        Example("(((mary) ((knew) ((that) (((the) (violins)) ((were) (ugly)))))) (.))", "who knew that"),
    ),
    "tags": (
        Example("the lost sails near the ship roll .", "noun or verb?"),
        Example("anna followed the sad cook from paris .", "names"),
    ),
}
"""Side → texts for the page Read that are hard for its models."""


class TypedText(BaseModel):
    """A text, and the models that read it."""

    text: str = Field(max_length=MOST_CHARACTERS)
    models: list[ModelName] = Field(max_length=MOST_MODELS)


class UnknownRequest(BaseModel):
    """The texts of a page."""

    asked: Annotated[list[TypedText], Field(max_length=3)]


def router(shelf: Shelf) -> APIRouter:
    """The API of the pages."""
    routes = APIRouter()

    @routes.post("/unknown")
    def unknown(request: UnknownRequest) -> list[Json]:
        """The words of each text that some models do not know; one object for models that read them alike.

        `models`; `words` of the text, `count` of them unknown; `unknown`, each with the `pieces` that are read instead
        and the known spelling `written`, if there is one; `by`: the source, the `training` text, the model's
        own `list` of words, or only its `tokenizer`, if the training text is missing; `normalised`: the steps of
        the training text that changed the text.
        """
        return [word for typed_text in request.asked for word in _unknown_of(shelf, typed_text)]

    return routes


def _unknown_of(shelf: Shelf, typed_text: TypedText) -> list[Json]:
    words: dict[str, Json] = {}
    for name in dict.fromkeys(typed_text.models):
        try:
            folder = shelf.find(name)
            lexicon = in_project(shelf.load("lexicon", folder, lexicon_of, SIZE), folder, shelf.project)
            training = training_words(folder, lexicon, partial(_words_of_side, shelf, lexicon=lexicon))
        except InputError:
            continue  # its own answer says what is wrong
        (text,) = as_read(folder, [typed_text.text])
        coverage = {**unknown_words(text, lexicon, training), "normalised": lexicon.normalisation.changing([text])[1]}
        by = "list" if lexicon.listed is not None else "tokenizer" if training is None else "training"
        same = words.setdefault(f"{by} {json.dumps(coverage)}", {"models": list[str](), **coverage, "by": by})
        cast("list[str]", same["models"]).append(name)
    return list(words.values())


def _words_of_side(shelf: Shelf, side: str, lexicon: Lexicon = AS_WRITTEN) -> frozenset[str] | None:
    """The words of the training texts of a side, as a lexicon folds them; None if they are missing."""
    table = table_of(shelf.project, side, "train")
    if table is None:
        return None
    key = f"words {lexicon.words_by} {lexicon.lowercase}"
    return shelf.load(key, table, lambda file: words_of_table(file, side, lexicon), SIZE)


def examples(shelf: Shelf, side: str) -> list[Example]:
    """A few short texts of a side's test split whose words all occur in training; none if there is no data.

    Args:
        side: a folder of data/clean/; `documents` and `beginnings`: the first lines of documents of `text`, the first
            half of its lines; `instructions`: drawn by microworld's grammar, if that was learnt; `cases`: `CASES`
            whose words are known.
    """
    if side == "instructions":
        chosen = microworld.examples() if microworld.learnt(shelf.project) else []
        return [
            Example(example["text"], example["kind"].replace("_", " "))
            for example in chosen[:: microworld.EXAMPLES][:EXAMPLES]
        ]
    if side == "cases":
        return _cases(shelf)
    of = "text" if side in ("documents", "beginnings") else side
    table = table_of(shelf.project, of, "test")
    try:
        known = _words_of_side(shelf, of)
        if table is None or not known:
            return []
        tagged = _words_of_side(shelf, "tags") if of == "labels" else None  # taggers read it, too
        also = tagged or frozenset[str]()
        return shelf.load(f"examples of {side}", table, lambda file: _chosen(side, of, file, known, also), SIZE)
    except InputError:
        return []


def _chosen(side: str, of: str, table: Path, known: frozenset[str], also: frozenset[str]) -> list[Example]:
    """Examples whose words are all known, first those whose words are `also` known."""
    rows = list(rows_of(table, of, LOOKED_AT))
    if side == "documents":
        documents = groupby(rows, lambda row: row["document"])
        lines = (list(islice((row["text"] for row in group), 3)) for _, group in documents)
        results = [Example("\n".join(some)) for some in lines]
    elif of == "labels":
        results = [Example(row["tree"] or row["text"], row["label"]) for row in rows if row["second"] is None]
    elif of == "questions":
        results = [Example(row["context"], row["question"]) for row in rows]
    else:
        results = [Example(texts_of(of, row)[0]) for row in rows]
    longest = LONGEST if of in ("parallel", "tags") or side == "text" else LONGEST_LABELLED
    split = splitter_of(AS_WRITTEN.words_by)
    words = {example: split(words_of_tree(example.text)) for example in results if len(example.text) <= longest}
    met = [example for example in results if len(words.get(example, ())) >= 3 and known.issuperset(words[example])]
    if of == "labels":
        met = _one_each(sorted(met, key=lambda example: not also.issuperset(words[example])))
    if side == "beginnings":
        met = [Example(_first_half(example.text, words[example])) for example in met]
    return list({example.text: example for example in met}.values())[:EXAMPLES]


def _first_half(text: str, words: list[str]) -> str:
    """A text up to the end of the first half of its words, which need not be separated by spaces."""
    end = 0
    for word in words[: len(words) // 2]:
        end = text.index(word, end) + len(word)
    return text[:end]


def _cases(shelf: Shelf) -> list[Example]:
    """Those of `CASES` whose words all occur in the training text of their side; all if there is none."""
    results = []
    for side, cases in CASES.items():
        known = _words_of_side(shelf, side)
        results += [case for case in cases if not known or set(words_of_tree(case.text).split()) <= known]
    return results


def _one_each(results: Iterable[Example]) -> list[Example]:
    """The examples with alternating labels, so that the first few have different ones."""
    turns: dict[str, int] = {}
    numbered = []
    for example in results:
        turns[example.about] = turns.get(example.about, 0) + 1
        numbered.append((turns[example.about], example))
    return [entry for _, entry in sorted(numbered, key=lambda pair: pair[0])]
