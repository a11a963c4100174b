"""The pages as a whole: what they show, what they refuse, and that they load nothing from elsewhere."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from langladder.explorer.pages import PAGES

LINKS = re.compile(r"""(?:src|href|action)=["']([^"']*)""")


@pytest.mark.parametrize("path", ["/", "/docs", *(f"/{page.name}" for page in PAGES)])
def test_a_page_is_whole_and_loads_nothing_from_elsewhere(client, path) -> None:
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


def test_scripts_put_no_data_into_markup(client) -> None:
    for page in PAGES:
        script = client.get(f"/static/{page.script}").text
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", script)


def test_other_hosts_and_origins_are_refused(client) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400
    body = {"texts": ["a"], "models": []}
    for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        answer = client.post("/api/surprisal/score", json=body, headers=headers)
        assert answer.status_code == 403
        assert "elsewhere" in answer.json()["error"]["message"]
    assert client.post("/api/surprisal/score", json=body, headers={"origin": "http://testserver"}).status_code == 200


def test_what_is_too_large_or_unknown_gets_a_clear_answer(client, ask) -> None:
    large = {"texts": ["a " * 50_000], "models": ["gpt"]}
    assert "20000 characters" in ask("/api/surprisal/score", large, 400)["error"]["message"]
    answer = client.post("/api/surprisal/score", content=b"x" * (5 * 2**20))
    assert answer.status_code == 413
    assert "/nothing" in client.get("/nothing").json()["error"]["message"]
    assert client.get("/static/..%2fapp.py").status_code in (400, 404)
    assert client.post("/api/surprisal/score", content=b"{").status_code == 400


def test_fifty_requests_at_once_are_all_answered(ask) -> None:
    asked = {"texts": ["the cat sees the old king ."], "models": ["kneser_ney", "lstm", "gpt"]}
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: json.dumps(ask("/api/surprisal/score", asked)), range(50)))
    assert len(set(answers)) == 1


def test_the_api_is_described(client) -> None:
    assert "/api/surprisal/score" in client.get("/openapi.json").json()["paths"]
    assert "/api/surprisal/score" in client.get("/docs").text
