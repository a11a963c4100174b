"""Continuing texts, one token at a time, with any language model.

Greedy takes the likeliest token. Sampling draws from P(v)^(1/τ) / Σ (temperature τ), cut to the k likeliest tokens
(top-k, Fan et al. 2018) or to the smallest set that holds probability p (nucleus, Holtzman et al. 2020). The
repetition penalty θ (Keskar et al. 2019, section 4.1) is here applied to log-probabilities: those of tokens already in
the text are multiplied by θ, which makes each of them less likely. BOS and PAD are never generated; EOS ends a row.
A bias b_v, a presence penalty α and a frequency penalty β are those of OpenAI's API: where token v was generated c_v
times so far (the prompt is not counted), its score is

    log P(v) + b_v − α [c_v > 0] − β c_v

Prompts of different lengths are read in one batch: from the end of the shortest on, each row takes its prompt's next
token while there is one, and a chosen one afterwards.

Shape legend: B rows, V vocabulary, t tokens so far.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field

from langladder.decoding.limits import (
    LogitBias,
    NewTokens,
    RepetitionPenalty,
    Seed,
    Temperature,
    TokenPenalty,
    TopK,
    TopP,
)
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.models.language.language_model import LanguageModel
from langladder.text.tokenize.specials import BOS, EOS, PAD
from langladder.text.tokenize.tokenizers import Tokenizer


class SamplingConfig(Config):
    """Settings for choosing the next token."""

    strategy: Literal["sample", "greedy"] = "sample"
    temperature: Temperature = 1.0
    top_k: TopK = None
    top_p: TopP = None
    repetition_penalty: RepetitionPenalty = 1.0
    logit_bias: dict[Annotated[int, Field(ge=0)], LogitBias] = Field(default_factory=dict)
    presence_penalty: TokenPenalty = 0.0
    frequency_penalty: TokenPenalty = 0.0
    max_tokens: NewTokens = 50
    seed: Seed = 0


def generate(
    model: LanguageModel, prefix: Sequence[int], config: SamplingConfig, *, samples: int = 1
) -> list[list[int]]:
    """Continue one text `samples` times; see `generate_batch`."""
    return generate_batch(model, [prefix] * samples, config)


@torch.no_grad()
def generate_batch(
    model: LanguageModel,
    prefixes: Sequence[Sequence[int]],
    config: SamplingConfig,
    *,
    numbers: Sequence[int] | None = None,
) -> list[list[int]]:
    """Continue several texts in one batch, on the model's device.

    Args:
        prefixes: B rows of ids that begin with BOS.
        numbers: a number per row, which determines its random numbers; None: 0 … B − 1.

    Returns:
        The new ids of each row, at most `max_tokens`, without the EOS that ended it. Same seed, same ids: the draws of
        a row only depend on the seed, the row's number and its own text.

    Raises:
        InputError: a prefix does not begin with BOS.
    """
    for prefix in prefixes:
        if not prefix or prefix[0] != BOS:
            raise InputError(f"prefix: {list(prefix)[:5]} … must begin with BOS ({BOS})")
    if not prefixes or not config.max_tokens:
        return [[] for _ in prefixes]
    prefixes = [model.as_read(prefix) for prefix in prefixes]
    lengths = [len(prefix) for prefix in prefixes]
    random = [generator(config.seed, row) for row in numbers or range(len(prefixes))]
    device = device_of(model)
    tokens = torch.tensor([list(prefix)[: min(lengths)] for prefix in prefixes])  # (B, t)
    running, unread, state = [True] * len(prefixes), tokens, None
    while any(running):
        log_probs, state = model.advance(unread.to(device), state)  # (B, V)
        scores, t = candidates(log_probs.cpu(), tokens, config, lengths), tokens.shape[1]
        following = []
        for row, prefix in enumerate(prefixes):
            if t < lengths[row]:
                following.append(prefix[t])
                continue
            following.append(draw(scores[row], config, random[row]) if running[row] else EOS)
            running[row] = running[row] and following[row] != EOS and t + 1 < lengths[row] + config.max_tokens
        unread = torch.tensor(following)[:, None]  # (B, 1)
        tokens = torch.cat([tokens, unread], dim=1)
    rows = zip(tokens.tolist(), lengths, strict=True)
    return [_until_eos(ids[length : length + config.max_tokens]) for ids, length in rows]


def candidates(
    log_probs: torch.Tensor, seen: torch.Tensor, config: SamplingConfig, prompt_lengths: Sequence[int] | None = None
) -> torch.Tensor:
    """Scores (B, V) whose softmax is sampled: penalties, bias, temperature, top-k, top-p, in this order.

    Args:
        log_probs: (B, V); seen: (B, t), the tokens so far.
        prompt_lengths: of each row, how many of these were not generated; None: none.

    Raises:
        InputError: a bias of a token that the model does not have.
    """
    scores = penalise(log_probs, seen, config.repetition_penalty)
    if config.presence_penalty or config.frequency_penalty:
        for row, begin in enumerate(prompt_lengths or [0] * len(seen)):
            counts = torch.bincount(seen[row, begin:], minlength=scores.shape[1])  # (V,)
            scores[row] -= config.presence_penalty * (counts > 0) + config.frequency_penalty * counts
    if config.logit_bias:
        check_bias(config.logit_bias, scores.shape[1])
        scores[:, [*config.logit_bias]] += torch.tensor([*config.logit_bias.values()])
    scores[:, [BOS, PAD]] = -math.inf
    if config.strategy == "greedy":
        return scores
    scores /= config.temperature
    if config.top_k is not None:
        scores = keep_likeliest(scores, config.top_k)
    return scores if config.top_p is None else keep_nucleus(scores, config.top_p)


def check_bias(bias: Mapping[int, float], vocab_size: int) -> None:
    """Raise InputError for a token that the model does not have."""
    if (most := max(bias, default=0)) >= vocab_size:
        raise InputError(f"logit_bias: id {most} is not one of the model's, which are 0 to {vocab_size - 1}")


def choose(
    log_probs: torch.Tensor, seen: torch.Tensor, config: SamplingConfig, random: torch.Generator
) -> torch.Tensor:
    """The next token of each row: log-probabilities (B, V), tokens so far (B, t) → (B,) int64."""
    scores = candidates(log_probs, seen, config)
    if config.strategy == "greedy":
        return scores.argmax(dim=1)
    return torch.multinomial(torch.softmax(scores, dim=1), 1, generator=random)[:, 0]


def penalise(log_probs: torch.Tensor, seen: torch.Tensor, penalty: float) -> torch.Tensor:
    """A copy of (B, V), those of the tokens in `seen` (B, t) times θ."""
    if penalty == 1:
        return log_probs.clone()
    return log_probs.scatter(1, seen, log_probs.gather(1, seen) * penalty)


def keep_likeliest(scores: torch.Tensor, k: int) -> torch.Tensor:
    """(B, V) with all but the k largest (and what equals the last of these) at −∞."""
    least = scores.topk(min(k, scores.shape[1]), dim=1).values[:, -1:]  # (B, 1)
    return scores.masked_fill(scores < least, -math.inf)


def keep_nucleus(scores: torch.Tensor, p: float) -> torch.Tensor:
    """Scores (B, V) with all but the smallest set of probability ≥ p at −∞."""
    ordered, order = scores.sort(dim=1, descending=True, stable=True)
    probs = torch.softmax(ordered, dim=1)
    before = probs.cumsum(dim=1) - probs  # probability of the likelier tokens together
    return scores.masked_fill((before >= p).gather(1, order.argsort(dim=1)), -math.inf)


def complete(model: LanguageModel, tokenizer: Tokenizer, prompt: str, config: SamplingConfig) -> str:
    """The prompt and its continuation up to the end of the line."""
    ids = tokenizer.encode(prompt).tolist()
    return tokenizer.decode(ids + generate(model, [BOS, *ids], config)[0])


def draw(scores: torch.Tensor, config: SamplingConfig, random: torch.Generator) -> int:
    """A token by its scores (V,); EOS if every token has probability 0, as in an unsmoothed n-gram model."""
    if bool(torch.isneginf(scores).all()):
        return EOS
    if bool(scores.isnan().any()):
        raise InputError("the model's probabilities are not numbers: its weights are unusable")
    if config.strategy == "greedy":
        return int(scores.argmax())
    return int(torch.multinomial(torch.softmax(scores, dim=0), 1, generator=random))


def generator(seed: int, row: int) -> torch.Generator:
    """Random numbers of one row."""
    words = np.random.SeedSequence([seed, row]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(words[0] >> np.uint64(1)))


def device_of(model: LanguageModel) -> torch.device:
    """The device of a network; a counted model is on the CPU."""
    parameters = model.parameters() if isinstance(model, torch.nn.Module) else iter(())
    return next((parameter.device for parameter in parameters), torch.device("cpu"))


def _until_eos(ids: list[int]) -> list[int]:
    return ids[: ids.index(EOS)] if EOS in ids else ids
