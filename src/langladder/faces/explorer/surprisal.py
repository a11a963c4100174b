"""One text under every language model: the surprisal of each token and word, with the truth if it is known."""

import json
from itertools import groupby, islice
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.answers.kinds import approach_of
from langladder.answers.surprisal import guess, surprisal
from langladder.faces.explorer import microworld
from langladder.faces.explorer.page import ModelName, Page, each_model
from langladder.faces.http.server import Json, streamed
from langladder.faces.http.shelf import Shelf
from langladder.faces.report.selection import colours_of, hue_of

MOST_CHARACTERS = 20_000
MOST_MODELS = 40
PROBES = 4  # of each number of clauses

Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]


class Scoring(BaseModel):
    """One text, or two to compare."""

    texts: list[Text] = Field(min_length=1, max_length=2)
    models: list[ModelName] = Field(max_length=MOST_MODELS)


class Place(BaseModel):
    """A token of a text, by its position for this model."""

    model: ModelName
    text: Text
    place: int = Field(ge=0, le=MOST_CHARACTERS)


class Truth(BaseModel):
    """Texts to compare with the truth."""

    texts: list[Text] = Field(min_length=1, max_length=2)


def router(shelf: Shelf) -> APIRouter:
    """The API of the page."""
    routes = APIRouter()

    @routes.post("/score", response_class=StreamingResponse)
    def score(request: Scoring) -> StreamingResponse:
        """Surprisal of each token and word, one event per model; tokens: [space before, text, bits, word, known].

        `hue` is the number of the model's colour, as in the report.
        """
        folders = shelf.folders_of("lm")
        hues = colours_of(
            {name: hue_of(approach_of(folders[name]) or "") for name in request.models if name in folders}
        )
        return streamed(
            each_model(
                request.models, lambda name: {"texts": _scores(shelf, name, request.texts), "hue": hues.get(name)}
            )
        )

    @routes.post("/next")
    def likeliest(request: Place) -> Json:
        """The five likeliest tokens at one position, and the entropy of the model's distribution there."""
        rung = shelf.language_model(request.model)
        with rung.lock:
            return guess(rung.model, rung.tokenizer, request.text, request.place)._asdict()

    @routes.post("/truth")
    def true(request: Truth) -> Json:
        """Surprisal and entropy of each word under microworld's own process; `known`: false for another corpus."""
        if not microworld.learnt(shelf.project):
            return {"known": False, "texts": []}
        return {"known": True, "texts": [microworld.true_words(text) for text in request.texts]}

    @routes.post("/probes")
    def probes() -> list[Json]:
        """Some pairs of a grammatical and an ungrammatical sentence, if the corpus has them."""
        return _probes(shelf)

    return routes


def _scores(shelf: Shelf, name: str, texts: list[str]) -> list[Json]:
    rung = shelf.language_model(name)
    scores: list[Json] = []
    for text in texts:
        with rung.lock:
            scores.append(surprisal(rung.model, rung.tokenizer, text)._asdict())
    return scores


def _probes(shelf: Shelf) -> list[Json]:
    file = shelf.project / "data" / "raw" / "text" / "truth" / "agreement.jsonl"
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
