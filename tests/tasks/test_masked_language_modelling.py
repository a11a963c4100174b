"""Pre-training with gaps: the loss by hand, a text learnt, a killed run that ends with the same bits."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.models.making import Run
from langladder.tasks.masked_language_modelling import MaskedLanguageModelling, train_encoder
from langladder.tasks.settings import MaskedTraining
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from tests.models.test_bert import V, gaps, make
from tests.tasks.small_run import moved

LINES = ["the cat sleeps", "the dog barks", "a bird sings", "a fish swims"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))


@pytest.fixture(scope="module")
def text(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TokenStream:
    """Twenty documents in which the fish swims after the bird sings, and the dog barks after the cat sleeps."""
    path = tmp_path_factory.mktemp("text") / "a.arrow"
    halves = [np.concatenate([framed(tokenizer.encode(line)) for line in half]) for half in (LINES[:2], LINES[2:])]
    TokenStream.write(path, halves * 10)
    return TokenStream.open(path)


def settings(**changes: Any) -> MaskedTraining:
    value = {"max_steps": 60, "lr": 0.01, "batch_size": 8, "sequence_length": 12, "progress": False, "short": 0.0}
    return MaskedTraining.model_validate(value | {"validate_every": 30, "log_every": 10} | changes)


def train(tokenizer: Tokenizer, text: TokenStream, folder: Path, *, pairs: bool = True, **changes: Any) -> Any:
    torch.manual_seed(0)
    config = BERTConfig(context=12, width=16, layers=1, heads=2, dropout=0.1, next_sentence=pairs)
    model = BERT(config, tokenizer.full_vocab_size)
    return model, train_encoder(model, tokenizer, text, text, settings(**changes), Run(3, folder))


def test_golden_loss_is_the_sum_of_both_means() -> None:
    model = make()
    batch = gaps(model)
    (last,) = model.hidden(batch.tokens, batch.segments, layers=(-1,))
    scores = model.head(model.transformed(last.flatten(0, 1)[batch.positions]))
    assert model.next_head is not None
    words = functional.cross_entropy(scores, batch.targets)
    pairs = functional.cross_entropy(model.next_head(model.pooled(last)), batch.strange)
    task = MaskedLanguageModelling(model, settings())
    torch.testing.assert_close(task.loss(batch), words + pairs, atol=1e-5, rtol=1e-5)
    total, count = task.evaluate(batch)
    assert total / count == pytest.approx(float(words.detach()), rel=1e-5)
    assert count == 4


def test_golden_loss_of_a_network_that_knows_nothing() -> None:
    """ln V for a gap, ln 2 for a pair."""
    model = make()
    with torch.no_grad():
        for parameter in (model.embedding.weight, model.head.bias, model.next_head.weight, model.next_head.bias):  # type: ignore[union-attr]
            parameter.zero_()  # type: ignore[union-attr]
    words, pairs = model.losses(gaps(model))
    assert float(words.detach()) == pytest.approx(math.log(V))
    assert pairs is not None and float(pairs.detach()) == pytest.approx(math.log(2))


def test_it_learns_gaps_and_pairs(tokenizer: Tokenizer, text: TokenStream, tmp_path: Path) -> None:
    _, result = train(tokenizer, text, tmp_path, max_steps=150)
    rows = [row for row in result.curve if row["validation_loss"] is not None]
    assert rows[-1]["validation_loss"] < 1.0 < math.log(tokenizer.full_vocab_size)
    assert rows[-1]["validation_next_sentence"] >= 0.8  # of a few dozen pairs; by chance 0.5
    assert result.cost["tokens_per_second"] > 0


@pytest.mark.parametrize("pairs", [True, False])
def test_a_killed_run_ends_with_the_same_bits(
    tokenizer: Tokenizer, text: TokenStream, tmp_path: Path, pairs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, result = train(tokenizer, text, tmp_path / "whole", pairs=pairs, max_steps=20, checkpoint_every=5)
    plain = MaskedLanguageModelling.loss

    def dies(task: MaskedLanguageModelling, batch: Any) -> torch.Tensor:
        if task.steps_done == 12:
            raise KeyboardInterrupt
        return plain(task, batch)

    monkeypatch.setattr(MaskedLanguageModelling, "loss", dies)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        train(tokenizer, text, tmp_path / "cut", pairs=pairs, max_steps=20, checkpoint_every=5)
    monkeypatch.undo()
    resumed, after = train(tokenizer, text, moved(tmp_path / "cut"), pairs=pairs, max_steps=20, checkpoint_every=5)
    assert after.curve == result.curve
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, resumed.get_parameter(name)), name


def test_rows_longer_than_the_context_are_refused(tokenizer: Tokenizer, text: TokenStream, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sequence_length=20 exceeds the model's context of 12"):
        train(tokenizer, text, tmp_path, sequence_length=20)
