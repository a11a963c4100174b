"""What every server of the house refuses, and how it tells errors: in the form that OpenAI's clients read.

Requests to other hosts than the server's own are refused (a page elsewhere could point its name at this machine), and
bodies that are too large or too slow. Nothing heavy is imported here.
"""

import asyncio
from collections.abc import Mapping, Sequence

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from langladder.errors import InputError
from langladder.serving.shelf import UnknownModelError

MOST_BYTES = 4 * 2**20  # of a body
SLOWEST = 30.0  # seconds in which a body has to arrive
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "testserver")


def guard(app: FastAPI, hosts: Sequence[str]) -> None:
    """Refuse other hosts, and bodies that are too large or too slow; tell errors in OpenAI's form."""
    app.add_middleware(Bounded)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))

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
    """Reads a request's body before anything else is done with it; refuses one that is too large or too slow.

    What arrives is counted, whatever the headers say.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        length = dict(scope["headers"]).get(b"content-length", b"0").decode("latin-1")
        if length.isdecimal() and int(length[:20]) > MOST_BYTES:
            await _too_large(scope, receive, send)
            return
        body, more = bytearray(), True
        try:
            async with asyncio.timeout(SLOWEST):
                while more and len(body) <= MOST_BYTES:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError:
            told = f"the body did not arrive within {SLOWEST:.0f} seconds"
            await _error(408, told, headers={"connection": "close"})(scope, receive, send)
            return
        if len(body) > MOST_BYTES:
            await _too_large(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def received() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, received, send)


async def _too_large(scope: Scope, receive: Receive, send: Send) -> None:
    await _error(413, f"the body is too large; at most {MOST_BYTES:,} bytes are read")(scope, receive, send)


def _error(
    status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": code}}, status, headers)
