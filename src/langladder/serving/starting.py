"""Starting a server: an address that can be had, one line that names it, a quiet end at Ctrl-C."""

import socket
from typing import Any

import click

from langladder.errors import InputError


def run(app: Any, host: str, port: int, what: str) -> None:
    """Serve until the process is stopped.

    Raises:
        InputError: the address is in use or cannot be had.
    """
    import uvicorn

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
    click.echo(f"{what} at http://{shown}:{listener.getsockname()[1]} (Ctrl-C ends it)")
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    server.run(sockets=[listener])
