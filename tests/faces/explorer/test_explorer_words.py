"""The page of words: the answers of the commands, unknown words, a bias, a map that is made elsewhere."""

import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from langladder.embeddings.base import WordVectors
from langladder.evaluation import maps
from langladder.evaluation.maps import word_map
from langladder.faces.cli.main import app
from langladder.faces.explorer.app import create
from langladder.faces.explorer.word_maps import MOST_NUMBERS, Job, Maps, events
from langladder.faces.explorer.words import examples
from langladder.faces.http.shelf import Shelf

WORDS = ["the", "man", "woman", "king", "queen", "she", "he", "dog", "cat", "horse", "paris", "doctor", "nurse", "<b>"]


UMAP = """class UMAP:
    def __init__(self, **settings):
        assert settings == {"n_neighbors": 9, "random_state": 0, "n_jobs": 1}
    fit_transform = staticmethod(lambda matrix: matrix[:, :2])
"""  # stands for umap-learn


def vectors() -> WordVectors:
    rng = np.random.default_rng(1)
    return WordVectors(WORDS, rng.normal(size=(len(WORDS), 6)).astype(np.float32))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("words") / "embedding" / "drawn"
    vectors().save(path)
    return path


@pytest.fixture(scope="module")
def post(folder: Path, checkout: Path):
    with TestClient(create(Shelf.below([folder.parent, checkout / "models" / "lm"]))) as client:

        def ask(what: str, body: object, status: int = 200):
            answer = client.post(f"/api/words/{what}", json=body)
            assert answer.status_code == status, answer.text
            if answer.headers["content-type"].startswith("text/event-stream"):
                *result, last = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
                assert last == "[DONE]"
                return [json.loads(event) for event in result]
            return answer.json()

        yield ask


def command(*words: str) -> dict:
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_answers_are_those_of_the_commands(post, folder: Path) -> None:
    for measure in ("cosine", "dot", "euclidean"):
        wanted = command("neighbours", str(folder), "king", "-k", "4", "--measure", measure)
        result = post("neighbours", {"model": "drawn", "word": " king ", "count": 4, "measure": measure})
        assert result == wanted["neighbours"][0]["nearest"]
    both = post("analogy", {"model": "drawn", "a": "man", "b": "woman", "c": "king"})
    for method, result in both.items():
        assert result == command("analogy", str(folder), "man", "woman", "king", "--method", method)["answers"]
    result = post("similarity", {"model": "drawn", "first": "man", "second": "king"})
    assert {"first": "man", "second": "king"} | result == command("similarity", str(folder), "man", "king")


@pytest.mark.parametrize(
    ("what", "body", "message"),
    [
        ("neighbours", {"word": "kng"}, "did you mean king"),
        ("neighbours", {"word": "King"}, "did you mean king"),
        ("neighbours", {"word": "  "}, "a word is missing"),
        ("neighbours", {"word": "x" * 100_000}, "200 characters"),
        ("analogy", {"a": "man", "b": "", "c": "king"}, "a word is missing"),
        ("odd", {"words": "king, queen king"}, "2 different;"),
        ("odd", {"words": ""}, "0 different;"),
        ("bias", {"pairs": "she, he", "words": "king"}, "two words a pair"),
        ("bias", {"pairs": "she he", "words": " "}, "should be neutral"),
        ("bias", {"pairs": "on off", "words": "king"}, "0 of 1 have vectors"),
        ("map", {"count": 6000}, "5000"),
    ],
)
def test_what_cannot_be_answered_is_reported(post, what: str, body: dict, message: str) -> None:
    assert message in post(what, {"model": "drawn"} | body, 400)["error"]["message"]


def test_the_odd_one_out_and_a_bias(post) -> None:
    result = post("odd", {"model": "drawn", "words": "king, queen\n man <b>"})
    assert {item["word"] for item in result} == {"king", "queen", "man", "<b>"}
    body = {"model": "drawn", "pairs": "she he, woman man", "words": "doctor nurse <b> he plumber"}
    result = post("bias", body)
    assert result["missing"] == ["plumber"]
    assert result["within"] == ["he"]
    assert {word for word, *_ in result["leaning"]} == {"doctor", "nurse", "<b>"}
    assert max(abs(before) for _, before, _ in result["leaning"]) > 0.05
    assert max(abs(after) for *_, after in result["leaning"]) < 1e-5
    assert sum(result["explained"]) == pytest.approx(1, abs=1e-4)


def test_a_word_in_every_rung(post) -> None:
    models = ["drawn", "gpt", "kneser_ney", "drawn", "nothing"]
    result = post("rungs", {"models": models, "word": "king", "count": 3})
    assert [event["model"] for event in result] == ["drawn", "gpt", "kneser_ney", "nothing"]
    assert [len(event.get("nearest", [])) for event in result] == [3, 3, 0, 0]
    assert "no input embedding" in result[2]["error"]["message"]
    assert "not served" in result[3]["error"]["message"]


def test_examples_are_words_that_there_are(post) -> None:
    result = post("about", {"model": "drawn"})
    assert (result["words"], result["dimension"], result["sparse"]) == (len(WORDS), 6, False)
    assert result["examples"]["words"] == "dog cat paris horse"
    assert result["examples"]["leaning"] == "doctor nurse king queen"
    other = examples(WordVectors(["я", "ты"], np.eye(2, dtype=np.float32)))
    assert {other[name] for name in ("word", "a", "b", "c")} <= {"я", "ты"}


def test_a_map_has_the_places_of_the_command(post) -> None:
    *_, result = post("map", {"model": "drawn", "count": 10})
    wanted = word_map(vectors(), WORDS[:10])
    assert result["words"] == WORDS[:10]
    assert result["explained"] == pytest.approx(wanted.explained, abs=1e-4)
    ratio = np.ptp(wanted.points, axis=0)
    assert np.ptp(result["x"]) / np.ptp(result["y"]) == pytest.approx(ratio[0] / ratio[1], rel=1e-3)
    assert max(map(abs, [*result["x"], *result["y"]])) == 1


def test_a_slow_map_is_computed_in_another_process_once_and_kept() -> None:
    maps, drawn = Maps(), vectors()
    job = maps.job(drawn, 10, "tsne")
    assert maps.job(drawn, 10, "tsne") is job
    received = [event for _ in range(9) for event in events(job, patience=60)]
    assert any("iteration" in str(event.get("said")) for event in received)
    np.testing.assert_allclose(job.result.points, word_map(drawn, WORDS[:10], "tsne").points, rtol=1e-4)
    assert [*events(job)] == [received[-1]]


def test_whoever_waits_for_a_map_hears_that_it_lasts_and_why_there_is_none() -> None:
    job = Job(["a"])
    assert [*events(job, patience=0.01)] == [{"said": "waiting for its turn", "share": 0.0}, {"again": True}]
    too_large = WordVectors(["a", "b"], np.zeros((2, 1), dtype=np.float32).repeat(MOST_NUMBERS // 2 + 1, axis=1))
    with pytest.raises(Exception, match="1 words at most"):
        Maps().job(too_large, 10, "pca")


def test_a_method_that_is_not_installed_is_refused_with_the_line_that_installs_it(post, monkeypatch) -> None:
    monkeypatch.setitem(maps.PACKAGES, "umap", ("no_such_module", "umap-learn"))
    assert post("about", {"model": "drawn"})["missing"] == {"umap": "pip install umap-learn"}
    message = post("map", {"model": "drawn", "count": 10, "method": "umap"}, 400)["error"]["message"]
    assert "not installed; allowed: pca, tsne (install it with `pip install umap-learn`)" in message
    result = CliRunner().invoke(app, ["map", "--help"])
    page = (
        (files("langladder.faces.explorer") / "templates" / "words.html.j2")
        .read_text()
        .split('name="method"')[1]
        .split("</select>")[0]
    )
    assert f"[{'|'.join(maps.METHODS)}]" in result.output
    assert re.findall(r'value="(\w+)">([^<]+)', page) == list(maps.METHODS.items())


@pytest.mark.long
def test_a_map_by_umap_is_made_in_a_process_of_its_own(post, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "umap.py").write_text(UMAP)
    monkeypatch.syspath_prepend(tmp_path)
    assert post("about", {"model": "drawn"})["missing"] == {}
    *_, result = post("map", {"model": "drawn", "count": 10, "method": "umap"})
    while "again" in result:  # on a busy machine
        *_, result = post("map", {"model": "drawn", "count": 10, "method": "umap"})
    assert result["words"] == WORDS[:10] and result["explained"] is None
    rows = vectors().dense(np.arange(10)).astype(np.float64)
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True))[:, :2]
    points = rows - (rows.max(axis=0) + rows.min(axis=0)) / 2
    np.testing.assert_allclose(np.transpose([result["x"], result["y"]]), points / np.abs(points).max(), atol=1e-4)
