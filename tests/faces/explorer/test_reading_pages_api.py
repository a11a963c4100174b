"""The API of the pages Ladder, Read and Instruct: what is asked for, what is odd, what is missing or broken."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from langladder.faces.explorer import microworld
from langladder.faces.explorer.app import create
from langladder.faces.explorer.ladder import link
from langladder.faces.http.shelf import Shelf
from tests.faces.explorer import small_readers

HOSTILE = '<img src=x style="color:red" onerror=alert>'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("reading")
    for add in (small_readers.classifiers, small_readers.tagger, small_readers.readers, small_readers.instructed):
        add(root / "models")
    broken = root / "models" / "classifier" / "broken"
    broken.mkdir()
    (broken / "config.json").write_text('{"_target_": "langladder.models.classification.textcnn.TextCNN"}')
    return root


@pytest.fixture(scope="module")
def reading(folder: Path) -> Iterator[TestClient]:
    with TestClient(create(Shelf.below([folder / "models"])), raise_server_exceptions=False) as client:
        yield client


def events(client: TestClient, path: str, body: Any) -> dict[str, list[dict[str, Any]]]:
    """The events of a stream by model."""
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    *lines, last = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert last == "[DONE]"
    result: dict[str, list[dict[str, Any]]] = {}
    for event in map(json.loads, lines):
        result.setdefault(event["model"], []).append(event)
    return result


def test_every_classifier_answers_and_what_cannot_says_why(reading: TestClient) -> None:
    names = ["logistic", "trees", "attentive", "broken", "hmm", "nobody"]
    result = events(reading, "/api/read/labels", {"text": "((good) (film))", "models": names})
    assert all(result[name][0]["labels"] for name in names[:3]) and result["trees"][0]["tree"].startswith("<svg")
    for name, word in (("broken", "config.json"), ("hmm", "Classifier"), ("nobody", "not served")):
        assert word in result[name][0]["error"]["message"]


def test_the_drawing_bears_no_styles_and_no_markup_of_the_text(reading: TestClient) -> None:
    (event,) = events(reading, "/api/read/labels", {"text": f"good {HOSTILE}", "models": ["trees"]})["trees"]
    assert ' style="' not in event["tree"] and ' data-style="' in event["tree"] and "<img" not in event["tree"]


def test_tags_and_answers(reading: TestClient) -> None:
    (tagged,) = events(reading, "/api/read/tags", {"text": "the dog.", "words": "apart", "models": ["hmm"]})["hmm"]
    assert tagged["words"] == ["the", "dog", "."] and tagged["names"]["DET"] == "determiner"
    body = {"context": "anna ate the pear .", "question": "who ate the pear ?", "models": ["spans", "options"]}
    result = events(reading, "/api/read/answers", body)
    assert result["spans"][0]["answers"][0]["text"] == "anna"
    assert "two or more" in result["options"][0]["error"]["message"]
    result = events(reading, "/api/read/answers", body | {"options": ["anna", "pear"]})
    assert result["options"][0]["chooses"] and result["options"][0]["answers"]


@pytest.mark.parametrize("path", ["labels", "tags"])
@pytest.mark.parametrize("text", ["x" * 100_000, "x " * 9_000, "", "\t\t", "(" * 5_000, "\x00\ud7ff 猫", "a\tb"])
def test_odd_texts_are_answered(path: str, text: str, reading: TestClient) -> None:
    body = {"text": text, "models": ["logistic", "trees", "attentive", "hmm"]}
    answer = reading.post(f"/api/read/{path}", json=body)
    assert answer.status_code == (400 if len(text) > 20_000 else 200)
    assert "the server failed" not in answer.text and "Traceback" not in answer.text


def test_two_models_answer_and_the_judge_is_asked(reading: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microworld, "DRAWN", {"train": 100, "unseen": 20})
    microworld.requests.cache_clear()
    examples = reading.post("/api/instruct/examples", json={}).json()
    assert examples and {"kind", "shown", "text", "answer"} == set(examples[0])
    body = {"instruction": "say cat", "models": ["sft", "ppo", "gpt", "svd"], "max_tokens": 5}
    result = events(reading, "/api/instruct/answer", body)
    for name in ("sft", "ppo", "gpt"):
        last = result[name][-1]
        assert last["end"] == "whole" and not last["judged"]["known"]
    assert result["svd"][-1]["end"] == "error"
    body["instruction"] = "say " * 200
    assert events(reading, "/api/instruct/answer", body)["sft"][-1]["end"] == "error"
    assert reading.post("/api/instruct/answer", json=body | {"instruction": "x" * 100_000}).status_code == 400
    microworld.requests.cache_clear()


def test_a_folder_without_report_lists_its_models(reading: TestClient) -> None:
    result = reading.post("/api/ladder/run").json()
    kinds = {model["name"]: model["kind"] for model in result["models"]}
    assert not result["found"] and kinds["sft"] == "instruct" and kinds["trees"] == "classifier"
    assert reading.post("/api/ladder/curves").json() == []
    assert 'id="found"' in reading.get("/").text


def test_a_damaged_report_is_reported(folder: Path, reading: TestClient) -> None:
    report = folder / "reports" / "ladder.json"
    report.parent.mkdir()
    report.write_text("{")
    try:
        for path in ("run", "curves"):
            answer = reading.post(f"/api/ladder/{path}")
            assert answer.status_code == 400 and "ladder.json" in answer.json()["error"]["message"]
    finally:
        report.unlink()
        report.parent.rmdir()


@pytest.mark.parametrize(
    ("run", "tracking", "address"),
    [
        ("4e1e", "http://h:5000/", "http://h:5000/#/runs/4e1e"),
        ("4e1e", "", None),
        (None, "http://h:5000", None),
        ("../x?y", "http://h:5000", None),
        ("http://h/#/runs/7", "", "http://h/#/runs/7"),
        ("javascript:alert(1)", "http://h:5000", None),
    ],
)
def test_golden_links_to_runs(run: str | None, tracking: str, address: str | None) -> None:
    assert link(run, tracking) == address
