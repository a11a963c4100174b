"""The HTTP side: OpenAI's completions, models and embeddings for the models of a shelf.

Errors have the form that OpenAI's clients read. Requests to other hosts than the server's own are refused (a page
elsewhere could point its name at this machine), bodies above MOST_BYTES too.
"""

import json
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import JSONResponse, StreamingResponse

from langladder.errors import InputError
from langladder.serving import completions, embeddings
from langladder.serving.completions import CompletionRequest
from langladder.serving.embeddings import EmbeddingRequest
from langladder.serving.shelf import Shelf, UnknownModelError

MOST_BYTES = 4 * 2**20
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "testserver")


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

    return app


def guard(app: FastAPI, hosts: Sequence[str]) -> None:
    """Refuse other hosts and bodies that are too large; tell errors in OpenAI's form."""
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))

    @app.middleware("http")
    async def bounded(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        length = request.headers.get("content-length", "0" if request.method in ("GET", "HEAD") else "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return _error(413, f"the body is {length or 'of unknown length'}; at most {MOST_BYTES:,} bytes are read")
        return await call(request)

    @app.exception_handler(InputError)
    def refused(_: Request, error: InputError) -> Response:
        missing = isinstance(error, UnknownModelError)
        return _error(404 if missing else 400, str(error), code="model_not_found" if missing else None)

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> Response:
        told = [f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors()]
        return _error(400, "; ".join(told)[:1000])

    @app.exception_handler(404)
    @app.exception_handler(405)
    def missing(request: Request, error: Exception) -> Response:
        return _error(
            getattr(error, "status_code", 404), f"{request.method} {request.url.path}: there is no such thing"
        )


def _events(rung: Any, request: CompletionRequest, about: dict[str, Any]) -> Iterator[str]:
    """Server-sent events; a model answers one request at a time."""
    with rung.lock:
        for choice in completions.chunks(rung, request):
            yield f"data: {json.dumps(about | {'choices': [choice]}, ensure_ascii=False)}\n\n"
    yield "data: [DONE]\n\n"


def _model(name: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created, "owned_by": "langladder"}


def _error(status: int, message: str, code: str | None = None) -> JSONResponse:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)
