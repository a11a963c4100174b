"""The benchmark of transfer on public sets fine-tunes as the stages do, and names what it chose."""

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.making import Run
from langladder.models.tagging.bert_tagger import BERTTagger
from langladder.tasks.fine_tuning import make_classifier, make_tagger
from langladder.tasks.settings import ReadingTraining, TaggerTraining
from langladder.text.labelled.labelled import Example, Tagged
from pipeline import ROOT
from tests.models.fine_tuned_rungs import TEXTS, saved_bert

SHORT = {"max_steps": 4, "batch_size": 2, "progress": False, "accelerator": "cpu", "validations": 1}
NAMED = [Example(text, None, "ab"[index % 2]) for index, text in enumerate(TEXTS)]
TAGGED = [Tagged(tuple(text.split()), tuple("ab"[len(word) % 2] for word in text.split())) for text in TEXTS]


@pytest.fixture
def quality(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("transfer_quality")


@pytest.mark.parametrize("kind", [BERTClassifier, BERTTagger])
def test_it_fine_tunes_as_the_stages_do(kind: Any, quality: Any, tmp_path: Path) -> None:
    base, tagging = saved_bert(tmp_path / "base"), kind is BERTTagger
    rows: list[Any] = TAGGED if tagging else NAMED
    training = (TaggerTraining if tagging else ReadingTraining).model_validate(SHORT)
    settings = SimpleNamespace(name="x", model=kind.Config(), training=training)
    ours = quality.fine_tuned(kind, ["a", "b"], rows, rows, settings, base, Run(3, tmp_path / "ours"))
    make: Any = make_tagger if tagging else make_classifier
    model, _ = make(kind, ["a", "b"], rows, rows, settings=settings, base=base, run=Run(3, tmp_path / "theirs"))
    for parameter, other in zip(ours.parameters(), model.parameters(), strict=True):
        assert torch.equal(parameter, other)


def test_every_set_has_its_settings(quality: Any) -> None:
    assert sorted(quality.CHOSEN) == ["mr", "sst2", "trec", "ud_ewt"]
    for chosen in quality.CHOSEN.values():
        assert chosen.few >= chosen.epochs and chosen.few_lr <= chosen.lr
