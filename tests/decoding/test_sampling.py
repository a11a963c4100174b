"""Sampling with a model whose distribution is known."""

import math

import pytest
import torch
from pydantic import ValidationError

from langladder.decoding.sampling import SamplingConfig, choose, complete, generate
from langladder.errors import InputError
from langladder.models.base import LanguageModel
from langladder.text.specials import BOS, EOS, PAD

LOG_PROBS = torch.tensor([[0.1, 0.0, 0.2, 0.05, 0.4, 0.15, 0.07, 0.03]]).log()  # PAD UNK BOS EOS and four words


class Fixed(LanguageModel):
    """Always the same distribution; EOS for sure from length `end` on."""

    vocab_size = 8

    def __init__(self, end: int = 10**9) -> None:
        self.end = end

    def log_probs(self, tokens):
        raise NotImplementedError

    def next_log_probs(self, prefix):
        if prefix.shape[1] >= self.end:
            return torch.full((len(prefix), 8), -math.inf).index_fill_(1, torch.tensor(EOS), 0.0)
        return LOG_PROBS.expand(len(prefix), -1)

    def arrays(self):
        return {}

    def set_arrays(self, arrays):
        pass


def frequencies(draws: int = 20_000, seen: list[int] | None = None, **settings) -> torch.Tensor:
    """(V,) relative frequency of each choice."""
    config = SamplingConfig(**settings)
    seen_rows = torch.tensor([seen or [BOS]] * draws)
    chosen = choose(LOG_PROBS.expand(draws, -1), seen_rows, config, torch.Generator().manual_seed(0))
    return torch.bincount(chosen, minlength=8) / draws


def expected(log_scores: torch.Tensor, keep: list[int]) -> torch.Tensor:
    mask = torch.full_like(log_scores, -math.inf)
    mask[keep] = 0
    return torch.softmax(log_scores + mask, dim=0)


@pytest.mark.parametrize(
    ("settings", "keep"),
    [
        ({}, [1, 3, 4, 5, 6, 7]),
        ({"temperature": 0.5}, [1, 3, 4, 5, 6, 7]),
        ({"top_k": 2}, [4, 5]),
        ({"top_p": 0.5}, [4]),  # 0.4 of 0.7 is 0.57
        ({"top_p": 0.6}, [4, 5]),
        ({"top_p": 1.0}, [1, 3, 4, 5, 6, 7]),
    ],
)
def test_golden_distributions(settings, keep):
    wanted = expected(LOG_PROBS[0] / settings.get("temperature", 1.0), keep)
    torch.testing.assert_close(frequencies(**settings), wanted, atol=0.012, rtol=0)


def test_greedy_takes_the_likeliest_word_and_penalty_moves_on():
    assert generate(Fixed(), [BOS], SamplingConfig(strategy="greedy", max_tokens=3)) == [[4, 4, 4]]
    once = SamplingConfig(strategy="greedy", max_tokens=2, repetition_penalty=3.0)
    assert generate(Fixed(), [BOS], once) == [[4, 5]]
    scores = LOG_PROBS[0].clone()
    scores[4] *= 1.5
    wanted = expected(scores, [1, 3, 4, 5, 6, 7])
    torch.testing.assert_close(frequencies(seen=[BOS, 4], repetition_penalty=1.5), wanted, atol=0.012, rtol=0)


def test_same_seed_same_text_and_never_bos_or_pad():
    config = SamplingConfig(max_tokens=200, seed=7)
    texts = generate(Fixed(), [BOS, 4], config, samples=3)
    assert (
        texts
        == generate(Fixed(), [BOS, 4], config, samples=3)
        != generate(Fixed(), [BOS, 4], config.model_copy(update={"seed": 8}), samples=3)
    )
    assert len({tuple(text) for text in texts}) == 3
    assert not {BOS, PAD, EOS} & {token for text in texts for token in text}


def test_stops_at_eos_and_at_max_tokens():
    greedy = SamplingConfig(strategy="greedy", max_tokens=9)
    assert generate(Fixed(end=5), [BOS, 4, 4], greedy, samples=2) == [[4, 4], [4, 4]]
    assert generate(Fixed(), [BOS], SamplingConfig(max_tokens=0)) == [[]]


def test_prefix_without_bos_is_refused():
    with pytest.raises(InputError, match="must begin with BOS"):
        generate(Fixed(), [4], SamplingConfig())
    with pytest.raises(ValidationError, match="temperature"):
        SamplingConfig(temperature=0.0)


def test_complete_reads_and_writes_text():
    class Letters:
        def encode(self, line):
            return torch.tensor([4 + "abcd".index(letter) for letter in line])

        def decode(self, ids):
            return "".join("abcd"[token - 4] for token in ids)

    assert complete(Fixed(end=5), Letters(), "ba", SamplingConfig(strategy="greedy")) == "baaa"
