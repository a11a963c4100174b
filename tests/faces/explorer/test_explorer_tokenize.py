"""The page of tokenizers: which there are, and their tokens."""

from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from langladder.embeddings.base import WordVectors
from langladder.faces.explorer.app import create
from langladder.faces.http.shelf import Shelf
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from langladder.text.words.normalisation import Normalisation

LINES = ["the cat sat on the mat", "the cats sit , they sat", "a bat sat at that hat"] * 4
KINDS = {"bpe_bytes": 330, "bpe_words": 60, "wordpiece": 70, "unigram": 50, "word": None, "character": None}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tokenizers")
    for kind, size in KINDS.items():
        tokenizer = train_tokenizer(LINES, TokenizerConfig(kind=kind, vocab_size=size))
        for name in (kind, "again") if kind == "word" else (kind,):
            (root / "lm" / name).mkdir(parents=True)
            (root / "lm" / name / "config.json").write_text("{}")
            tokenizer.save(root / "lm" / name / "tokenizer.json")
    for name in ("svd", "skipgram"):
        WordVectors(["the", "cat", "<i>"], np.eye(3, dtype=np.float32)).save(root / "embedding" / name)
    (root / "lm" / "broken").mkdir()
    (root / "lm" / "broken" / "config.json").write_text("{}")
    (root / "lm" / "broken" / "tokenizer.json").write_text("{")
    return root


@pytest.fixture(scope="module")
def post(root: Path):
    with TestClient(create(Shelf.below([root]))) as client:

        def ask(what: str, body: object, status: int = 200):
            answer = client.post(f"/api/tokenize/{what}", json=body)
            assert answer.status_code == status, answer.text
            return answer.json()

        yield ask


def test_equal_tokenizers_are_one_and_a_broken_one_is_reported(post) -> None:
    result = post("list", {})
    assert len(result) == len(KINDS) + 2
    by_models = {tuple(item["models"]): item for item in result}
    assert by_models["again", "word"]["kind"] == "word"
    assert by_models["skipgram", "svd"] | {"id": ""} == {
        "id": "",
        "models": ["skipgram", "svd"],
        "kind": "vectors",
        "title": "Words that have vectors",
        "size": 3,
    }
    assert "tokenizer.json" in by_models["broken",]["error"]["message"]


def test_tokens_are_the_tokenizer_s(post) -> None:
    ids = {item["models"][-1]: item["id"] for item in post("list", {})}
    result = {item["id"]: item for item in post("cut", {"text": "the cat\nsat <b>ü</b>"})}
    assert "error" in result[ids["broken"]]
    for kind in ("bpe_bytes", "bpe_words", "unigram"):
        tokenizer = train_tokenizer(LINES, TokenizerConfig(kind=kind, vocab_size=KINDS[kind]))
        lines = result[ids[kind]]["lines"]
        assert [[id for _, id in line] for line in lines] == [
            tokenizer.encode(line).tolist() for line in ("the cat", "sat <b>ü</b>")
        ]
    assert [text for text, _ in result[ids["wordpiece"]]["lines"][1]][:1] == ["sat"]
    assert "".join(text for text, _ in result[ids["bpe_bytes"]]["lines"][0]) == "the cat"
    both = result[ids["bpe_bytes"]]
    assert (both["words"], both["unknown"]) == (4, 0)
    assert both["bytes_per_token"] == pytest.approx((7 + 14 - 1) / both["tokens"], abs=1e-3)
    words = result[ids["svd"]]
    assert words["lines"][0] == [["the", 0], ["cat", 1]]
    assert words["unknown"] == words["tokens"] - 2


def test_limits_and_what_is_not_there_are_reported(post) -> None:
    for what, body, message in (
        ("cut", {"text": " \n"}, "write a text"),
        ("cut", {"text": "x" * 100_000}, "5000 characters"),
    ):
        assert message in post(what, body, 400)["error"]["message"]


def test_words_of_vectors_are_looked_up_as_their_text_was_written(tmp_path: Path) -> None:
    written = Normalisation(("invisible", "NFC"))
    WordVectors(["köy", "."], np.eye(2, dtype=np.float32), words_by="apart", normalisation=written).save(tmp_path / "a")
    with TestClient(create(Shelf.below([tmp_path]))) as client:
        (result,) = client.post("/api/tokenize/cut", json={"text": "ko\u0308y.\u200f"}).json()
    assert result["lines"] == [[["köy", 0], [".", 1]]]
