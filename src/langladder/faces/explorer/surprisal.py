"""One text under every language model: how surprising each token and word is, beside the truth where it is known."""

import json
import threading
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.faces.explorer import truth
from langladder.faces.explorer.page import Page
from langladder.faces.explorer.together import Together
from langladder.faces.http.shelf import Rung, Shelf
from langladder.faces.http.streaming import streamed
from langladder.ground.errors import InputError

MOST_CHARACTERS = 20_000
MOST_MODELS = 40
MOST_TOKENS = 8192  # read at a time, of several requests
PROBES = 4  # of each number of clauses

Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Name = Annotated[str, Field(max_length=500)]


class Scoring(BaseModel):
    """One text, or two to compare."""

    texts: list[Text] = Field(min_length=1, max_length=2)
    models: list[Name] = Field(max_length=MOST_MODELS)


class Place(BaseModel):
    """A token of a text, by its number for this model."""

    model: Name
    text: Text
    place: int = Field(ge=0, le=MOST_CHARACTERS)


class Truth(BaseModel):
    """Texts whose truth is asked for."""

    texts: list[Text] = Field(min_length=1, max_length=2)


def router(shelf: Shelf) -> APIRouter:
    """See `Page`."""
    routes = APIRouter()
    together = _Scorers()

    @routes.post("/score", response_class=StreamingResponse)
    def score(asked: Scoring) -> StreamingResponse:
        """Surprisal of each token and word, an event a model; tokens: [white space before, text, bits, word, known]."""
        return streamed(_scores(shelf, together, asked))

    @routes.post("/next")
    def likeliest(asked: Place) -> dict[str, Any]:
        """The five likeliest tokens in the place of one, and the entropy of what the model expects there."""
        from langladder.evaluation.surprisal import guess

        rung = shelf.language_model(asked.model)
        with rung.lock:
            found = guess(rung.model, rung.tokenizer, asked.text, asked.place)
        return found._asdict()

    @routes.post("/truth")
    def true(asked: Truth) -> dict[str, Any]:
        """Surprisal and entropy of each word under microworld's own grammar; `known`: false for another corpus."""
        size = truth.size_of(shelf.place)
        if size is None:
            return {"known": False, "texts": []}
        return {"known": True, "texts": [truth.true_words(size, text) for text in asked.texts]}

    @routes.post("/probes")
    def probes() -> list[dict[str, Any]]:
        """Some pairs of sentences of which one is grammatical, where the corpus brings such."""
        return _probes(shelf)

    return routes


def _scores(shelf: Shelf, together: "_Scorers", asked: Scoring) -> Iterator[dict[str, Any]]:
    from langladder.evaluation.surprisal import row_of, scored

    for name in dict.fromkeys(asked.models):
        try:
            rung = shelf.language_model(name)
            rows = [row_of(rung.tokenizer, text) for text in asked.texts]
            bits = [together.of(rung).ask(row.ids) for row in rows]
            yield {"model": name, "texts": [scored(*one)._asdict() for one in zip(rows, bits, strict=True)]}
        except InputError as error:
            yield {"model": name, "error": {"message": str(error)}}


class _Scorers:
    """Of each model that is loaded, who scores several requests' texts together; gone with the model."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[threading.Lock, Together[list[int], list[float]]] = WeakKeyDictionary()

    def of(self, rung: Rung) -> Together[list[int], list[float]]:
        """Rows of ids → the bits of each."""

        def answer(rows: Sequence[list[int]]) -> list[list[float]]:
            from langladder.evaluation.surprisal import bits_of_rows

            with rung.lock:
                return bits_of_rows(rung.model, rows)

        return self._known.setdefault(rung.lock, Together(answer, size=len, most=MOST_TOKENS))


def _probes(shelf: Shelf) -> list[dict[str, Any]]:
    file = shelf.place / "data" / "raw" / "text" / "truth" / "agreement.jsonl"
    try:
        with file.open(encoding="utf-8") as lines:
            pairs = [json.loads(line) for line in islice(lines, 10_000) if line.strip()]
        pairs = [{key: pair[key] for key in ("good", "bad", "clauses")} for pair in pairs]
        return [pair for _, some in groupby(pairs, lambda pair: pair["clauses"]) for pair in islice(some, PROBES)]
    except (OSError, ValueError, KeyError, TypeError):
        return []


PAGE = Page(
    "surprisal",
    "One text",
    "How surprising each token and each word of a text is to every language model, in bits.",
    "surprisal.html.j2",
    "surprisal.js",
    router,
    at_once=24,
)
