"""A small corpus and small models for the tests of training."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from langladder.models.language.gpt import GPT
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.recurrent import RecurrentLM
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS

V = 20
STEPS = 16


def make_stream(seed: int, documents: int = 8) -> TokenStream:
    """Documents of four lines; a word tends to be followed by the next number."""
    random = np.random.default_rng(seed)
    first = random.integers(4, V, size=(documents, 4, 1))
    words = (first - 4 + np.arange(5) + random.integers(0, 2, size=(documents, 4, 5))) % (V - 4) + 4
    ends = [np.full((documents, 4, 1), special) for special in (BOS, EOS)]
    ids = np.concatenate([ends[0], words, ends[1]], axis=2).astype(np.int32)
    return TokenStream(ids.ravel(), np.arange(documents + 1) * 4 * 7)


def make_model(kind: str, rows: Literal["stream", "documents"] = "stream") -> NeuralLanguageModel:
    """An LSTM or plain RNN with dropout on its inputs and outputs, or a GPT with dropout everywhere."""
    torch.manual_seed(0)
    if kind == "gpt":
        return GPT(GPT.Config(context=8, width=8, layers=2, heads=2, dropout=0.2, rows=rows), V)
    return RecurrentLM(RecurrentLM.Config(cell=kind, width=8, embedding_dim=8, layers=2, dropout=0.2, rows=rows), V)


def settings(**changes: Any) -> dict[str, Any]:
    """Settings of a run that validates and saves at different steps; 5 and 3 do not divide 16."""
    return {
        "batch_size": 2,
        "sequence_length": 4,
        "lr": 0.005,
        "warmup_steps": 3,
        "max_steps": STEPS,
        "validate_every": 5,
        "checkpoint_every": 3,
        "log_every": 2,
        "precision": "fp32",
        "accelerator": "cpu",
        "progress": False,
    } | changes


def moved(work: Path) -> Path:
    """The folder of an interrupted run under another name, which no file in it knew (or none, killed at once)."""
    for file in work.rglob("*.safetensors"):
        assert str(work).encode() not in file.read_bytes(), file
    return work.rename(work.with_name("moved")) if work.exists() else work


def stop_at(monkeypatch: pytest.MonkeyPatch, task: Any, step: int) -> None:
    """Make a task's loss fail with a KeyError once `step` updates are made."""
    loss = task.loss

    def fails(self, batch):
        if self.steps_done == step:
            raise KeyError("interrupted")
        return loss(self, batch)

    monkeypatch.setattr(task, "loss", fails)
