"""The explorer's application: pages, their scripts and styles, their API, and a page that lists the API.

Styles and scripts are those of the report; nothing is loaded from other hosts.

In addition to what `guard` refuses, requests from pages of other origins, too many concurrent requests and long ones
are refused. A foreign page may send requests to this machine from its reader's browser. They have another Origin
(https://fetch.spec.whatwg.org/#origin-header) or Host; both are refused. The headers of responses forbid loading from
other hosts and display in frames.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from urllib.parse import urlsplit

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from langladder.answers.kinds import title_of
from langladder.faces.explorer import inside, ladder, reading, surprisal, tokenizing, translating, typed, words, writing
from langladder.faces.explorer.history import in_order
from langladder.faces.explorer.page import Page
from langladder.faces.http.guard import LOOPBACK, REFUSALS, guard
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError

PAGES: tuple[Page, ...] = (
    ladder.PAGE,
    surprisal.PAGE,
    inside.PAGE,
    writing.CONTINUE,
    words.PAGE,
    tokenizing.PAGE,
    translating.PAGE,
    reading.PAGE,
    writing.INSTRUCT,
)
"""The pages in the order of the list; a new page needs a module, a template, a script and a line here."""
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
THREADS = 100  # more than all concurrent computations, so that a page is always shown
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


def create(
    shelf: Shelf,
    hosts: Sequence[str] = LOOPBACK,
    pages: Sequence[Page] = PAGES,
    languages: Mapping[str, str | None] | None = None,
) -> FastAPI:
    """The application.

    Args:
        shelf: the models; `shelf.project` has data/ and reports/ if there are any.
        hosts: accepted host names; ["*"] for any.
        languages: text, source and target (of pairs), labels, tags, questions, instructions → BCP 47 tag, if known.
    """
    app = FastAPI(title="langladder explorer", docs_url=None, redoc_url=None, lifespan=_begin, responses=REFUSALS)
    app.add_middleware(
        Turns, at_once={f"/api/{page.name}": page.at_once for page in pages} | {f"/api/{typed.NAME}": typed.AT_ONCE}
    )
    guard(app, hosts)
    app.add_middleware(SameOrigin)
    environment = _environment()
    static = _static()

    def listed() -> list[Page]:
        return [page for page in pages if not page.needs or shelf.folders_of(*page.needs)]

    def render(template: str, **context: object) -> HTMLResponse:
        return HTMLResponse(
            environment.get_template(template).render(pages=listed(), languages=languages or {}, **context)
        )

    def page_of(page: Page) -> HTMLResponse:
        shelf.refresh()
        helpers = {"models": partial(_models, shelf), "examples": partial(typed.examples, shelf)}
        return render(page.template, page=page, shelf=shelf, **helpers)

    @app.get("/", include_in_schema=False)
    def first() -> HTMLResponse:
        return page_of(next((page for page in pages if page.name == "ladder"), pages[0]))

    @app.get("/static/{name}", include_in_schema=False)
    async def served(name: str, request: Request) -> Response:
        if name not in static:
            raise InputError(f"{name[:80]}: there is no such file")
        body, kind, tag = static[name]
        same = request.headers.get("if-none-match") == tag
        return Response(b"" if same else body, 304 if same else 200, {"etag": tag, "cache-control": "no-cache"}, kind)

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        shelf.refresh()
        return render("api.html.j2", page=None, paths=app.openapi()["paths"], json=partial(json.dumps, indent=1))

    for page in pages:
        app.include_router(page.router(shelf), prefix=f"/api/{page.name}", tags=[page.title])
        app.get(f"/{page.name}", include_in_schema=False)(partial(page_of, page))
    app.include_router(typed.router(shelf), prefix=f"/api/{typed.NAME}", tags=["Typed text"])
    return app


@asynccontextmanager
async def _begin(_: FastAPI) -> AsyncIterator[None]:
    current_default_thread_limiter().total_tokens = THREADS
    yield


def _models(shelf: Shelf, *kinds: str) -> list[tuple[str, str]]:
    """Names and titles of the models of some kinds in order of history; equal titles are followed by the name."""
    models = [(name, title_of(folder)) for name, folder in in_order(shelf, *kinds).items()]
    titles = [title for _, title in models]
    return [(name, title if titles.count(title) == 1 else f"{title} ({name})") for name, title in models]


def _environment() -> Environment:
    reporting = PackageLoader("langladder.faces.report", "templates")
    return Environment(
        loader=ChoiceLoader(
            [PackageLoader("langladder.faces.explorer", "templates"), PrefixLoader({"report": reporting})]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _static() -> dict[str, tuple[bytes, str, str]]:
    """Name → served file: the explorer's files, and the styles and scripts of the report."""
    results = {}
    for folder in (files("langladder.faces.report") / "templates", files("langladder.faces.explorer") / "static"):
        for file in folder.iterdir():
            ending = f".{file.name.rpartition('.')[2]}"
            if ending in TYPES:
                body = file.read_bytes()
                results[file.name] = (body, TYPES[ending], f'"{hashlib.sha256(body).hexdigest()[:20]}"')
    return results


class SameOrigin:
    """Refuses requests from pages of other origins, and adds security headers to each response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["method"] not in ("GET", "HEAD") and _foreign(headers):
            refusal = _refusal(403, "requests from other pages are refused; use the explorer's own page")
            await refusal(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in more if pair[0] not in known)]
            await send(message)

        await self.app(scope, receive, send_with_headers)


class Turns:
    """Limits the number of concurrent requests to each page's API; other requests wait, up to a time limit.

    Args:
        at_once: beginning of a path → maximum number of concurrent requests.
    """

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
            refusal = _refusal(503, f"other requests have taken {PATIENCE:.0f} seconds; try again")
            await refusal(scope, receive, send)
            return
        begun = False

        async def send_and_note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            async with asyncio.timeout(LONGEST):
                await self.app(scope, receive, send_and_note)
        except TimeoutError:
            if not begun:
                refusal = _refusal(503, f"this took longer than {LONGEST:.0f} seconds; request less at once")
                await refusal(scope, receive, send)
        finally:
            free.release()


def _foreign(headers: Mapping[str, str]) -> bool:
    origin = headers.get("origin")
    if origin is not None:
        return urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message}}, status, {"retry-after": "5"} if status == 503 else None)
