"""One instruction, answered by two models side by side as they write, and judged by microworld's gold judge."""

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.faces.explorer import truth
from langladder.faces.explorer.page import Page
from langladder.faces.http.shelf import Shelf
from langladder.faces.http.streaming import streamed
from langladder.ground.errors import InputError

MOST_CHARACTERS = 2_000
MOST_TOKENS = 200

Name = Annotated[str, Field(max_length=500)]


class Instructing(BaseModel):
    """An instruction, who answers it, and how: temperature 0 takes the likeliest token."""

    instruction: str = Field(max_length=MOST_CHARACTERS)
    models: list[Name] = Field(max_length=4)
    temperature: float = Field(default=0.0, ge=0, le=100, allow_inf_nan=False)
    seed: int = Field(default=0, ge=0, lt=2**32)
    max_tokens: int = Field(default=40, ge=1, le=MOST_TOKENS)


def router(shelf: Shelf) -> APIRouter:
    """See `Page`."""
    routes = APIRouter()

    @routes.post("/examples")
    def examples() -> list[dict[str, str]]:
        """Some instructions of each kind, with a right answer; `shown`: unseen where training has none of the kind."""
        from langladder.faces.explorer.instructing import examples

        return examples(_size(shelf))

    @routes.post("/answer", response_class=StreamingResponse)
    def answer(asked: Instructing) -> StreamingResponse:
        """Events: {"model", "text" so far}; the last of each model has {"end", "judged"}."""
        return streamed(_answers(shelf, asked))

    return routes


def _size(shelf: Shelf) -> Any:
    return truth.size_of(shelf.place) or "small"


def _answers(shelf: Shelf, asked: Instructing) -> Iterator[dict[str, Any]]:
    """The models take turns, a token each, so that both columns grow at once."""
    growing = {name: _one(shelf, name, asked) for name in dict.fromkeys(asked.models)}
    while growing:
        for name, pieces in list(growing.items()):
            try:
                event = next(pieces)
            except InputError as error:
                event = {"error": {"message": str(error)}, "end": "error"}
            if "end" in event:
                del growing[name]
            yield {"model": name} | event


def _one(shelf: Shelf, name: str, asked: Instructing) -> Iterator[dict[str, Any]]:
    from langladder.decoding.sampling import SamplingConfig
    from langladder.faces.explorer.instructing import judged, streamed
    from langladder.faces.http.chat import Answering, read_answering

    found: Answering = shelf.have("answering", shelf.find(name), read_answering)
    config = SamplingConfig(
        strategy="sample" if asked.temperature else "greedy",
        temperature=max(0.01, asked.temperature or 1.0),  # a best-of-n draws even so
        seed=asked.seed,
        max_tokens=asked.max_tokens,
    )
    text, pieces = "", streamed(found.model, found.tokenizer, asked.instruction, config, found.chooser)
    while True:
        with found.lock:
            piece = next(pieces, None)
        if piece is None:
            yield {"text": text, "end": "whole", "judged": judged(_size(shelf), asked.instruction, text)}
            return
        text = piece
        yield {"text": text}


PAGE = Page(
    "instruct",
    "Instruct",
    "Two models answer one instruction, and a judge that knows microworld says how well.",
    "instruct.html.j2",
    "instruct.js",
    router,
)
