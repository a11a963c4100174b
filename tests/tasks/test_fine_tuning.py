"""Fine-tuning as the stages do it: learning, determinism, frozen layers, model cards."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from langladder.formats.model_card import model_card
from langladder.ground.errors import InputError
from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.classification.gpt_classifier import GPTClassifier
from langladder.models.encoders.bert import BERT
from langladder.models.making import Run
from langladder.models.tagging.bert_tagger import BERTTagger
from langladder.tasks.fine_tuning import begin, make_classifier, make_tagger
from langladder.tasks.settings import ReadingTraining
from langladder.text.labelled.labelled import Tagged
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from tests.models.fine_tuned_rungs import LABELS, PAIRS, SINGLES, TEXTS, TOKENIZER, saved_bert, saved_gpt

SHORT = {"max_steps": 40, "lr": 0.01, "batch_size": 3, "progress": False, "accelerator": "cpu", "validations": 2}
TAGGED = [Tagged(tuple(text.split()), tuple("N" if len(word) > 3 else "D" for word in text.split())) for text in TEXTS]


def rung(kind: type[Any], **model: Any) -> Any:
    config = kind.Config.model_validate({"dropout": 0.0, "body_dropout": 0.1} | model)
    return SimpleNamespace(name="grown", model=config, training=ReadingTraining.model_validate(SHORT))


def classifier(kind: type[Any], folder: Path, name: str, **model: Any) -> Any:
    base = saved_gpt(folder / "base") if kind is GPTClassifier else saved_bert(folder / "base")
    return make_classifier(
        kind, LABELS, PAIRS, SINGLES, settings=rung(kind, **model), base=base, run=Run(1, folder / name)
    )


@pytest.mark.parametrize("kind", [BERTClassifier, GPTClassifier])
def test_it_learns_and_the_same_seed_gives_the_same_bits(kind: type[Any], tmp_path: Path) -> None:
    first, result = classifier(kind, tmp_path, "a")
    second, _ = classifier(kind, tmp_path, "b")
    for parameter, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(parameter, other)
    assert result.validation_loss is not None and [row["step"] for row in result.curve] == [20, 40]
    labels = [first.labels[row] for row in first.log_probs(PAIRS).argmax(axis=1)]
    assert sum(item == row.label for item, row in zip(labels, PAIRS, strict=True)) >= 4
    assert first.config.body.dropout == 0.1 and not first.training


def test_a_frozen_body_is_the_base_s_after_training_too(tmp_path: Path) -> None:
    model, _ = classifier(BERTClassifier, tmp_path, "a", frozen=True, layers="weighted_sum", pooling="mean")
    there = BERT.load(tmp_path / "base").state_dict()
    for name, tensor in model.features.encoder.state_dict().items():
        assert torch.equal(tensor, there[name]), name
    assert model.features.mix.abs().sum() > 0  # which layers are read is learnt


def test_a_tagger_learns_beside_its_validation_sentences(tmp_path: Path) -> None:
    base = saved_bert(tmp_path / "base")
    model, result = make_tagger(
        BERTTagger, ["D", "N"], TAGGED, TAGGED, settings=rung(BERTTagger), base=base, run=Run(1, tmp_path)
    )
    assert [tuple(tags) for tags in model.tag([item.words for item in TAGGED])] == [item.tags for item in TAGGED]
    assert max(row["validation_accuracy"] for row in result.curve) == 1.0


def test_a_base_whose_tokenizer_is_another_s_is_refused(tmp_path: Path) -> None:
    base = saved_bert(tmp_path / "base")
    train_tokenizer(TEXTS, TokenizerConfig(kind="word", vocab_size=None)).save(base / "tokenizer.json")
    with pytest.raises(InputError, match="they do not belong together"):
        begin(BERTClassifier, rung(BERTClassifier), base, len(LABELS), seed=1)
    with pytest.raises(InputError, match=r"nowhere/config\.json"):
        begin(BERTClassifier, rung(BERTClassifier), tmp_path / "nowhere", len(LABELS), seed=1)


def test_the_card_names_the_settings_of_the_body(tmp_path: Path) -> None:
    model, _ = classifier(BERTClassifier, tmp_path, "a")
    model.save(tmp_path / "model")
    card = model_card(tmp_path / "model", loading="", limits="")
    assert "| body.width | 16 |" in card and "| layers | last |" in card and "{" not in card
    assert f"{TOKENIZER.vocab_size} tokens" in card
