"""One text under every language model: how surprising each token and word is, beside the truth where it is known."""

import json
from collections.abc import Iterator
from itertools import groupby, islice
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.errors import InputError
from langladder.explorer import truth
from langladder.explorer.page import Page
from langladder.explorer.streaming import streamed
from langladder.serving.shelf import Shelf

MOST_CHARACTERS = 20_000
MOST_MODELS = 40
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

    @routes.post("/score", response_class=StreamingResponse)
    def score(asked: Scoring) -> StreamingResponse:
        """Surprisal of each token and word, an event a model; tokens: [white space before, text, bits, word, known]."""
        return streamed(_scores(shelf, asked))

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


def _scores(shelf: Shelf, asked: Scoring) -> Iterator[dict[str, Any]]:
    from langladder.evaluation.surprisal import surprisals

    for name in dict.fromkeys(asked.models):
        try:
            rung = shelf.language_model(name)
            with rung.lock:
                found = surprisals(rung.model, rung.tokenizer, asked.texts)
            yield {"model": name, "texts": [one._asdict() for one in found]}
        except InputError as error:
            yield {"model": name, "error": {"message": str(error)}}


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
