"""What the browser's tests share: the explorer on loopback, and when a page has come to rest."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from langladder.faces.explorer.app import create
from langladder.faces.http.shelf import Shelf

PATIENCE = 60.0  # seconds for all answers to a page
QUIET = 4  # looks at 40 ms each
Visit = Callable[..., Any]
under_way: dict[Any, set[Any]] = {}
"""Page → its requests that are not answered to their end."""


def serving(folder: Path) -> Iterator[str]:
    """The explorer of a folder's models on a free port of loopback: its address."""
    app = create(Shelf.below([folder / "models"], project=folder))
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        assert thread.is_alive()
        thread.join(0.01)
    yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    running.should_exit = True
    thread.join(10)


def settled(page: Any) -> Any:
    """The page, when it has asked nothing for a moment and everything has been answered to its end."""
    quiet, end = 0, time.monotonic() + PATIENCE
    while quiet < QUIET:
        page.wait_for_timeout(40)
        quiet = 0 if under_way[page] else quiet + 1
        assert time.monotonic() < end, [request.url for request in under_way[page]]
    return page


def own(url: str, base: str) -> bool:
    """Whether a request stays with the explorer."""
    return url.startswith((f"{base}/", "data:", "blob:", "about:"))


def submit(page: Any) -> None:
    """Send the page's form, and wait for the answers."""
    page.locator("form[data-state] button[type=submit]").first.click()
    settled(page)
