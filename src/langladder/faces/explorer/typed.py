"""Typed texts: their words that models do not know; and example sentences from the run's own test data.

Both come from `data/clean/` of the explored folder: the words from the training split of the text that a kind
of model learns from, the sentences from its test split. If a folder has no data, a word is unknown if the model
itself has no token for it, and pages begin with a sentence of microworld.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Annotated, NamedTuple, cast

from fastapi import APIRouter
from pydantic import BaseModel, Field

from langladder.answers.classify import words_of_tree
from langladder.answers.kinds import kind_of
from langladder.answers.unknown import Lexicon, lexicon_of, unknown_words, words_of
from langladder.faces.explorer import microworld
from langladder.faces.explorer.page import ModelName
from langladder.faces.http.server import Json
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import INSTRUCTIONS
from langladder.text.labelled.labelled import LABELLED, TAGGED
from langladder.text.labelled.questions import QUESTIONS
from langladder.text.storage.shards import TEXT
from langladder.text.storage.tables import PAIRS, Row, read_batches
from langladder.text.words.normalisation import lower
from langladder.text.words.segmentation import CONVENTIONS, conventions_of, splitter_of

NAME = "typed"
AT_ONCE = 8
MOST_CHARACTERS = 20_000
MOST_MODELS = 60
MOST_ROWS = 1_000_000  # of the training texts that are read: about ten seconds
LOOKED_AT = 2_000  # rows of the test split among which examples are looked for
SIZE = 10**7  # approximate bytes of memory of words, a tokenizer or examples
EXAMPLES = 4
LONGEST = 110  # characters of an example
LONGEST_LABELLED = 300

SIDES = {
    "embedding": "text",
    "lm": "text",
    "encoder": "text",
    "instruct": "text",
    "reward": "text",
    "translator": "parallel",
    "classifier": "labels",
    "tagger": "tags",
    "reader": "questions",
}
"""Kind of model → the text that it learns from, a folder of data/clean/."""
AS_WRITTEN = Lexicon(None, None)
"""Words as the text has them, for examples, which several models read."""


class Example(NamedTuple):
    """A sentence of the test data; `about`: metadata, such as its label."""

    text: str
    about: str = ""


CASES = {
    "labels": (
        Example("((((the) (films)) ((were) ((not) ((very) (tedious))))) (.))", "a review as a tree"),
        Example("the films were not very tedious .", "the same as a text"),
        Example("the soup was not good but the sandwich was really pleasant .", "order decides"),
        Example("(((mary) ((doubts) ((that) (((the) (violins)) ((were) (terrible)))))) (.))", "who doubts that"),
        Example("(((mary) ((knows) ((that) (((the) (violins)) ((were) (terrible)))))) (.))", "who knows that"),
    ),
    "tags": (
        Example("the hammers were hidden and the door was closed .", "adjective or verb?"),
        Example("olga follows the sad gentleman that helped anna in paris .", "names"),
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
        own `list` of words, or only its `tokenizer`, if the training text is missing.
        """
        return [found for asked in request.asked for found in _unknown_of(shelf, asked)]

    return routes


def _unknown_of(shelf: Shelf, asked: TypedText) -> list[Json]:
    found: dict[str, Json] = {}
    for name in dict.fromkeys(asked.models):
        try:
            folder = shelf.find(name)
            lexicon = _lexicon(shelf, folder)
            training = _training_words(shelf, folder, lexicon)
        except InputError:
            continue  # its own answer says what is wrong
        text = words_of_tree(asked.text) if kind_of(folder) in ("classifier", "tagger") else asked.text
        coverage = unknown_words(text, lexicon, training)
        by = "list" if lexicon.listed is not None else "tokenizer" if training is None else "training"
        same = found.setdefault(f"{by} {json.dumps(coverage)}", {"models": list[str](), **coverage, "by": by})
        cast("list[str]", same["models"]).append(name)
    return list(found.values())


def _lexicon(shelf: Shelf, folder: Path) -> Lexicon:
    """The lexicon of a model; its training text defines words if the model does not."""
    lexicon = shelf.load("lexicon", folder, lexicon_of, SIZE)
    side = SIDES.get(kind_of(folder) or "")
    if lexicon.tokenizer is None or side is None or (folder / CONVENTIONS).is_file():
        return lexicon
    text = "source" if side == "parallel" else "text"
    return lexicon._replace(words_by=conventions_of(shelf.project / "data" / "clean" / side, text).words)


def _training_words(shelf: Shelf, folder: Path, lexicon: Lexicon) -> frozenset[str] | None:
    """The words of the training texts of a model, as it folds them; None if they are missing.

    A model with a list of its words needs none.
    """
    kind = kind_of(folder)
    if kind is None or lexicon.listed is not None:
        return None
    sides = [SIDES[kind], "instructions"] if kind in ("instruct", "reward") else [SIDES.get(kind, "text")]
    first, *more = (_words_of_side(shelf, side, lexicon) for side in sides)
    return None if first is None else first.union(*(words for words in more if words is not None))


def _words_of_side(shelf: Shelf, side: str, lexicon: Lexicon = AS_WRITTEN) -> frozenset[str] | None:
    """The words of the training texts of a side, as a lexicon folds them; None if they are missing."""
    table = _table(shelf.project, side, "train")
    if table is None:
        return None

    def read(table: Path) -> frozenset[str]:
        texts = (text for row in _rows(table, side, MOST_ROWS) for text in _texts(side, row))
        return words_of((lower(text) for text in texts) if lexicon.lowercase else texts, lexicon.words_by)

    return shelf.load(f"words {lexicon.words_by} {lexicon.lowercase}", table, read, SIZE)


def examples(shelf: Shelf, side: str) -> list[Example]:
    """A few short texts of a side's test split whose words all occur in training; none if there is no data.

    Args:
        side: a folder of data/clean/; `documents` and `beginnings`: the first lines of documents of `text`, the first
            half of its lines; `instructions`: drawn by microworld's grammar, if that was learnt; `cases`: `CASES`
            whose words are known.
    """
    if side == "instructions":
        world = microworld.learnt(shelf.project)
        found = microworld.examples(world.size) if world else []
        return [Example(one["text"], one["kind"].replace("_", " ")) for one in found[:: microworld.EXAMPLES][:EXAMPLES]]
    if side == "cases":
        return _cases(shelf)
    of = "text" if side in ("documents", "beginnings") else side
    table = _table(shelf.project, of, "test")
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
    rows = list(_rows(table, of, LOOKED_AT))
    if side == "documents":
        documents = groupby(rows, lambda row: row["document"])
        lines = (list(islice((row["text"] for row in group), 3)) for _, group in documents)
        found = [Example("\n".join(some)) for some in lines]
    elif of == "labels":
        found = [Example(row["tree"] or row["text"], row["label"]) for row in rows if row["second"] is None]
    elif of == "questions":
        found = [Example(row["context"], row["question"]) for row in rows]
    else:
        found = [Example(_texts(of, row)[0]) for row in rows]
    longest = LONGEST if of in ("parallel", "tags") or side == "text" else LONGEST_LABELLED
    split = splitter_of(AS_WRITTEN.words_by)
    words = {one: split(words_of_tree(one.text)) for one in found if len(one.text) <= longest}
    met = [one for one in found if len(words.get(one, ())) >= 3 and known.issuperset(words[one])]
    if of == "labels":
        met = _one_each(sorted(met, key=lambda one: not also.issuperset(words[one])))
    if side == "beginnings":
        met = [Example(_first_half(one.text, words[one])) for one in met]
    return list({one.text: one for one in met}.values())[:EXAMPLES]


def _first_half(text: str, words: list[str]) -> str:
    """A text up to the end of the first half of its words, which need not be separated by spaces."""
    end = 0
    for word in words[: len(words) // 2]:
        end = text.index(word, end) + len(word)
    return text[:end]


def _cases(shelf: Shelf) -> list[Example]:
    """Those of `CASES` whose words all occur in the training text of their side; all if there is none."""
    found = []
    for side, cases in CASES.items():
        known = _words_of_side(shelf, side)
        found += [one for one in cases if not known or set(words_of_tree(one.text).split()) <= known]
    return found


def _one_each(found: Iterable[Example]) -> list[Example]:
    """The examples with alternating labels, so that the first few have different ones."""
    turns: dict[str, int] = {}
    numbered = []
    for one in found:
        turns[one.about] = turns.get(one.about, 0) + 1
        numbered.append((turns[one.about], one))
    return [one for _, one in sorted(numbered, key=lambda pair: pair[0])]


def _table(project: Path, side: str, split: str) -> Path | None:
    folder = project / "data" / "clean" / side
    return next((path for path in (folder / split, folder / f"{split}.parquet") if path.exists()), None)


COLUMNS = {
    "text": TEXT,
    "parallel": PAIRS,
    "labels": LABELLED,
    "tags": TAGGED,
    "questions": QUESTIONS,
    "instructions": INSTRUCTIONS,
}


def _rows(table: Path, side: str, most: int) -> Iterator[Row]:
    """The first rows of a table, with the columns that the side needs."""
    batches = read_batches(table, COLUMNS[side])
    return islice((row for batch in batches for row in batch.to_pylist()), most)


def _texts(side: str, row: Row) -> list[str]:
    """The texts of a row that a model reads."""
    if side == "tags":
        return [" ".join(row["words"])]
    if side == "instructions":
        return [message["text"] for message in row["messages"]]
    columns = {"parallel": ("source",), "labels": ("text", "second"), "questions": ("context", "question")}
    return [row[name] for name in columns.get(side, ("text",)) if row[name] is not None]
