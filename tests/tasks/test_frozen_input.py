"""Training from word vectors: a frozen table stays through optimiser, checkpoints and the best weights' return."""

from pathlib import Path

import numpy as np
import pytest
import torch
from small_run import STEPS, make_stream, settings

from langladder.embeddings.base import WordVectors
from langladder.models.language.gpt import GPT
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.making import Run
from langladder.tasks.from_vectors import start_from_vectors
from langladder.tasks.language_modelling import train_language_model
from langladder.tasks.settings import InputVectors, LMTrainingConfig
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

TOKENIZER = train_tokenizer(
    [" ".join(f"w{number}" for number in range(16))], TokenizerConfig(kind="word", vocab_size=None)
)


def build(kind: str) -> NeuralLanguageModel:
    torch.manual_seed(0)
    if kind == "gpt":
        return GPT(GPT.Config(context=8, width=8, layers=1, heads=2, tie_weights=False), TOKENIZER.vocab_size)
    return RecurrentLM(RecurrentLM.Config(width=8, embedding_dim=8, tie_weights=False), TOKENIZER.vocab_size)


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_frozen_table_stays_through_a_training_run(kind: str, frozen: bool, tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(12)]  # the other four begin at random
    vectors = WordVectors(words, np.random.default_rng(0).normal(size=(12, 8)).astype(np.float32))
    vectors.save(tmp_path / "vectors")
    model = build(kind)
    covered = start_from_vectors(model, TOKENIZER, InputVectors(vectors=str(tmp_path / "vectors"), frozen=frozen))
    assert covered.sum() == 12
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}

    config = LMTrainingConfig.model_validate(settings(weight_decay=0.1, max_steps=STEPS))
    train_language_model(model, make_stream(0), make_stream(1), config, Run(0, tmp_path / "work"))
    moved = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    assert moved == set(before) - ({"embedding.weight"} if frozen else set())
