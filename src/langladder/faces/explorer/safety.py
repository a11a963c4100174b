"""What the explorer refuses: other hosts and origins, large and slow bodies, too much at once, what takes too long.

A page elsewhere may send requests to this machine from the browser of whoever reads it. Its requests bear an Origin of
its own (https://fetch.spec.whatwg.org/#origin-header), or its name as the Host: both are refused. What is sent says
that it loads nothing from elsewhere and stands in no frame.
"""

import asyncio
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from langladder.faces.http.guard import guard

PATIENCE = 20.0  # seconds that a request waits for its turn
LONGEST = 120.0  # seconds that an answer may take
HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def protect(app: FastAPI, hosts: Sequence[str], at_once: Mapping[str, int]) -> None:
    """See the module.

    Args:
        at_once: beginning of a path → how many requests to it are computed at a time.
    """
    app.add_middleware(Turns, at_once=at_once)
    guard(app, hosts)
    app.add_middleware(SameOrigin)


class SameOrigin:
    """Refuses what a page of another origin asks, and says with each answer what a browser may do with it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["method"] not in ("GET", "HEAD") and _foreign(given):
            await _told(403, "requests of pages elsewhere are refused; ask from the explorer's own page")(
                scope, receive, send
            )
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in more if pair[0] not in known)]
            await send(message)

        await self.app(scope, receive, sent)


class Turns:
    """Lets so many requests to each page's API be computed at a time; others wait their turn, but not for ever."""

    def __init__(self, app: ASGIApp, at_once: Mapping[str, int]) -> None:
        self.app = app
        self.free = {path: asyncio.Semaphore(most) for path, most in at_once.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        path = scope.get("path", "")
        free = next((free for begin, free in self.free.items() if path.startswith(f"{begin}/")), None)
        if scope["type"] != "http" or free is None:
            await self.app(scope, receive, send)
            return
        try:
            await asyncio.wait_for(free.acquire(), PATIENCE)
        except TimeoutError:
            await _told(503, f"others have been asking for {PATIENCE:.0f} seconds; try again")(scope, receive, send)
            return
        begun = False

        async def sent(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            async with asyncio.timeout(LONGEST):
                await self.app(scope, receive, sent)
        except TimeoutError:
            if not begun:
                told = f"this took longer than {LONGEST:.0f} seconds; ask for less at once"
                await _told(503, told)(scope, receive, send)
        finally:
            free.release()


def _foreign(headers: Mapping[str, str]) -> bool:
    origin = headers.get("origin")
    if origin is not None:
        return urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _told(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message}}, status, {"retry-after": "5"} if status == 503 else None)
