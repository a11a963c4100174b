"""The explorer's application: pages, their scripts and styles, their API, and a page that lists the API.

Pages and styles are the report's own, made on this machine: nothing is loaded from elsewhere. `safety` says what is
refused.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

from langladder.faces.explorer.page import Page
from langladder.faces.explorer.pages import PAGES
from langladder.faces.explorer.safety import protect
from langladder.faces.http.guard import LOOPBACK, REFUSALS
from langladder.faces.http.kinds import title_of
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError

KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
THREADS = 100  # more than all pages compute at once, so that a page is always shown


def create(
    shelf: Shelf,
    hosts: Sequence[str] = LOOPBACK,
    pages: Sequence[Page] = PAGES,
    languages: Mapping[str, str | None] | None = None,
) -> FastAPI:
    """The application.

    Args:
        shelf: the models; `shelf.place` has data/ and reports/ where there are any.
        hosts: names by which it may be asked; ["*"] for any.
        languages: text, source and target (of pairs), labels, tags, questions, instructions → BCP 47 tag, where known.
    """
    app = FastAPI(title="langladder explorer", docs_url=None, redoc_url=None, lifespan=_begin, responses=REFUSALS)
    protect(app, hosts, {f"/api/{page.name}": page.at_once for page in pages})
    environment = _environment()
    static = _static()

    def shown(template: str, **context: Any) -> HTMLResponse:
        return HTMLResponse(
            environment.get_template(template).render(pages=pages, languages=languages or {}, **context)
        )

    def page_of(page: Page) -> HTMLResponse:
        shelf.look()
        return shown(page.template, page=page, models=partial(_models, shelf), shelf=shelf)

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
        return shown("api.html.j2", page=None, paths=app.openapi()["paths"], json=partial(json.dumps, indent=1))

    for page in pages:
        app.include_router(page.router(shelf), prefix=f"/api/{page.name}", tags=[page.title])
        app.get(f"/{page.name}", include_in_schema=False)(partial(page_of, page))
    return app


@asynccontextmanager
async def _begin(_: FastAPI) -> Any:
    from anyio.to_thread import current_default_thread_limiter

    current_default_thread_limiter().total_tokens = THREADS
    yield


def _models(shelf: Shelf, *kinds: str) -> list[tuple[str, str]]:
    """Names and titles of the models of some kinds; two of one title have their names behind it."""
    found = [(name, title_of(folder)) for name, folder in shelf.folders_of(*kinds).items()]
    titles = [title for _, title in found]
    return [(name, title if titles.count(title) == 1 else f"{title} ({name})") for name, title in found]


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
    """Name → what is served: the explorer's files, and the styles and scripts of the report."""
    import hashlib

    found = {}
    for place in (files("langladder.faces.report") / "templates", files("langladder.faces.explorer") / "static"):
        for file in place.iterdir():
            ending = f".{file.name.rpartition('.')[2]}"
            if ending in KINDS:
                body = file.read_bytes()
                found[file.name] = (body, KINDS[ending], f'"{hashlib.sha256(body).hexdigest()[:20]}"')
    return found
