"""Shared code of all servers: starting on an address, and streamed answers."""

import ctypes
import json
import logging
import os
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping

import click
import uvicorn
from fastapi.responses import StreamingResponse
from starlette.types import ASGIApp

from langladder.ground.errors import InputError, printable

Json = dict[str, object]
"""A JSON object to send."""


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
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    server.run(sockets=[listener])


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
