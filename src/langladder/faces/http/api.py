"""The HTTP side: OpenAI's completions, chats, models and embeddings, and the tokens, of the models of a shelf.

What is refused, `guard` says; how options are read, `requests`.
"""

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from langladder.faces.http import chat, completions, embeddings, tokens
from langladder.faces.http.chat import ChatRequest
from langladder.faces.http.completions import Choice, CompletionRequest
from langladder.faces.http.embeddings import EmbeddingRequest
from langladder.faces.http.guard import LOOPBACK, REFUSALS, guard
from langladder.faces.http.requests import DrawingRequest, StreamOptions
from langladder.faces.http.shelf import Shelf
from langladder.faces.http.streaming import streamed

STREAMED: dict[int | str, dict[str, Any]] = {
    200: {"description": "the answer; with `stream`, in pieces", "content": {"text/event-stream": {}}}
}


def create(shelf: Shelf, hosts: Sequence[str] = LOOPBACK) -> FastAPI:
    """The application; /openapi.json describes it.

    Args:
        hosts: names by which it may be asked; ["*"] for any.
    """
    about = "Language models and word vectors of one ladder, as OpenAI's API"
    app = FastAPI(title="langladder", description=about, docs_url=None, redoc_url=None, responses=REFUSALS)
    guard(app, hosts)
    began = int(time.time())

    @app.get("/v1/models")
    def models() -> dict[str, Any]:
        return {"object": "list", "data": [_model(name, began) for name in shelf.folders]}

    @app.get("/v1/models/{name:path}")
    def model(name: str) -> dict[str, Any]:
        shelf.find(name)
        return _model(name, began)

    @app.post("/v1/completions", response_model=None, responses=STREAMED)
    def complete(request: CompletionRequest) -> dict[str, Any] | StreamingResponse:
        rung = shelf.language_model(request.model)
        return _answer(rung.lock, completions.choices(rung, request), request, "cmpl", "text_completion")

    @app.post("/v1/chat/completions", response_model=None, responses=STREAMED)
    def answer(request: ChatRequest) -> dict[str, Any] | StreamingResponse:
        lock, found = chat.answers(shelf, request)
        return _answer(lock, found, request, "chatcmpl", "chat.completion")

    @app.post("/v1/embeddings")
    def embed(request: EmbeddingRequest) -> dict[str, Any]:
        data, read = embeddings.embed(shelf, request)
        used = {"prompt_tokens": read, "total_tokens": read}
        return {"object": "list", "data": data, "model": request.model, "usage": used}

    app.include_router(tokens.router(shelf))
    return app


def _answer(
    lock: threading.Lock, found: list[Choice], request: DrawingRequest, prefix: str, kind: str
) -> dict[str, Any] | StreamingResponse:
    """All choices, whole or in pieces. What is wrong with the request is known before anything is sent."""
    chunks = request.stream and kind == "chat.completion"
    about: dict[str, Any] = {"id": f"{prefix}-{secrets.token_hex(12)}", "object": f"{kind}.chunk" if chunks else kind}
    about |= {"created": int(time.time()), "model": request.model}
    if request.stream:
        return streamed(_events(lock, found, about, request.stream_options))
    choices = []
    for choice in found:
        with lock:  # a choice at a time, so that a request of many does not hold up all others
            choices.append(choice.whole())
    return about | {"choices": choices, "usage": completions.usage(found)}


def _events(
    lock: threading.Lock, found: list[Choice], about: dict[str, Any], options: StreamOptions | None
) -> Iterator[dict[str, Any]]:
    """The model is locked for a piece at a time, so that a client who reads slowly holds up no other."""
    counted = options is not None and options.include_usage
    nothing = {"usage": None} if counted else {}
    for choice in found:
        pieces = choice.pieces()
        while True:
            with lock:
                piece = next(pieces, None)
            if piece is None:
                break
            yield about | {"choices": [piece]} | nothing
    if counted:
        yield about | {"choices": [], "usage": completions.usage(found)}


def _model(name: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created, "owned_by": "langladder"}
