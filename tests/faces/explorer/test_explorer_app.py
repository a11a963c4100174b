"""The pages as a whole: what they show, what they refuse, and that they load nothing from elsewhere."""

import asyncio
import html
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from starlette.testclient import TestClient

from langladder.faces.explorer import app as explorer
from langladder.faces.explorer.app import PAGES, create
from langladder.faces.explorer.page import Page
from langladder.faces.http import guard
from langladder.faces.http.server import streamed
from langladder.faces.http.shelf import Shelf

LINKS = re.compile(r"""(?:src|href|action)=["']([^"']*)""")


@pytest.mark.parametrize("path", ["/", "/docs", *(f"/{page.name}" for page in PAGES)])
def test_a_page_is_whole_and_loads_nothing_from_outside(client, path) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    for link in LINKS.findall(answer.text):
        assert link.startswith(("/", "#", "data:,"))
        assert not link.startswith("//")
        if link.startswith("/static/"):
            assert client.get(link).status_code == 200
    assert "<script>" not in answer.text
    assert not re.search(r"\son\w+=|style=", answer.text)


def test_titles_are_escaped_and_broken_models_are_listed(client) -> None:
    page = client.get("/surprisal").text
    assert "A &lt;GPT&gt;" in page
    assert "<GPT>" not in page
    assert all(f'value="{name}"' in page for name in ("kneser_ney", "lstm", "gpt", "broken"))
    assert 'value="svd"' not in page


def test_pages_know_the_languages_of_the_corpora(models: Shelf) -> None:
    with TestClient(create(models, languages={"text": "tr", "source": None}), base_url="http://127.0.0.1") as client:
        page = client.get("/tokenize").text
    assert html.unescape(re.search('<body data-languages="([^"]*)">', page)[1]) == '{"source": null, "text": "tr"}'


def test_scripts_put_no_data_into_markup(client) -> None:
    for page in PAGES:
        script = client.get(f"/static/{page.script}").text
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", script)


def test_other_hosts_and_origins_are_refused(client) -> None:
    answer = client.get("/", headers={"host": "evil.example"})
    assert answer.status_code == 400 and "evil.example" in answer.json()["error"]["message"]
    body = {"texts": ["a"], "models": []}
    for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        answer = client.post("/api/surprisal/score", json=body, headers=headers)
        assert answer.status_code == 403
        assert "other pages" in answer.json()["error"]["message"]
    assert client.post("/api/surprisal/score", json=body, headers={"origin": "http://testserver"}).status_code == 200


def test_what_is_too_large_or_unknown_gets_a_clear_answer(client, ask) -> None:
    large = {"texts": ["a " * 50_000], "models": ["gpt"]}
    assert "20000 characters" in ask("/api/surprisal/score", large, 400)["error"]["message"]
    answer = client.post("/api/surprisal/score", content=b"x" * (5 * 2**20))
    assert answer.status_code == 413
    assert "/nothing" in client.get("/nothing").json()["error"]["message"]
    assert client.get("/static/..%2fapp.py").status_code in (400, 404)
    assert client.post("/api/surprisal/score", content=b"{").status_code == 400


def test_fifty_requests_at_once_are_all_answered_alike(ask) -> None:
    body = {"texts": ["the cat sees the old king ."], "models": ["kneser_ney", "lstm", "gpt"]}
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: ask("/api/surprisal/score", body), range(50)))
    for answer in answers:
        assert [event["model"] for event in answer] == body["models"]
        bits = [event["texts"][0]["bits"] for event in answer]
        assert bits == pytest.approx([event["texts"][0]["bits"] for event in answers[0]], abs=1e-4)


def test_who_waits_too_long_hears_it(models, monkeypatch) -> None:
    begun, go = threading.Event(), threading.Event()

    def router(_: Shelf) -> APIRouter:
        routes = APIRouter()

        @routes.post("/wait")
        def wait() -> dict[str, bool]:
            begun.set()
            return {"done": go.wait(20)}

        return routes

    monkeypatch.setattr(explorer, "PATIENCE", 0.2)
    slow = Page("slow", "Slow", "It waits.", "api.html.j2", "none.js", router, at_once=1)
    with TestClient(create(models, pages=[*PAGES, slow])) as client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/api/slow/wait", json={})
        assert begun.wait(10)
        second = client.post("/api/slow/wait", json={})
        assert (second.status_code, "try again" in second.json()["error"]["message"]) == (503, True)
        assert client.get("/surprisal").status_code == 200, "a page waits for nobody"
        go.set()
        assert first.result(10).json() == {"done": True}
        assert client.post("/api/slow/wait", json={}).status_code == 200


def test_a_half_sent_body_holds_no_turn(models, monkeypatch) -> None:
    def router(_: Shelf) -> APIRouter:
        routes = APIRouter()

        @routes.post("/now")
        def now(body: dict[str, int]) -> dict[str, int]:
            return body

        return routes

    monkeypatch.setattr(guard, "SLOWEST", 0.5)
    page = Page("quick", "Quick", "It answers.", "api.html.j2", "none.js", router, at_once=1)
    app = create(models, pages=[page])
    headers = [(b"host", b"testserver"), (b"content-length", b"2"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/api/quick/now", "query_string": b"", "headers": headers}

    async def post(*parts: bytes) -> int:
        sent = [{"type": "http.request", "body": part, "more_body": part != b"}"} for part in parts]
        result = []

        async def receive() -> dict:
            if not sent:
                await asyncio.sleep(60)
            return sent.pop(0)

        async def send(message: dict) -> None:
            result.append(message)

        await app(dict(scope), receive, send)
        return result[0]["status"]

    async def all_of_them() -> list[int]:
        slow = [asyncio.create_task(post(b"{")) for _ in range(4)]
        await asyncio.sleep(0.05)
        return [await asyncio.wait_for(post(b"{", b"}"), 0.3), *await asyncio.gather(*slow)]

    assert asyncio.run(all_of_them()) == [200, 408, 408, 408, 408]


def test_what_fails_shows_no_traceback(models) -> None:
    def router(_: Shelf) -> APIRouter:
        routes = APIRouter()

        @routes.post("/now")
        def now() -> None:
            raise RuntimeError("secret of the server")

        @routes.post("/later")
        def later() -> StreamingResponse:
            return streamed({"whole": 1 // number} for number in (1, 0))

        return routes

    page = Page("failing", "Failing", "It fails.", "api.html.j2", "none.js", router)
    with TestClient(create(models, pages=[page]), raise_server_exceptions=False) as client:
        answer = client.post("/api/failing/now", json={})
        assert answer.status_code == 500
        assert "terminal" in answer.json()["error"]["message"]
        later = client.post("/api/failing/later", json={}).text
        assert "terminal" in later
        assert later.endswith("data: [DONE]\n\n")
        assert "secret" not in answer.text


def test_the_api_is_described(client) -> None:
    assert "/api/surprisal/score" in client.get("/openapi.json").json()["paths"]
    assert "/api/surprisal/score" in client.get("/docs").text
