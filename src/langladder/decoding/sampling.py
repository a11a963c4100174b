"""Continuing a text, one token at a time, with any language model.

Greedy takes the likeliest token. Sampling draws from P(v)^(1/τ) / Σ (temperature τ), cut to the k likeliest tokens
(top-k, Fan et al. 2018) or to the smallest set that holds probability p (nucleus, Holtzman et al. 2020). The
repetition penalty θ (Keskar et al. 2019, section 4.1) is here applied to log-probabilities: those of tokens already in
the text are multiplied by θ, which makes each of them less likely. BOS and PAD are never generated; EOS ends a row.

Shape legend: B samples, V vocabulary.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field

from langladder.errors import InputError
from langladder.models.base import LanguageModel
from langladder.schema import Config
from langladder.text.specials import BOS, EOS, PAD
from langladder.text.tokenizers import Tokenizer


class SamplingConfig(Config):
    """How the next token is chosen."""

    strategy: Literal["sample", "greedy"] = "sample"
    temperature: float = Field(default=1.0, gt=0)
    top_k: int | None = Field(default=None, ge=1)
    top_p: float | None = Field(default=None, gt=0, le=1)
    repetition_penalty: float = Field(default=1.0, ge=1)
    max_tokens: int = Field(default=50, ge=0)
    seed: int = Field(default=0, ge=0)


@torch.no_grad()
def generate(
    model: LanguageModel, prefix: Sequence[int], config: SamplingConfig, *, samples: int = 1
) -> list[list[int]]:
    """Continue a text `samples` times.

    Args:
        prefix: ids that begin with BOS.

    Returns:
        The new ids of each sample, at most `max_tokens`, without the EOS that ended it. Same seed, same ids.

    Raises:
        InputError: the prefix does not begin with BOS.
    """
    if not prefix or prefix[0] != BOS:
        raise InputError(f"prefix: {list(prefix)[:5]} … must begin with BOS ({BOS})")
    random = torch.Generator().manual_seed(config.seed)
    tokens = torch.tensor([list(prefix)] * samples)  # (B, t)
    running = torch.ones(samples, dtype=torch.bool)
    state, unread = None, tokens
    for _ in range(config.max_tokens):
        log_probs, state = model.advance(unread, state)  # (B, V)
        chosen = choose(log_probs.cpu(), tokens, config, random)  # (B,)
        unread = chosen.masked_fill(~running, EOS)[:, None]  # (B, 1)
        tokens = torch.cat([tokens, unread], dim=1)
        running &= chosen != EOS
        if not running.any():
            break
    return [_until_eos(row) for row in tokens[:, len(prefix) :].tolist()]


def choose(
    log_probs: torch.Tensor, seen: torch.Tensor, config: SamplingConfig, random: torch.Generator
) -> torch.Tensor:
    """The next token of each row: log-probabilities (B, V), tokens so far (B, t) → (B,) int64."""
    scores = log_probs.clone()
    if config.repetition_penalty > 1:
        scores.scatter_(1, seen, scores.gather(1, seen) * config.repetition_penalty)
    scores[:, [BOS, PAD]] = -math.inf
    if config.strategy == "greedy":
        return scores.argmax(dim=1)
    scores /= config.temperature
    if config.top_k is not None:
        least = scores.topk(min(config.top_k, scores.shape[1]), dim=1).values[:, -1:]  # (B, 1)
        scores = scores.masked_fill(scores < least, -math.inf)
    if config.top_p is not None:
        scores = _keep_nucleus(scores, config.top_p)
    return torch.multinomial(torch.softmax(scores, dim=1), 1, generator=random)[:, 0]


def complete(model: LanguageModel, tokenizer: Tokenizer, prompt: str, config: SamplingConfig) -> str:
    """The prompt and what the model says after it, up to the line's end."""
    ids = tokenizer.encode(prompt).tolist()
    return tokenizer.decode(ids + generate(model, [BOS, *ids], config)[0])


def _keep_nucleus(scores: torch.Tensor, p: float) -> torch.Tensor:
    """Scores (B, V) with all but the smallest set of probability ≥ p at −∞."""
    ordered, order = scores.sort(dim=1, descending=True, stable=True)
    probs = torch.softmax(ordered, dim=1)
    before = probs.cumsum(dim=1) - probs  # what the likelier tokens hold together
    return scores.masked_fill((before >= p).gather(1, order.argsort(dim=1)), -math.inf)


def _until_eos(ids: list[int]) -> list[int]:
    return ids[: ids.index(EOS)] if EOS in ids else ids
