"""What is typed: unknown words by model, and texts of the run's own test data that pages begin with."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from langladder.faces.cli.main import app
from langladder.faces.explorer import typed
from langladder.faces.explorer.app import create
from langladder.faces.http.shelf import Shelf
from langladder.text.labelled.labelled import LABELLED, TAGGED
from langladder.text.storage.shards import TEXT
from langladder.text.storage.tables import PAIRS, write_table
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from tests.faces.explorer import small_readers
from tests.faces.explorer.small_translators import PAIRS as TRANSLATED
from tests.faces.explorer.small_translators import translators


def _labelled(text: str, label: str) -> dict[str, Any]:
    return dict.fromkeys(LABELLED.names) | {"text": text, "label": label}


def _tagged(text: str) -> dict[str, Any]:
    return dict.fromkeys(TAGGED.names) | {"words": text.split(), "tags": ["X"] * len(text.split())}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """A finished run: models, and the clean text of each side."""
    root = tmp_path_factory.mktemp("run")
    small_readers.classifiers(root / "models")
    small_readers.tagger(root / "models")
    translators(root / "models" / "translator")
    clean = root / "data" / "clean"
    text = [
        {"document": number // 2, "text": f"the cat number {number} sleeps .", "log_prob": None} for number in range(6)
    ]
    train = [*text, {"document": 9, "text": "the dog sees the cat .", "log_prob": None}]
    labels = [_labelled("a good film .", "yes"), _labelled("a bad film .", "no"), _labelled("a fine film .", "yes")]
    tables = {
        "text": (TEXT, train, [*text, {"document": 9, "text": "the zebra sleeps .", "log_prob": None}]),
        "parallel": (PAIRS, [{"source": name, "target": other} for name, other in TRANSLATED.items()], None),
        "labels": (LABELLED, labels, None),
        "tags": (TAGGED, [_tagged("a good film .")], [_tagged("a good film ."), _tagged("a zebra film .")]),
    }
    for side, (schema, rows, tests) in tables.items():
        for split, chosen in (("train", rows), ("test", tests or rows)):
            name = split if side == "text" else f"{split}.parquet"
            (clean / side).mkdir(parents=True, exist_ok=True)
            write_table(clean / side / name, pa.Table.from_pylist(chosen, schema))
    return Shelf.below([root / "models"])


@pytest.fixture(scope="module")
def client(run: Shelf) -> Iterator[TestClient]:
    with TestClient(create(run), raise_server_exceptions=False) as client:
        yield client


def unknown(client: TestClient, text: str, *models: str) -> dict[str, Any]:
    """Model → what is said of it."""
    result = client.post("/api/typed/unknown", json={"asked": [{"text": text, "models": models}]}).json()
    return {name: item for item in result for name in item["models"]}


def test_each_model_is_queried_with_its_own_training_text(client: TestClient) -> None:
    result = unknown(client, "the good movie", "logistic", "attentive", "hmm", "attention", "plain")
    words = {name: [word["text"] for word in item["unknown"]] for name, item in result.items()}
    assert words["logistic"] == ["the", "movie"]  # neither stands in the labelled texts
    assert words["attention"] == words["plain"] == ["good", "movie"]
    assert words["hmm"] == ["good", "movie"] and words["attentive"] == ["the", "movie"]
    assert {name: item["by"] for name, item in result.items()} == {
        "logistic": "training", "attentive": "list", "hmm": "list", "attention": "training", "plain": "training",
    }  # fmt: skip
    tree = unknown(client, "((good) ((zebra) (.)))", "logistic")["logistic"]
    assert [word["text"] for word in tree["unknown"]] == ["zebra"]


@pytest.mark.parametrize(
    ("command", "note"),
    [
        ("classify classifier/logistic", "2 of 2 words are unknown to this model: 国, 王; it reads"),
        ("translate translator/attention", "2 of 2 words are unknown to this model: 国, 王; it reads"),
        ("tag tagger/hmm", "1 of 1 word is unknown to this model: 国王; it reads"),
        (
            "translate translator/attention The movie sleeps",
            "2 of 3 words are unknown to this model: The (the is known),",
        ),
        ("classify classifier/logistic " + " ".join(f"new{n}" for n in range(10)), "new6, new7 and 2 more; it reads"),
        ("translate translator/attention the cat sleeps", ""),
        ("classify classifier/logistic a good film .", ""),
        ("tag tagger/hmm the", ""),
    ],
)
def test_the_command_line_says_it_too(run: Shelf, client: TestClient, command: str, note: str) -> None:
    name, folder, *words = command.split(" ", 2)
    text = words[0] if words else "国王"
    result = CliRunner().invoke(app, [name, str(run.project / "models" / folder), text])
    assert result.exit_code == 0 and result.stdout
    assert note in result.stderr and bool(note) == ("unknown" in result.stderr)
    rung = folder.rpartition("/")[2]
    assert bool(note) == bool(unknown(client, text, rung)[rung]["count"])  # as the explorer


def test_a_training_text_that_cannot_be_read_does_not_stop_an_answer(run: Shelf, tmp_path: Path) -> None:
    shutil.copytree(run.project / "models", tmp_path / "models")
    (tmp_path / "data" / "clean" / "labels").mkdir(parents=True)
    (tmp_path / "data" / "clean" / "labels" / "train.parquet").write_bytes(b"damaged")
    for folder in (tmp_path, run.project):
        result = CliRunner().invoke(app, ["classify", str(folder / "models" / "classifier" / "logistic"), "zebra"])
        assert result.exit_code == 0 and ("unknown" in result.stderr) == (folder == run.project)


def test_a_word_is_what_the_training_text_says(client: TestClient, run: Shelf) -> None:
    folder = run.project / "models" / "classifier" / "pieces"  # of subwords, with no conventions of its own
    folder.mkdir()
    target = "langladder.models.classification.bert_classifier.BERTClassifier"
    (folder / "config.json").write_text(json.dumps({"_target_": target}))
    train_tokenizer(["a good film ."], TokenizerConfig(kind="bpe_bytes", vocab_size=300)).save(
        folder / "tokenizer.json"
    )
    file = run.project / "data" / "clean" / "labels" / "conventions.json"
    run.refresh()
    assert [word["text"] for word in unknown(client, "a good film.", "pieces")["pieces"]["unknown"]] == ["film."]
    file.write_text(json.dumps({"text": {"words": "apart"}}))
    assert unknown(client, "a good film.", "pieces")["pieces"]["count"] == 0
    file.unlink()
    shutil.rmtree(folder)
    run.refresh()


def test_limits_and_missing_models(client: TestClient) -> None:
    assert unknown(client, "a", "no such model") == {}
    for texts in ([{"text": "x" * 20_001, "models": []}], [{"text": "", "models": []}] * 4, [{"text": "a"}]):
        answer = client.post("/api/typed/unknown", json={"asked": texts})
        assert answer.status_code == 400 and "asked" in answer.json()["error"]["message"]


def test_examples_come_from_the_test_split_and_are_known(run: Shelf) -> None:
    texts = {
        side: [example.text for example in typed.examples(run, side)] for side in ("text", "parallel", "tags", "labels")
    }
    assert "the zebra sleeps ." not in texts["text"] and texts["text"][0] == "the cat number 0 sleeps ."
    assert texts["parallel"] == list(TRANSLATED)[:3] and texts["tags"] == ["a good film ."]
    labels = typed.examples(run, "labels")
    assert [label.about for label in labels] == ["yes", "no", "yes"]  # by turns
    assert typed.examples(run, "beginnings")[0].text == "the cat number"
    assert typed.examples(run, "documents")[0].text == "the cat number 0 sleeps .\nthe cat number 1 sleeps ."
    assert typed.examples(run, "questions") == [] and typed.examples(run, "cases") == []


def test_examples_of_a_text_whose_words_have_no_spaces(tmp_path: Path) -> None:
    rows = [{"document": 0, "text": text, "log_prob": None} for text in ("我们喜欢猫。", "ปลากินแมว")]
    for split in ("train", "test"):
        write_table(tmp_path / "data" / "clean" / "text" / split, pa.Table.from_pylist(rows, TEXT))
    shelf = Shelf({}, project=tmp_path)
    assert [example.text for example in typed.examples(shelf, "text")] == ["我们喜欢猫。", "ปลากินแมว"]
    assert [example.text for example in typed.examples(shelf, "beginnings")] == ["我们喜", "ปลากิ"]


def test_pages_begin_with_an_example_and_offer_the_others(client: TestClient) -> None:
    for path, text in (("/read", "a good film ."), ("/translate", "the cat sleeps"), ("/continue", "the cat number")):
        page = client.get(path).text
        assert f'dir="auto">{text}</textarea>' in page and f'value="{text}"' in page, path
    assert 'value="a bad film ."' in client.get("/read").text


def test_without_data_pages_begin_with_a_sentence_of_microworld(models: Shelf) -> None:
    with TestClient(create(models)) as client:
        assert ">the king</textarea>" in client.get("/continue").text
        assert "names: anna followed" in client.get("/read").text
