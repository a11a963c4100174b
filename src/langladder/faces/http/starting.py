"""Starting a server: an address that can be had, one line that names it, a quiet end at Ctrl-C."""

import ctypes
import os
import socket
import sys
from typing import Any

import click

from langladder.collector import as_usual
from langladder.ground.errors import InputError, printable


def run(app: Any, host: str, port: int, what: str) -> None:
    """Serve until the process is stopped.

    Raises:
        InputError: the address is in use or cannot be had.
    """
    import uvicorn

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
    shown = f"[{host}]" if family == socket.AF_INET6 else host
    click.echo(f"{printable(what)} at http://{shown}:{listener.getsockname()[1]} (Ctrl-C ends it)")
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    with as_usual():
        server.run(sockets=[listener])


def _share_memory() -> None:
    """Two places to take memory from for all threads: each of glibc's sixteen would keep what its busiest hour took.

    MALLOC_ARENA_MAX, where it is set, says how many.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
        if mallopt:
            mallopt(-8, 2)  # M_ARENA_MAX, https://man7.org/linux/man-pages/man3/mallopt.3.html
