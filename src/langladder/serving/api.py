"""The HTTP side: OpenAI's completions, models and embeddings, and the tokens, of the models of a shelf.

What is refused, `guard` says.
"""

import json
import secrets
import time
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from langladder.serving import completions, embeddings, tokens
from langladder.serving.completions import CompletionRequest
from langladder.serving.embeddings import EmbeddingRequest
from langladder.serving.guard import LOOPBACK, guard
from langladder.serving.shelf import Shelf


def create(shelf: Shelf, hosts: Sequence[str] = LOOPBACK) -> FastAPI:
    """The application.

    Args:
        hosts: names by which it may be asked; ["*"] for any.
    """
    app = FastAPI(title="langladder", description="Language models and word vectors of one ladder, as OpenAI's API")
    guard(app, hosts)
    began = int(time.time())

    @app.get("/v1/models")
    def models() -> dict[str, Any]:
        return {"object": "list", "data": [_model(name, began) for name in shelf.folders]}

    @app.get("/v1/models/{name:path}")
    def model(name: str) -> dict[str, Any]:
        shelf.find(name)
        return _model(name, began)

    @app.post("/v1/completions", response_model=None)
    def complete(request: CompletionRequest) -> dict[str, Any] | StreamingResponse:
        rung = shelf.language_model(request.model)
        about: dict[str, Any] = {
            "id": f"cmpl-{secrets.token_hex(12)}",
            "object": "text_completion",
            "model": request.model,
        }
        about |= {"created": int(time.time())}
        if request.stream:
            completions.choices(rung, request)  # what is wrong is said before anything is sent
            return StreamingResponse(_events(rung, request, about), media_type="text/event-stream")
        with rung.lock:
            found, used = completions.complete(rung, request)
        return about | {"choices": found, "usage": used}

    @app.post("/v1/embeddings")
    def embed(request: EmbeddingRequest) -> dict[str, Any]:
        data = embeddings.embed(shelf.vectors(request.model), request)
        texts = [request.input] if isinstance(request.input, str) else request.input
        words = sum(len(text.split()) for text in texts)
        used = {"prompt_tokens": words, "total_tokens": words}
        return {"object": "list", "data": data, "model": request.model, "usage": used}

    app.include_router(tokens.router(shelf))
    return app


def _events(rung: Any, request: CompletionRequest, about: dict[str, Any]) -> Iterator[str]:
    """Server-sent events; a model answers one request at a time."""
    with rung.lock:
        for choice in completions.chunks(rung, request):
            yield f"data: {json.dumps(about | {'choices': [choice]}, ensure_ascii=False)}\n\n"
    yield "data: [DONE]\n\n"


def _model(name: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created, "owned_by": "langladder"}
