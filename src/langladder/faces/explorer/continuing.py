"""One prompt, continued by every language model side by side, token by token."""

from collections.abc import Iterator

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.answers.generate import stream
from langladder.decoding.sampling import SamplingConfig
from langladder.faces.explorer.page import ModelName, Page, in_turn
from langladder.faces.http.server import Json, streamed
from langladder.faces.http.shelf import Shelf
from langladder.text.tokenize.specials import BOS, EOS

MOST_CHARACTERS = 5_000
MOST_MODELS = 20
MOST_TOKENS = 400


class Continuing(BaseModel):
    """A prompt, and how tokens are drawn: temperature 0 takes the likeliest."""

    prompt: str = Field(default="", max_length=MOST_CHARACTERS)
    models: list[ModelName] = Field(max_length=MOST_MODELS)
    temperature: float = Field(default=1.0, ge=0, le=100, allow_inf_nan=False)
    top_k: int | None = Field(default=None, ge=1, le=2**31)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int = Field(default=0, ge=0, lt=2**53)
    max_tokens: int = Field(default=40, ge=1, le=MOST_TOKENS)


def router(shelf: Shelf) -> APIRouter:
    """What answers the page's script."""
    routes = APIRouter()

    @routes.post("/text", response_class=StreamingResponse)
    def text(request: Continuing) -> StreamingResponse:
        """What each model says after the prompt: an event a token, {"model", "text" so far}, `end` with the last."""
        return streamed(in_turn(request.models, lambda name: _continued(shelf, name, request)))

    return routes


def _continued(shelf: Shelf, name: str, request: Continuing) -> Iterator[Json]:
    """What one model says; it is locked for a token at a time, so that nobody waits for a whole text."""
    rung = shelf.language_model(name)
    config = SamplingConfig(
        strategy="sample" if request.temperature else "greedy",
        temperature=max(0.01, request.temperature),
        top_k=request.top_k,
        top_p=request.top_p,
        seed=request.seed,
        max_tokens=request.max_tokens,
    )
    ids = rung.tokenizer.encode(request.prompt).tolist()
    begun, drawn = len(rung.tokenizer.decode(ids)), stream(rung.model, [BOS, *ids], config)
    while True:
        with rung.lock:
            found = next(drawn, None)
        if found is None or found.token == EOS:
            yield {"text": rung.tokenizer.decode(ids)[begun:], "end": "length" if found is None else "stop"}
            return
        ids.append(found.token)
        yield {"text": rung.tokenizer.decode(ids)[begun:].rstrip("\ufffd")}


PAGE = Page(
    "continue",
    "Continue",
    "How each language model goes on from the same words.",
    "continue.html.j2",
    "continue.js",
    router,
)
