"""kNN-LM: a golden by hand, probabilities that sum to one, the base at λ = 0, and how λ and τ are chosen."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from langladder.data.language_modelling import document_batches
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT
from langladder.models.language.knn import KNNLM, KNNConfig, KNNOutput, Pairs, from_gpt, pairs_of
from langladder.models.language.language_model import LanguageModel
from langladder.models.making import Run
from langladder.nn.output import SoftmaxOutput
from langladder.tasks.nearest_neighbours import make_tuned
from tests.models.fine_tuned_rungs import TOKENIZER
from tests.tasks.small_run import V, make_model, make_stream


def small_gpt() -> GPT:
    model = make_model("gpt").eval()
    assert isinstance(model, GPT)
    return model


def mixed(weight: float, **settings: Any) -> tuple[KNNLM, GPT, torch.Tensor]:
    """A kNN-LM over a small GPT's states, its base, and a text."""
    gpt = small_gpt()
    (text,) = document_batches(make_stream(0))
    config = KNNConfig.model_validate({"neighbours": 5} | settings)
    model = from_gpt(config, gpt, pairs_of(gpt, [text], config.entries))
    model.head.mix.copy_(torch.tensor([weight, 2.0]))
    return model, gpt, text


def test_three_entries_by_hand() -> None:
    base = SoftmaxOutput(width=1, vocab_size=6, bias=False)
    torch.nn.init.zeros_(base.weight)  # p_LM = 1/6
    head = KNNOutput(base, entries=3, neighbours=2)
    head.keys.copy_(torch.tensor([[0.0], [1.0], [3.0]]))
    head.values.copy_(torch.tensor([4, 5, 4]))
    head.mix.copy_(torch.tensor([0.5, 2.0]))
    # ‖k − 1‖² = 1, 0 (the nearest two) and 4
    # weights e^(−1/2) : e^0 = 0.6065 : 1, so p_kNN(4) = 0.37754, p_kNN(5) = 0.62246
    probs = head(torch.tensor([[1.0]])).exp()[0]
    expected = torch.tensor([1 / 12] * 4 + [0.5 * 0.37754 + 1 / 12, 0.5 * 0.62246 + 1 / 12])
    torch.testing.assert_close(probs, expected, atol=1e-5, rtol=0)
    scores = head.target_log_probs(torch.tensor([[1.0], [1.0]]), torch.tensor([5, 2])).exp()
    torch.testing.assert_close(scores, expected[[5, 2]], atol=1e-5, rtol=0)


def test_probabilities_sum_to_one_and_scoring_agrees_with_generation() -> None:
    model, gpt, text = mixed(0.4)
    prefix = text[:1, :6]
    following = model.next_log_probs(prefix)
    torch.testing.assert_close(following.exp().sum(dim=1), torch.ones(1))
    assert not torch.allclose(following, gpt.next_log_probs(prefix), atol=1e-2)
    scores = model.log_probs(text[:1, :7])
    torch.testing.assert_close(scores[0, 6], following[0, text[0, 6]])
    torch.testing.assert_close(model.advance(prefix)[0], following)


def test_without_the_store_it_is_its_base() -> None:
    model, gpt, text = mixed(0.0)
    assert torch.equal(model.log_probs(text), gpt.log_probs(text))
    assert torch.equal(model.next_log_probs(text[:2, :5]), gpt.next_log_probs(text[:2, :5]))


def test_the_store_holds_each_state_and_the_token_after_it() -> None:
    model, gpt, text = mixed(0.4)
    hidden, _ = gpt(text[:1, :8])  # the first window, of the context's length
    row = (model.head.keys - hidden[0, 3]).abs().sum(dim=1).argmin()
    torch.testing.assert_close(model.head.keys[row], hidden[0, 3], atol=1e-5, rtol=0)
    assert model.head.values[row] == text[0, 4]
    assert isinstance(gpt.head, SoftmaxOutput)  # put back
    assert len(mixed(0.4, entries=7)[0].head.values) == 7


def test_the_grid_finds_what_helps() -> None:
    model, gpt, _ = mixed(0.0)
    held_out = pairs_of(gpt, document_batches(make_stream(1)))
    loss = model.head.choose(held_out, [0.1, 1.0, 10.0])
    alone = -float(gpt.head.target_log_probs(*held_out).mean())
    assert model.head.mix[0] > 0
    assert loss < alone - 0.1  # an untrained network knows nothing, the store does
    assert loss == pytest.approx(-float(model.head.target_log_probs(*held_out).mean()), abs=1e-5)
    model.head.values.fill_(0)  # a store of what never follows
    assert model.head.choose(held_out, [1.0]) == pytest.approx(alone, abs=1e-5)
    assert model.head.mix[0] == 0


def test_it_is_made_from_a_base_and_saved(tmp_path: Path) -> None:
    small_gpt().save(tmp_path / "base")
    for wrong in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="temperatures"):
            KNNConfig(temperatures=[1.0, wrong])
    settings: Any = SimpleNamespace(name="knn_lm", model=KNNConfig(neighbours=5, temperatures=[1.0]))
    train, validation = make_stream(0), make_stream(1)
    model, record = make_tuned(tmp_path / "base", TOKENIZER, train, validation, settings=settings, run=Run(1, tmp_path))
    model.save(tmp_path / "model")
    loaded = LanguageModel.load(tmp_path / "model")
    batches = list(document_batches(validation))
    scores = torch.cat([loaded.log_probs(batch).flatten() for batch in batches])
    assert record.validation_loss == pytest.approx(-float(scores[scores != 0].mean()), abs=1e-5)
    assert loaded.number_of_parameters() == small_gpt().number_of_parameters() and loaded.vocab_size == V
    make_model("lstm").save(tmp_path / "lstm")
    with pytest.raises(InputError, match="a RecurrentLM, but a KNNLM starts from a GPT"):
        make_tuned(tmp_path / "lstm", TOKENIZER, train, validation, settings=settings, run=Run(1, tmp_path))
    with pytest.raises(InputError, match="no token to predict"):
        pairs_of(small_gpt(), [])
    assert isinstance(pairs_of(small_gpt(), batches), Pairs)
