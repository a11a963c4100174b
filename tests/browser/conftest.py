"""The explorer in a real browser: Debian's Chromium, driven by Playwright, over small models or a finished ladder.

LANGLADDER_EXPLORED names a folder with models/ and reports/ to look at instead of the small ones. Where Playwright or
Chromium is missing, every test is skipped and says so (`make test-browser` brings the first).
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.looking import Visit, own, serving, settled, under_way
from tests.browser.small_ladder import finish
from tests.faces.explorer.conftest import checkout  # noqa: F401 - a folder of small models

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
ARGUMENTS += ["--disable-sync", "--no-first-run", "--disable-default-apps", "--disable-extensions"]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder are of the browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("Playwright is not installed; `make test-browser` does it")
    path = next((result for name in NAMES if (result := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium on this machine; on Debian: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def explored(request: pytest.FixtureRequest) -> Path:
    """The folder that is looked at."""
    folder = os.environ.get("LANGLADDER_EXPLORED")
    return Path(folder) if folder else finish(request.getfixturevalue("checkout"))


@pytest.fixture(scope="session")
def address(explored: Path) -> Iterator[str]:
    yield from serving(explored)


@pytest.fixture
def visit(chromium: Any, address: str) -> Iterator[Visit]:
    """visit(path, scheme="light", width=1100) → the page, when its requests have come to rest.

    At the end no page may have had an error (but a refusal of the server, where `refused` says that one is meant), nor
    asked another host than its own.
    """
    contexts, wrong = [], []

    def visited(path: str, scheme: str = "light", width: int = 1100, base: str = address, refused: bool = False) -> Any:
        def heard(message: Any) -> None:
            if message.type == "error" and not (refused and message.text.startswith("Failed to load resource")):
                wrong.append(f"{path}: {message.text}")

        context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(f"{path}: {error}"))
        page.on("console", heard)
        page.on("request", lambda item: None if own(item.url, base) else wrong.append(f"{path} asks {item.url}"))
        pending = under_way[page] = set()
        page.on("request", lambda item: pending.add(item))
        page.on("requestfinished", lambda item: pending.discard(item))
        page.on("requestfailed", lambda item: pending.discard(item))
        page.goto(f"{base}{path}")
        return settled(page)

    yield visited
    for context in contexts:
        context.close()
    assert not wrong
