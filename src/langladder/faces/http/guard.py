"""Bad requests that every server refuses, and errors in the format of OpenAI's clients.

Servers refuse requests to other host names than their own (a foreign page could point its name at this machine), and
bodies that are too large, too slow, or not valid JSON in valid Unicode.
"""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from langladder.faces.http.shelf import UnknownModelError
from langladder.ground.errors import InputError, printable

MOST_BYTES = 4 * 2**20  # of a body
SLOWEST = 30.0  # seconds in which a body has to arrive
UNKNOWN = {"extra_forbidden": "unknown option"}
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "testserver")


class Problem(BaseModel):
    """What is wrong."""

    message: str
    type: str | None = None
    param: str | None = None
    code: str | None = None


class Refusal(BaseModel):
    """The answer to a request that was refused, or that failed."""

    error: Problem


Responses = dict[int | str, dict[str, Any]]
"""FastAPI's description of the answers of a path."""
REFUSALS: Responses = {
    "4XX": {"model": Refusal, "description": "the error in the request"},
    "5XX": {"model": Refusal, "description": "the server failed, or is busy"},
}
"""The possible errors of each path, for the description of the API."""


def guard(app: FastAPI, hosts: Sequence[str]) -> None:
    """Refuse other hosts, and bodies that are too large or too slow; errors are in OpenAI's form."""
    app.add_middleware(Bounded)
    app.add_middleware(KnownHosts, hosts=hosts)

    @app.exception_handler(InputError)
    def refused(_: Request, error: InputError) -> Response:
        missing = isinstance(error, UnknownModelError)
        return _error(404 if missing else 400, str(error), code="model_not_found" if missing else None)

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> Response:
        problems = [
            f"{'.'.join(map(str, problem['loc'][1:]))[:200]}: {UNKNOWN.get(problem['type'], problem['msg'])}"
            for problem in error.errors()
        ]
        return _error(400, "; ".join(problems)[:1000])

    @app.exception_handler(HTTPException)
    def missing(request: Request, error: HTTPException) -> Response:
        if error.status_code not in (404, 405):
            return _error(error.status_code, str(error.detail)[:1000], headers=error.headers)
        message = f"{request.method} {request.url.path[:200]}: no such path"
        return _error(error.status_code, message, headers=error.headers)

    @app.exception_handler(Exception)
    def failed(_: Request, __: Exception) -> Response:  # the server logs it
        return _error(500, "the server failed; its terminal shows the reason")


class KnownHosts:
    """Refuses requests to other hosts.

    Args:
        hosts: accepted host names; ["*"] for any.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self.app, self.hosts = app, tuple(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        host = dict(scope.get("headers", ())).get(b"host", b"").decode("latin-1").lower()
        name = re.sub(r":\d*$", "", host)
        if scope["type"] == "http" and "*" not in self.hosts and name not in self.hosts:
            problem = f"Host: {name[:80]!r} is not served; use {' or '.join(self.hosts[:2])}"
            # its body was not read: what follows on this connection may be a part of it
            await _error(400, problem, headers={"connection": "close"})(scope, receive, send)
            return
        await self.app(scope, receive, send)


class Bounded:
    """Reads a request's body before anything else; refuses one that is too large, too slow, or not text.

    It counts the received bytes and does not trust the headers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if b"content-length" in headers and b"transfer-encoding" in headers:  # RFC 9112, section 6.1
            both = "both Content-Length and Transfer-Encoding, which proxies read in different ways; send one of them"
            await _error(400, both, headers={"connection": "close"})(scope, receive, send)
            return
        length = headers.get(b"content-length", b"0").decode("latin-1")
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
            late = f"the body did not arrive within {SLOWEST:.0f} seconds"
            await _error(408, late, headers={"connection": "close"})(scope, receive, send)
            return
        if len(body) > MOST_BYTES:
            await _too_large(scope, receive, send)
            return
        if problem := _not_text(bytes(body)):
            await _error(400, problem)(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def received() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, received, send)


def _not_text(body: bytes) -> str | None:
    """The error in a body that is not UTF-8, or has half a character; None if it is valid.

    Python's `json` also reads UTF-16, and accepts lone surrogates, which no tokenizer can read.
    """
    try:
        text = body.decode()
        if "\0" in text:
            return "the body has a NUL character; send JSON in UTF-8"
        if "\\ud" in text.lower():
            json.dumps(json.loads(text), ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        return f"the body is not UTF-8 ({error.reason} at byte {error.start}); send JSON in UTF-8"
    except UnicodeEncodeError as error:
        return f"the body has a lone surrogate ({error.object[error.start]!a}), which is half of a character"
    except (ValueError, RecursionError):  # its reader reports this
        return None
    return None


async def _too_large(scope: Scope, receive: Receive, send: Send) -> None:
    await _error(413, f"the body is too large; at most {MOST_BYTES:,} bytes are allowed")(scope, receive, send)


def _error(
    status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return JSONResponse(
        {"error": {"message": printable(message), "type": kind, "param": None, "code": code}}, status, headers
    )
