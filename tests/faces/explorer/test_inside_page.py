"""The page Inside: every kind of model answers with the numbers of its own answer; limits are stated."""

from pathlib import Path
from typing import Any

import pytest
import torch
from starlette.testclient import TestClient

from langladder.answers.surprisal import guess
from langladder.decoding.fill import fill
from langladder.faces.explorer import inside
from langladder.faces.explorer.app import create
from langladder.faces.http.shelf import Shelf
from langladder.models.encoders.bert import BERT
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from tests.faces.explorer.conftest import LINES
from tests.faces.explorer.small_translators import translators

TEXT = "the cat sees the old king ."


@pytest.fixture(scope="module")
def shelf(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """The language models of the other pages, an encoder and translators."""
    root = tmp_path_factory.mktemp("inside")
    translators(root / "translator")
    tokenizer = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    torch.manual_seed(5)
    bert = BERT(BERT.Config(context=24, width=8, layers=2, heads=2, next_sentence=False), tokenizer.full_vocab_size)
    bert.save(root / "encoder" / "bert")
    tokenizer.save(root / "encoder" / "bert" / "tokenizer.json")
    return Shelf.below([checkout / "models", root], project=root)


@pytest.fixture(scope="module")
def look(shelf: Shelf) -> Any:
    client = TestClient(create(shelf), raise_server_exceptions=False)

    def post(model: str, text: str = TEXT, position: int | None = None, status: int = 200) -> Any:
        answer = client.post("/api/inside/look", json={"model": model, "text": text, "place": position})
        assert answer.status_code == status, answer.text
        return answer.json()

    post.client = client  # type: ignore[attr-defined]
    return post


def test_the_models_that_can_be_looked_into_are_listed_by_kind(look: Any) -> None:
    groups = look.client.post("/api/inside/models").json()
    names = {group["group"]: [model["name"] for model in group["models"]] for group in groups}
    assert names["n-gram models"] == ["kneser_ney"] and names["recurrent networks"] == ["lstm"]
    assert names["Transformers that fill a gap"] == ["bert"] and "attention" in names["translators"]
    assert not {"svd", "broken"} & {name for some in names.values() for name in some}


@pytest.mark.parametrize("name", ["kneser_ney", "lstm", "gpt"])
@pytest.mark.parametrize("at", [0, 3, None])
def test_the_last_step_is_the_answer_of_a_language_model(look: Any, shelf: Shelf, name: str, at: int | None) -> None:
    result = look(name, position=at)
    rung = shelf.language_model(name)
    own = guess(rung.model, rung.tokenizer, TEXT, result["place"])
    assert result["answer"]["bits"] == own.bits and result["tokens"][result["place"]][1] == result["token"]
    p = result["answer"]["probability"]
    if name == "kneser_ney":
        assert result["steps"][-1]["probability"] == pytest.approx(p, rel=1e-4) and result["interpolated"]
        assert result["steps"][-1]["counts"] is None  # no training tokens here
    elif name == "gpt":
        assert result["layers"][-1]["guess"]["probability"] == pytest.approx(p, rel=1e-4)
        T = len(result["read"])
        assert result["at"] == T - 1 == result["place"] and result["read"][0] == "<bos>"
        assert [[len(row) for row in head] for head in result["layers"][0]["weights"]] == [[T] * T] * 2
    else:
        assert set(result["layers"][0]["gates"]) == {"input", "forget", "output"}
        assert len(result["layers"][0]["values"]["memory"]) == 8 == len(result["layers"][0]["units"])


def test_a_gap_is_filled_as_the_command_fills_it(look: Any, shelf: Shelf) -> None:
    encoder = shelf.load("encoder inside", shelf.find("bert"), inside._read_encoder).loaded
    ((*likeliest,),) = fill(encoder.model, encoder.tokenizer, "the cat sees <mask> old king .")
    wanted = [(item.text, pytest.approx(item.probability, rel=1e-4)) for item in likeliest]
    for text, position in (("the cat sees <mask> old king .", None), ("the cat sees the old king .", 3)):
        result = look("bert", text, position)
        assert [(item.strip(), p) for item, p in result["layers"][-1]["guess"]["likeliest"]] == wanted
        assert result["read"][4] == "<mask>" and result["token"] == (None if position is None else "the")


def test_a_translation_is_that_of_greedy_search(look: Any) -> None:
    result = look("attention", "the cat sleeps")
    body = {"text": "the cat sleeps", "models": ["attention"], "width": 1, "n_best": 1}
    assert result["log_prob"] == pytest.approx(sum(step["log_prob"] for step in result["steps"]))
    event = look.client.post("/api/translate/search", json=body).text
    assert f'"text": "{result["translation"]}"' in event
    for step, row in zip(result["steps"], result["layers"][0]["weights"][0], strict=True):
        assert step["weights"] == pytest.approx(row, abs=1e-3)
    assert look("plain", "the cat sleeps")["layers"] == []


@pytest.mark.parametrize(
    ("model", "text", "at", "says"),
    [
        ("gpt", "the " * 65, None, "66 tokens for this model; 1 to 64"),
        ("gpt", " ", None, "empty"),
        ("lstm", TEXT, 99, "place: 99"),
        ("bert", "the " * 30, None, "reads 22: cut it"),
        ("bert", TEXT, 50, "place: 50"),
        ("attention", "a " * 70, None, "1 to 64"),
        ("svd", TEXT, None, "cannot be shown"),
        ("gpt", "x" * 2_001, None, "text"),
    ],
)
def test_limits_are_stated(look: Any, model: str, text: str, at: int | None, says: str) -> None:
    assert says in look(model, text, at, status=400)["error"]["message"]


def test_an_answer_that_would_be_too_large_is_refused(look: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "MOST_NUMBERS", 100)
    for model in ("gpt", "lstm", "bert"):
        assert "numbers inside this model" in look(model, status=400)["error"]["message"]


def test_counts_need_the_training_tokens_of_the_same_tokenizer(checkout: Path, tmp_path: Path) -> None:
    own = Tokenizer.load(checkout / "models" / "lm" / "kneser_ney" / "tokenizer.json")
    other = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    shelf = Shelf({}, project=tmp_path)
    assert inside._training_ids(shelf, own) is None  # there are none
    folder = tmp_path / "data" / "tokens" / "text"
    folder.mkdir(parents=True)
    TokenStream.write(folder / "train.arrow", map(own.encode, LINES))
    own.save(folder / "tokenizer.json")
    assert inside._training_ids(shelf, own) is not None
    assert inside._training_ids(shelf, other) is None
