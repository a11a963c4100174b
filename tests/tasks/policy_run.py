"""A small policy, prompts, and a reward that is easy to earn: the share of one token in the response."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from langladder.data.preference_pairs import TokenPair
from langladder.decoding.rollouts import Prompts, Response
from langladder.models.language.gpt import GPT
from langladder.models.language.instructed import InstructedGPT
from langladder.models.making import Run
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS

V, WANTED = 16, 7
ASK = [[BOS, *range(4, 5 + number % 5)] for number in range(12)]


def share(responses: Sequence[Response]) -> list[float]:
    """The reward: how much of the response is the wanted token."""
    return [response.tokens.count(WANTED) / max(1, len(response.tokens)) for response in responses]


def lengths(responses: Sequence[Response]) -> list[int]:
    """Another judge."""
    return [len(response.tokens) for response in responses]


PROMPTS = Prompts(ASK, share, {"words": lengths})
WATCHED = Prompts(ASK[:8], share, {"words": lengths})


def make_policy(kind: type[GPT] = InstructedGPT) -> GPT:
    torch.manual_seed(0)
    return kind(GPT.Config(context=24, width=16, layers=1, heads=2, dropout=0.3), V + 3)


def make_text() -> TokenStream:
    """Lines that count up."""
    ids = np.array([[BOS, *(4 + (np.arange(5) + line) % (V - 4)), EOS] for line in range(40)], dtype=np.int32)
    return TokenStream(ids.ravel(), np.array([0, ids.size]))


def make_pairs(count: int, seed: int) -> list[TokenPair]:
    """Responses with the wanted token at their end are chosen."""
    random = np.random.default_rng(seed)
    pairs = []
    for number in range(count):
        answer = random.integers(8, V, size=random.integers(1, 5)).tolist()
        pairs.append(TokenPair(ASK[number % len(ASK)], [*answer, WANTED], [*answer, 6]))
    return pairs


def settings(**changes: Any) -> dict[str, Any]:
    """Settings of a run; validations, checkpoints and rollouts come at different steps."""
    return {
        "max_new_tokens": 6,
        "lr": 0.01,
        "schedule": "constant",
        "max_steps": 14,
        "validate_every": 5,
        "checkpoint_every": 3,
        "log_every": 2,
        "accelerator": "cpu",
        "progress": False,
    } | changes


def on_policy(**changes: Any) -> dict[str, Any]:
    """The same for rollouts of 16 responses, each learnt in four minibatches."""
    return settings(prompts=4, samples=4, inner_epochs=2, minibatches=2) | changes


def run(folder: Path) -> Run:
    return Run(3, folder)
