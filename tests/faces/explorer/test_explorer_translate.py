"""The page of translators: the command's translations, their attention, a tree that ends in them."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from langladder.faces.cli.main import app
from langladder.faces.explorer.app import create
from langladder.faces.http.shelf import Shelf
from tests.faces.explorer.small_translators import translators

SENTENCE = "the dog  sleeps"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("translators") / "translator"
    translators(root)
    return root


@pytest.fixture(scope="module")
def post(root: Path) -> Iterator:
    with TestClient(create(Shelf.below([root]))) as client:

        def ask(what: str, body: object, status: int = 200):
            answer = client.post(f"/api/translate/{what}", json=body)
            assert answer.status_code == status, answer.text
            if answer.headers["content-type"].startswith("text/event-stream"):
                *result, last = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
                assert last == "[DONE]"
                return [json.loads(event) for event in result]
            return answer.json()

        yield ask


@pytest.mark.parametrize("name", ["attention", "plain", "transformer"])
def test_translations_are_the_command_s_and_the_tree_ends_in_them(post, root: Path, name: str) -> None:
    (results,) = post("search", {"models": [name], "text": SENTENCE, "width": 4, "n_best": 4, "alpha": 0.5})
    line = [str(root / name), SENTENCE, "--beam", "4", "--n-best", "4", "--alpha", "0.5", "--json"]
    result = json.loads(CliRunner().invoke(app, ["translate", *line]).output)
    wanted = result["sentences"][0]["translations"][0]["candidates"]
    assert [{key: item[key] for key in ("text", "score", "log_prob")} for item in results["beam"]] == wanted
    tree = post("tree", {"model": name, "text": SENTENCE, "width": 4, "n_best": 4, "alpha": 0.5})
    assert tree["texts"] == [item["text"] for item in wanted]
    ends = [tree["nodes"][end] for end in tree["ends"]]
    assert [node["score"] for node in ends] == pytest.approx([item["score"] for item in wanted], abs=1e-4)
    assert [node["total"] for node in ends] == pytest.approx([item["log_prob"] for item in wanted], abs=1e-4)
    single = [str(root / name), SENTENCE, "--beam", "1", "--alpha", "0.5", "--json"]
    result = json.loads(CliRunner().invoke(app, ["translate", *single]).output)
    (greedy,) = result["sentences"][0]["translations"][0]["candidates"]
    assert {key: results["greedy"][key] for key in greedy} == greedy


def test_attention_of_every_layer_and_head(post, root: Path) -> None:
    shapes = {}
    for name in ("attention", "plain", "transformer"):
        (result,) = post("search", {"models": [name], "text": SENTENCE})
        best = result["beam"][0]
        read = post("attention", {"model": name, "text": SENTENCE, "ids": best["ids"]})
        assert read["source"] == [*SENTENCE.split(), "<eos>"]
        T, S = len(read["target"]), len(read["source"])
        assert best["tokens"] == T
        assert all(np.shape(layer["weights"])[1:] in ((T, S), (S, S), (T, T)) for layer in read["layers"])
        shapes[name] = [(layer["kind"], layer["layer"], len(layer["weights"])) for layer in read["layers"]]
        if name == "attention":
            line = ["translate", str(root / name), SENTENCE, "--attention", "--json"]
            wanted = json.loads(CliRunner().invoke(app, line).output)["sentences"][0]["translations"][0]
            weights = wanted["candidates"][0]["attention"]
            np.testing.assert_allclose(read["layers"][0]["weights"][0], weights, atol=2e-3)
    kinds = [(kind, layer, 3) for kind in ("source", "encoder", "decoder") for layer in (1, 2)]
    assert shapes == {"attention": [("source", 1, 1)], "plain": [], "transformer": kinds}


def test_what_cannot_be_translated_is_reported(post) -> None:
    for what, body, message in (
        ("search", {"models": ["plain"], "text": " "}, "write a sentence"),
        ("search", {"models": ["plain"], "text": "x " * 50_000}, "1000 characters"),
        ("search", {"models": ["plain"], "text": "x", "width": 17}, "width"),
        ("tree", {"model": "plain", "text": "dog " * 200}, "201 tokens"),
        ("attention", {"model": "plain", "text": "dog", "ids": [999]}, "id"),
    ):
        assert message in post(what, body, 400)["error"]["message"]
    assert "nothing" in post("tree", {"model": "nothing", "text": "dog"}, 404)["error"]["message"]
    result = post("search", {"models": ["nothing", "plain"], "text": "the zebra"})
    assert "error" in result[0]
    assert result[1]["unknown"] == [1]
