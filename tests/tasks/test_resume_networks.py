"""Interrupted and resumed: states of every shape (a window's words, convolutions' inputs), fresh masks and noise."""

from pathlib import Path

import pytest
import torch
from small_run import V, make_stream, moved, settings, stop_at

from langladder.models.language.convolutional import ConvolutionalLM
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.nnlm import NNLM
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.making import Run
from langladder.tasks.language_modelling import LanguageModelling, train_language_model
from langladder.tasks.settings import LMTrainingConfig

NETWORKS = {
    "nnlm": (NNLM, {"window": 3, "embedding_dim": 8, "width": 8, "dropout": 0.2, "output": "hierarchical"}),
    "one word": (NNLM, {"window": 1, "embedding_dim": 8, "width": 8, "output": "adaptive"}),
    "convolutional": (ConvolutionalLM, {"width": 8, "embedding_dim": 8, "layers": 2, "dropout": 0.2}),
    "peephole": (RecurrentLM, {"cell": "peephole", "width": 8, "embedding_dim": 8, "locked": True, "dropout": 0.2}),
    "regularised": (
        RecurrentLM,
        {"width": 8, "embedding_dim": 8, "layers": 2, "weight_drop": 0.3, "word_dropout": 0.2, "output": "nce"},
    ),
}
OPTIMIZERS = {"peephole": {"optimizer": "muon"}}


def train(name: str, work: Path) -> NeuralLanguageModel:
    kind, config = NETWORKS[name]
    torch.manual_seed(0)
    model = kind(kind.Config.model_validate(config), V)  # type: ignore[attr-defined]
    training = LMTrainingConfig(**settings() | OPTIMIZERS.get(name, {}))
    train_language_model(model, make_stream(0), make_stream(1), training, Run(1, work))
    return model


@pytest.mark.parametrize("name", NETWORKS)
def test_interrupted_run_ends_with_the_same_bits(name, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_at(patch, LanguageModelling, 8)
        with pytest.raises(KeyError):
            train(name, tmp_path / "broken")
    resumed, whole = train(name, moved(tmp_path / "broken")), train(name, tmp_path / "whole")
    for (parameter_name, ours), theirs in zip(resumed.state_dict().items(), whole.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), parameter_name
    if "counts" in whole.head.state_dict():
        assert whole.head.counts.max() > 1  # type: ignore[operator]  # the training text's
