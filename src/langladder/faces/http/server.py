"""Shared code of all servers: starting on an address, and streamed answers."""

import asyncio
import ctypes
import errno
import json
import logging
import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
import uvicorn
from fastapi.responses import StreamingResponse
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from langladder.ground.errors import InputError, printable

Json = dict[str, object]
"""A JSON object to send."""
HEAD = 10.0  # seconds in which the head of a request has to arrive
NO_FILES = (errno.EMFILE, errno.ENFILE)
HERE = ("127.0.0.1", "::1", "localhost")


def run(app: ASGIApp, host: str, port: int, what: str) -> None:
    """Serve until the process is stopped: prints one line with the address; Ctrl-C ends it quietly.

    Raises:
        InputError: the address is in use or not available.
    """
    _share_memory()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()  # a client that reads the line below gets an answer, although maybe not at once
    except OSError as error:
        listener.close()
        raise InputError(f"{host}:{port}: cannot listen there ({error.strerror}); choose another --port") from error
    name = f"[{host}]" if family == socket.AF_INET6 else host
    click.echo(f"{printable(what)} at http://{name}:{listener.getsockname()[1]} (Ctrl-C ends it)")
    if host not in HERE:
        click.echo(
            f"warning: --host {host}: every machine that can reach this port can use the models without a password; "
            "put a proxy with a password in front (docs/serving.md)",
            err=True,
        )
    config = uvicorn.Config(app, http=Heads, log_level="warning", access_log=False)
    asyncio.run(_serve(uvicorn.Server(config), listener))


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve; while the process has no free file descriptor for another connection, say so once in a while."""
    silent_until = 0.0

    def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal silent_until
        if listener.fileno() < 0:  # the server has ended, and asyncio tries once more to accept
            return
        if getattr(context.get("exception"), "errno", None) not in NO_FILES:
            loop.default_exception_handler(context)
        elif time.monotonic() >= silent_until:
            silent_until = time.monotonic() + HEAD
            limit = "`ulimit -n` is the largest number of open files"
            click.echo(f"warning: too many connections ({limit}); new ones wait until others are closed", err=True)

    asyncio.get_running_loop().set_exception_handler(report)
    await server.serve(sockets=[listener])


class Heads(H11Protocol):
    """uvicorn's HTTP/1.1, which closes a connection if the head of a request does not arrive within HEAD seconds."""

    late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a head, unless it was complete: then a request is being answered."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._end()
        elif self.late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._end()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self.late = self.loop.call_later(HEAD, self.transport.close)

    def _end(self) -> None:
        if self.late is not None:
            self.late.cancel()
        self.late = None


def _share_memory() -> None:
    """Limit glibc to two memory arenas for all threads: each of its sixteen would keep its maximum size.

    MALLOC_ARENA_MAX overrides this if it is set.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have no arenas
        if mallopt:
            mallopt(-8, 2)  # M_ARENA_MAX, https://man7.org/linux/man-pages/man3/mallopt.3.html


def streamed(pieces: Iterable[Mapping[str, object]]) -> StreamingResponse:
    """Each piece as a server-sent event of JSON, then `[DONE]`; an InputError ends them with {"error": {"message"}}.

    https://html.spec.whatwg.org/#server-sent-events
    """
    return StreamingResponse(_events(pieces), media_type="text/event-stream", headers={"cache-control": "no-store"})


def _events(pieces: Iterable[Mapping[str, object]]) -> Iterator[str]:
    try:
        for piece in pieces:
            yield f"data: {json.dumps(piece, ensure_ascii=False, allow_nan=False)}\n\n"
    except InputError as error:
        yield f"data: {json.dumps({'error': {'message': str(error)}})}\n\n"
    except Exception as error:
        logging.getLogger("uvicorn.error").exception("an answer broke off", exc_info=error)
        yield f"data: {json.dumps({'error': {'message': 'the server failed; its terminal shows the reason'}})}\n\n"
    yield "data: [DONE]\n\n"
