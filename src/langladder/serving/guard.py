"""What every server of the house refuses, and how it tells errors: in the form that OpenAI's clients read.

Requests to other hosts than the server's own are refused (a page elsewhere could point its name at this machine),
bodies above MOST_BYTES too. Nothing heavy is imported here.
"""

from collections.abc import Sequence

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from langladder.errors import InputError
from langladder.serving.shelf import UnknownModelError

MOST_BYTES = 4 * 2**20
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "testserver")


def guard(app: FastAPI, hosts: Sequence[str]) -> None:
    """Refuse other hosts and bodies that are too large; tell errors in OpenAI's form."""
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    app.add_middleware(Bounded)

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


class Bounded:
    """Refuses bodies that are too large, or do not say how large they are."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            unsaid = b"0" if scope["method"] in ("GET", "HEAD") else b""
            length = dict(scope["headers"]).get(b"content-length", unsaid).decode("latin-1")
            if not length.isdecimal() or int(length) > MOST_BYTES:
                told = f"the body is {length or 'of unknown length'}; at most {MOST_BYTES:,} bytes are read"
                await _error(413, told)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _error(status: int, message: str, code: str | None = None) -> JSONResponse:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)
