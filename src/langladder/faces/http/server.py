"""What all servers of the house share: starting one on an address, and answers that come piece by piece."""

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
"""An object of JSON that is sent."""


def run(app: ASGIApp, host: str, port: int, what: str) -> None:
    """Serve until the process is stopped: one line names the address, Ctrl-C ends it quietly.

    Raises:
        InputError: the address is in use or cannot be had.
    """
    _share_memory()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()  # whoever reads the line below is answered, if not at once
    except OSError as error:
        listener.close()
        raise InputError(f"{host}:{port}: cannot be served there ({error.strerror}); choose another --port") from error
    name = f"[{host}]" if family == socket.AF_INET6 else host
    click.echo(f"{printable(what)} at http://{name}:{listener.getsockname()[1]} (Ctrl-C ends it)")
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    server.run(sockets=[listener])


def _share_memory() -> None:
    """Two arenas to allocate memory from for all threads: each of glibc's sixteen would keep the most it ever had.

    MALLOC_ARENA_MAX, where it is set, says how many.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
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
        yield f"data: {json.dumps({'error': {'message': 'the server failed at this; its terminal says why'}})}\n\n"
    yield "data: [DONE]\n\n"
