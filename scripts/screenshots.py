"""Take the pictures of docs/explorer.md: pages of the explorer over a finished ladder, in Chromium.

python scripts/screenshots.py [FOLDER]      FOLDER has models/ and reports/; default: this checkout

Needs Playwright and Chromium (make test-browser brings the first: run it by .venv-peers/bin/python).
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.browser.looking import serving, settled, under_way  # noqa: E402

SHOWN = {
    # name → address, colours, width, height
    "ladder": ("/ladder?family=lm&measure=validation_loss", "light", 1000, 720),
    "surprisal": ("/surprisal", "light", 1000, 1120),
    "inside": ("/inside?model=gpt", "light", 1000, 1480),
    "read": ("/read", "light", 1000, 1180),
    "words": ("/words", "dark", 1000, 760),
    "translate": ("/translate", "light", 1000, 860),
}
MOST_BYTES = 150_000


def main(folder: Path) -> None:
    """Write docs/explorer-NAME.png for each."""
    server = serving(folder)
    address = next(server)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        for name, (path, scheme, width, height) in SHOWN.items():
            page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": height})  # type: ignore[arg-type]
            asked = under_way[page] = set()
            page.on("request", lambda one, asked=asked: asked.add(one))
            page.on("requestfinished", lambda one, asked=asked: asked.discard(one))
            page.on("requestfailed", lambda one, asked=asked: asked.discard(one))
            page.goto(f"{address}{path}")
            settled(page)
            target = ROOT / "docs" / f"explorer-{name}.png"
            page.screenshot(path=target)
            size = target.stat().st_size
            print(f"{target.relative_to(ROOT)}: {size:,} bytes")
            assert size <= MOST_BYTES, f"{target} is larger than {MOST_BYTES:,} bytes; show less of the page"
            page.close()
        browser.close()
    server.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
