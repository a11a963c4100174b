"""Fine-tuned BERT for Hugging Face: files, unsupported heads, parity with `transformers`."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from langladder.formats.bert import export_fine_tuned, fine_tuned_arrays
from langladder.ground.errors import InputError
from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.classification.gpt_classifier import GPTClassifier
from langladder.models.reading.bert_span import BERTSpan
from langladder.models.tagging.bert_tagger import BERTTagger
from langladder.models.units import SubwordUnits
from langladder.tasks.fine_tuning import begin
from tests.models.fine_tuned_rungs import LABELS, PAIRS, SINGLES, TEXTS, TOKENIZER, saved_bert, saved_gpt
from tests.models.question_rows import QUESTIONS

TAGS = ["DET", "NOUN", "VERB"]
SENTENCES = [text.split() for text in TEXTS]


def made(kind: type[Any], folder: Path, *, base_settings: dict[str, Any] | None = None, **settings: Any) -> Any:
    if kind is GPTClassifier:
        base = saved_gpt(folder / "base", **base_settings or {})
    else:
        base = saved_bert(folder / "base", context=24 if kind is not BERTSpan else 64)
    rung = SimpleNamespace(name="grown", model=kind.Config.model_validate(settings))
    if kind is BERTSpan:
        network, tokenizer = begin(kind, rung, base, seed=1)
        return network.equip(tokenizer).eval()
    network, tokenizer = begin(kind, rung, base, 3, seed=1)
    reads = tokenizer if kind is BERTTagger else SubwordUnits(tokenizer)
    return network.equip(reads, TAGS if kind is BERTTagger else LABELS).eval()


def test_the_folder_names_labels_and_is_the_same_twice(tmp_path: Path) -> None:
    for kind, names, architecture in (
        (BERTClassifier, LABELS, "BertForSequenceClassification"),
        (BERTTagger, TAGS, "BertForTokenClassification"),
    ):
        model = made(kind, tmp_path / kind.__name__)
        for out in ("one", "two"):
            export_fine_tuned(model, tmp_path / kind.__name__ / out)
        config = json.loads((tmp_path / kind.__name__ / "one" / "config.json").read_text())
        assert config["architectures"] == [architecture]
        assert [config["id2label"][str(index)] for index in range(3)] == names
        assert config["label2id"] == {name: index for index, name in enumerate(names)}
        for file in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
            item, two = (tmp_path / kind.__name__ / out / file for out in ("one", "two"))
            assert item.read_bytes() == two.read_bytes()
    assert "bert.pooler.dense.weight" not in fine_tuned_arrays(model)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (BERTClassifier, {"layers": "weighted_sum"}, "layers=weighted_sum"),
        (BERTClassifier, {"pooling": "mean"}, "pooling=mean"),
        (BERTTagger, {"layers": "concat"}, "layers=concat"),
        (BERTTagger, {"output": "crf"}, "output=crf"),
        (BERTSpan, {"layers": "weighted_sum", "frozen": True}, "layers=weighted_sum"),
    ],
)
def test_what_transformers_has_no_head_for_is_refused(
    kind: type[Any], settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        export_fine_tuned(made(kind, tmp_path, **settings), tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


def test_parity_of_a_classifier_with_transformers(tmp_path: Path) -> None:
    """Ids, segments and log-probabilities of single texts and of pairs, padded together."""
    transformers = pytest.importorskip("transformers")
    model = made(BERTClassifier, tmp_path)
    export_fine_tuned(model, tmp_path / "hf")
    peer = transformers.BertForSequenceClassification.from_pretrained(tmp_path / "hf").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    for rows in (SINGLES, PAIRS):
        second = [row.second for row in rows] if rows is PAIRS else None
        inputs = tokenizer([row.text for row in rows], second, padding=True, return_tensors="pt")
        for ids, row in zip(inputs["input_ids"].tolist(), rows, strict=True):
            own = model.encode(row).ids.tolist()
            assert ids[: len(own)] == own and not any(ids[len(own) :])
        with torch.no_grad():
            theirs = torch.log_softmax(peer(**inputs).logits, dim=-1)
        np.testing.assert_allclose(model.log_probs(rows), theirs.numpy(), atol=1e-5)


def test_parity_of_a_tagger_with_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    model = made(BERTTagger, tmp_path)
    export_fine_tuned(model, tmp_path / "hf")
    peer = transformers.BertForTokenClassification.from_pretrained(tmp_path / "hf").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        theirs = torch.log_softmax(peer(**inputs).logits, dim=-1)
    for row, words in enumerate(SENTENCES):
        item = model.encode(words)
        assert inputs["input_ids"][row, 1 : 1 + len(item.ids)].tolist() == item.ids.tolist()
        np.testing.assert_allclose(model.log_probs([words])[0], theirs[row, 1 + item.firsts].numpy(), atol=1e-5)
    assert TOKENIZER.full_vocab_size == peer.config.vocab_size


def test_parity_of_a_reader_with_transformers(tmp_path: Path) -> None:
    """Ids and segments of question and paragraph, and the scores of every start and end, padded together."""
    transformers = pytest.importorskip("transformers")
    model = made(BERTSpan, tmp_path)
    export_fine_tuned(model, tmp_path / "hf")
    peer = transformers.BertForQuestionAnswering.from_pretrained(tmp_path / "hf").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    questions, contexts = [item.question for item in QUESTIONS], [item.context for item in QUESTIONS]
    inputs = tokenizer(questions, contexts, padding=True, return_tensors="pt")
    batch = model.collate([model.encode(item)[0] for item in QUESTIONS])
    assert inputs["input_ids"].tolist() == batch.tokens.tolist()
    with torch.no_grad():
        theirs, ours = peer(**inputs), model(batch.tokens)
    inside = batch.tokens != 0
    for index, name in enumerate(("start_logits", "end_logits")):
        np.testing.assert_allclose(ours[..., index][inside], getattr(theirs, name)[inside], atol=1e-5)


def test_a_reader_s_folder_has_its_head_and_its_threshold(tmp_path: Path) -> None:
    model = made(BERTSpan, tmp_path)
    arrays = fine_tuned_arrays(model)
    np.testing.assert_array_equal(arrays["qa_outputs.weight"], model.head.weight.detach())
    assert not arrays["qa_outputs.bias"].any() and "classifier.weight" not in arrays
    model.threshold = 0.5
    for out in ("one", "two"):
        export_fine_tuned(model, tmp_path / out)
    config = json.loads((tmp_path / "one" / "config.json").read_text())
    assert config["architectures"] == ["BertForQuestionAnswering"] and config["null_score_diff_threshold"] == -0.5
    for file in ("config.json", "model.safetensors", "tokenizer.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
