"""Rollouts: batched equals one by one, log-probabilities of the drawn tokens, ends of responses."""

import math

import numpy as np
import pytest
import torch

from langladder.decoding.rollouts import (
    Prompts,
    Response,
    Rollouts,
    _uniform,
    check_prompts,
    draw,
    log_policy,
    roll_out,
)
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT
from langladder.models.language.instructed import InstructedGPT
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.recurrent import RecurrentLM
from langladder.text.tokenize.specials import BOS, EOS, PAD

V = 14
PROMPTS = [[BOS, 4, 5, 6, 7], [BOS], [BOS, 9, 8], [BOS, 4, 5, 6, 7], [BOS, 9, 8, 4], [BOS, 5]] * 3
NEW = 6


def make(kind: str) -> NeuralLanguageModel:
    """A network whose next tokens have different probabilities."""
    torch.manual_seed(3)
    model: NeuralLanguageModel
    if kind == "lstm":
        model = RecurrentLM(RecurrentLM.Config(cell="lstm", width=8, embedding_dim=8, dropout=0.5), V)
    else:
        settings = GPT.Config(context=12, width=16, layers=2, heads=2, dropout=0.5)
        model = InstructedGPT(settings, V) if kind == "instructed" else GPT(settings, V)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8 if kind != "lstm" else 3)
    return model.train()


def roll(model: NeuralLanguageModel, prompts: list[list[int]], **changes: int) -> Rollouts:
    return roll_out(model, prompts, **{"max_new_tokens": NEW, "seed": 5, "step": 2} | changes)  # type: ignore[arg-type]


def one_by_one(model: NeuralLanguageModel, row: int) -> tuple[list[int], list[float]]:
    """The response to a prompt without caches and without the other rows: the plain loop."""
    ids, log_probs = list(PROMPTS[row]), []
    numbers = _uniform(len(PROMPTS), NEW, 5, 2)[row]
    model.eval()
    for u in numbers:
        hidden, _ = model(torch.tensor([ids]))
        with torch.no_grad():
            probs = log_policy(model, hidden[0, -1]).exp().double().numpy()
        token = int(np.searchsorted(probs.cumsum() / probs.sum(), u, side="right"))
        ids.append(token)
        log_probs.append(math.log(probs[token]))
        if token == EOS:
            break
    model.train()
    return ids[len(PROMPTS[row]) :], log_probs


@pytest.mark.parametrize("kind", ["gpt", "instructed", "lstm"])
@pytest.mark.parametrize("group", [4, 128])
def test_rollouts_are_those_of_one_by_one_sampling(kind: str, group: int) -> None:
    """In groups and all together, with caches, rows of unequal prompts and rows that leave."""
    model = make(kind)
    drawn = roll(model, PROMPTS, group=group)
    assert model.training  # as it was before
    responses = drawn.responses(range(len(PROMPTS)))
    assert {response.finished for response in responses} == {True, False}
    for row, response in enumerate(responses):
        ids, log_probs = one_by_one(model, row)
        assert [*response.tokens, *[EOS] * response.finished] == ids
        assert response.prompt == tuple(PROMPTS[row])
        assert response.row == row
        torch.testing.assert_close(
            drawn.log_probs[row],
            torch.tensor([*log_probs, *[0.0] * (drawn.mask.shape[1] - len(log_probs))]),
            atol=1e-5,
            rtol=1e-5,
        )
        assert drawn.mask[row].sum() == len(ids)
        behind = drawn.tokens[row, len(PROMPTS[row]) + len(ids) :]
        assert bool((behind == PAD).all())


def test_a_row_depends_on_seed_step_and_index_only() -> None:
    model = make("gpt")
    whole = roll(model, PROMPTS).responses(range(len(PROMPTS)))
    first = roll(model, PROMPTS[:2]).responses(range(2))
    assert whole[:2] == first
    assert whole == roll(model, PROMPTS).responses(range(len(PROMPTS)))
    assert whole != roll(model, PROMPTS, step=3).responses(range(len(PROMPTS)))
    assert whole != roll(model, PROMPTS, seed=6).responses(range(len(PROMPTS)))
    assert len({item.tokens for item in whole if item.prompt == tuple(PROMPTS[0])}) > 1  # equal prompts, other answers


def test_golden_draws() -> None:
    """By the distribution function: 0.2, 0.5, 1.0; a token of probability 0 is never drawn, the last one neither."""
    probs = torch.tensor([[0.2, 0.3, 0.0, 0.5, 0.0]]).log().expand(6, -1)
    uniform = torch.tensor([0.0, 0.1999, 0.2, 0.4999, 0.5, 1 - 2**-53], dtype=torch.float64)
    assert draw(probs, uniform).tolist() == [0, 0, 1, 1, 3, 3]
    first = torch.tensor([[0.0, 0.5, 0.5]]).log()
    assert draw(first, torch.zeros(1, dtype=torch.float64)).tolist() == [1]  # F(v − 1) ≤ u < F(v), with u = 0
    many = torch.rand(20_000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    shares = torch.bincount(draw(probs[:1].expand(len(many), -1), many), minlength=5) / len(many)
    torch.testing.assert_close(shares, probs[0].exp(), atol=0.012, rtol=0)


def test_excluded_tokens_have_no_probability() -> None:
    """BOS, PAD and the markers; the rest sums to 1. Temperature divides the scores."""
    model = make("instructed")
    hidden = torch.randn(3, 16)
    log_probs = log_policy(model, hidden)
    never = [PAD, BOS, V - 3, V - 2, V - 1]
    assert bool((log_probs[:, never] == -math.inf).all())
    torch.testing.assert_close(log_probs.exp().sum(dim=1), torch.ones(3))
    hot = log_policy(model, hidden, temperature=2.0)
    possible = [token for token in range(V) if token not in never]
    torch.testing.assert_close(hot[:, possible], torch.log_softmax(log_probs[:, possible] / 2, dim=1))


def test_no_prompts_no_rollouts() -> None:
    drawn = roll(make("gpt"), [])
    assert drawn.responses([]) == []
    assert drawn.tokens.shape == (0, 0)


def test_bad_prompts_are_refused() -> None:
    with pytest.raises(InputError, match=r"prompt 1: .* must begin with BOS"):
        roll(make("gpt"), [[BOS, 4], [4]])
    with pytest.raises(InputError, match="prompt 1: 7 tokens, and with max_new_tokens=6 more it exceeds"):
        roll(make("gpt"), [[BOS, 4], [BOS, *[4] * 6]])
    with pytest.raises(InputError, match=r"prompt 0: \[\]"):
        check_prompts([[]], 8, 2)
    check_prompts([[BOS] * 1000], None, 1000)


def test_weights_that_are_not_numbers_are_refused() -> None:
    model = make("gpt")
    with torch.no_grad():
        next(model.parameters()).fill_(math.nan)
    with pytest.raises(InputError, match="not numbers"):
        roll(model, PROMPTS)


def test_prompts_have_no_judges_unless_named() -> None:
    prompts = Prompts([[BOS]], lambda result: [len(item.tokens) for item in result])
    assert prompts.score([Response(0, (BOS,), (4, 5), True)]) == [2]
    assert not prompts.judges
