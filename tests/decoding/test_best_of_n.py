"""Best-of-n: its KL and its expected reward, by enumerating every subset."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
import torch

from langladder.decoding.best_of_n import best_of_n_kl, best_of_n_values, sample_many
from langladder.decoding.rollouts import Response
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT
from langladder.text.tokenize.specials import BOS

PROMPTS = [[BOS, 4], [BOS, 5, 6]]


def count(responses: Sequence[Response]) -> list[float]:
    """The reward of the tests: how often a response has token 7."""
    return [float(response.tokens.count(7)) for response in responses]


def policy() -> GPT:
    torch.manual_seed(0)
    return GPT(GPT.Config(context=16, width=8, layers=1, heads=1), 12)


def test_golden_kl() -> None:
    assert best_of_n_kl(1) == 0
    assert best_of_n_kl(2) == pytest.approx(math.log(2) - 0.5)
    assert best_of_n_kl(64) == pytest.approx(4.1588830834 - 0.984375)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_golden_values_are_means_over_all_subsets(n: int) -> None:
    random = np.random.default_rng(1)
    proxy, gold = random.permutation(10.0 * np.arange(5))[None], random.random((1, 5))
    chosen = [max(subset, key=lambda index: proxy[0, index]) for subset in combinations(range(5), n)]
    assert best_of_n_values(proxy, gold, n) == pytest.approx([gold[0, chosen].mean()])
    assert best_of_n_values(proxy, proxy, n) == pytest.approx([proxy[0, chosen].mean()])


def test_of_equal_rewards_the_earlier_sample_is_the_best() -> None:
    assert best_of_n_values(np.array([[1.0, 1.0]]), np.array([[3.0, 5.0]]), 2) == pytest.approx([3.0])


def test_the_best_are_chosen_prompt_by_prompt() -> None:
    result = sample_many(policy(), PROMPTS, count, n=6, max_new_tokens=5, seed=1)
    assert result.rewards.shape == (2, 6)
    assert [response.row for response in result.responses] == [0] * 6 + [1] * 6
    best = result.best()
    assert [item.row for item in best] == [0, 1]
    assert count(best) == result.rewards.max(axis=1).tolist()
    assert result.rewards.max() > result.rewards.min()
    again = sample_many(policy(), PROMPTS, count, n=6, max_new_tokens=5, seed=1)
    assert again.responses == result.responses


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="n=0"):
        sample_many(policy(), PROMPTS, count, n=0, max_new_tokens=5, seed=1)
    with pytest.raises(InputError, match="one finite number each"):
        sample_many(policy(), PROMPTS, lambda _: [1.0], n=2, max_new_tokens=5, seed=1)
    with pytest.raises(InputError, match="one finite number each"):
        sample_many(policy(), PROMPTS, lambda result: [math.nan] * len(result), n=2, max_new_tokens=5, seed=1)
    with pytest.raises(InputError, match="n=3: 2 samples"):
        best_of_n_values(np.zeros((1, 2)), np.zeros((1, 2)), 3)
