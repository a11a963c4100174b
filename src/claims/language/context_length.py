"""The value of context: perplexity of a trained model that only sees the last c tokens, c = 1, 2, 4, …

    L(c) = −(1/N) Σ_t log P(w_t | w_{t−c} … w_{t−1})

over the same positions t for every c. An n-gram reads n − 1 tokens, so its result does not change for larger c (with
fewer tokens it would be another model, and is not measured). A network with carried state starts c tokens back; one
with a bounded context gets a window of c. Any network gains from the second word back, so the verdict is about the last
doubling, from tokens further back than any n-gram reads.

Shape legend: N positions, c tokens of context.
"""

import math
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field

from langladder.data.batches import generator
from langladder.experiments.experiment import Data, Experiment, ExperimentConfig, Progress
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.statistics import Difference, Verdict, every, of_one_model
from langladder.ground import schema
from langladder.ground.artefacts import INFINITY, format_figure
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel
from langladder.models.language.neural import NeuralLanguageModel, scoring
from langladder.models.ngrams.backoff import BackoffLanguageModel
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, PAD

LARGEST = 700.0  # largest nats per token whose perplexity is finite
ROWS = 256  # positions per batch
Losses = Mapping[int, np.ndarray | None]
"""Tokens of context → −log P of each position, (N,)."""


class ContextLengthConfig(ExperimentConfig):
    """Settings of `ContextLength`."""

    contexts: list[int] = Field(default=[1, 2, 4, 8, 16, 32], min_length=2)  # c, rising
    positions: int = Field(default=2000, ge=1)  # N
    margin: float = Field(default=0.01, ge=0)  # smallest decrease of the loss that counts, in nats per token


class ContextLength(Experiment[ContextLengthConfig]):
    """Perplexity per token by context; one line per trained model."""

    Config: ClassVar[type[schema.Config]] = ContextLengthConfig
    reads = ("tokens/text", "models")

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        text = data.stream("test")
        chosen = positions(text, max(self.config.contexts), self.config.positions, seed)
        losses: dict[str, Losses] = {}
        orders: dict[str, int] = {}
        for name, folder in data.models.items():
            model = LanguageModel.load(folder)
            losses[name] = {c: token_losses(model, text, chosen, c) for c in self.config.contexts}
            if isinstance(model, BackoffLanguageModel):
                orders[name] = model.order
            progress(
                f"{name}: "
                + ", ".join(
                    f"{c}: {format_figure(value, '.2f')}" for c, value in perplexities(losses[name]).items() if value
                )
            )
        return findings(losses, orders, data.title_of, self.config.margin)


def positions(text: TokenStream, longest: int, count: int, seed: int) -> np.ndarray:
    """(≤ count,) int64: predicted positions with at least `longest` previous tokens in their document.

    Raises:
        InputError: no document is long enough.
    """
    starts = np.repeat(text.offsets[:-1], text.lengths)  # (ids,): start of each token's document
    candidates = np.flatnonzero((np.arange(len(text.ids)) - starts >= longest) & (text.ids != BOS) & (text.ids != PAD))
    if not len(candidates):
        raise InputError(
            f"context_length.contexts: no document of the test text has more than {longest} tokens "
            f"(the longest: {int(text.lengths.max(initial=0))}); choose shorter contexts"
        )
    chosen: np.ndarray = generator(seed).choice(candidates, size=min(count, len(candidates)), replace=False)
    return np.sort(chosen)


def token_losses(model: LanguageModel, text: TokenStream, targets: np.ndarray, context: int) -> np.ndarray | None:
    """−log P of each position, (N,); None if the model does not support c tokens.

    An n-gram does not support fewer tokens than it reads; a network does not support more than its window.
    """
    losses = []
    for first in range(0, len(targets), ROWS):
        ends = targets[first : first + ROWS]
        window = torch.from_numpy(text.ids[ends[:, None] + np.arange(-context, 1)].astype(np.int64))  # (N, c + 1)
        scores = _last_log_probs(model, window)
        if scores is None:
            return None
        losses.append(-scores.double().numpy())
    return np.concatenate(losses)


def perplexities(losses: Losses) -> dict[int, float | None]:
    """exp L(c) by context."""
    means = {c: None if some is None else float(some.mean()) for c, some in losses.items()}
    return {c: None if mean is None else math.exp(mean) if mean < LARGEST else math.inf for c, mean in means.items()}


@torch.no_grad()
def _last_log_probs(model: LanguageModel, window: torch.Tensor) -> torch.Tensor | None:
    """log P of the last column given the others, (N, c + 1) → (N,)."""
    if isinstance(model, NeuralLanguageModel):
        if model.context is not None and window.shape[1] - 1 > model.context:
            return None
        with scoring(model, window.device.type):
            hidden, _ = model(window[:, :-1])  # (N, c, D)
            return model.head.target_log_probs(hidden[:, -1], window[:, -1])
    if isinstance(model, BackoffLanguageModel) and window.shape[1] < model.order:
        return None
    opened = torch.cat(
        [torch.full((len(window), 1), BOS), window], dim=1
    )  # scoring begins with BOS, outside the context
    return model.log_probs(opened)[:, -1]


def findings(
    losses: Mapping[str, Losses], orders: dict[str, int], title_of: Callable[[str], str], margin: float
) -> Findings:
    """The claim holds if every network still gains from the last doubling of the context.

    An n-gram cannot, by construction, so there is no verdict on it. Each is one model of the ladder; intervals are over
    the positions.
    """
    by_model = {name: perplexities(by) for name, by in losses.items()}
    contexts = list(next(iter(by_model.values()), {}))
    first, last = contexts[-2:] if len(contexts) > 1 else (0, 0)
    gains = dict[str, Difference]()
    for name, by in losses.items():
        near, far = by.get(first), by.get(last)
        if name not in orders and near is not None and far is not None:
            gains[name] = of_one_model(near, far)._replace(what=f"{title_of(name)}, {first} to {last} tokens")
    reach = max(orders.values(), default=1) - 1
    verdict = every(gain.exceeds(margin) for gain in gains.values())
    if not gains or not orders:
        verdict = Verdict(None, "needs an n-gram and a network that reads the longest context")
    elif reach > first:
        verdict = Verdict(None, f"an n-gram reads {reach} tokens, more than {first}", verdict.rests_on)
    falls = ", ".join(
        f"{title_of(name)} {gain.mean:.3f} nats per token ({gain.low:.3f} to {gain.high:.3f})"
        for name, gain in gains.items()
    )
    measured = f"from {first} tokens of context to {last} the loss falls by {falls} (95 % intervals over tokens)."
    return Findings(
        **opened(verdict, measured if gains else "no network is among the models."),
        columns=["model", *(f"{c} tokens" for c in contexts)],
        rows=[[title_of(name), *(_cell(by[c]) for c in contexts)] for name, by in by_model.items()],
        plots=[
            Plot(
                title="Perplexity by context",
                x_label="tokens of context shown",
                y_label="perplexity per token",
                log_x=True,
                log_y=True,
                series=[series(title_of(name), list(by), by.values()) for name, by in by_model.items()],
            )
        ],
        figures={f"{name}_gain": gain.mean for name, gain in gains.items()},
    )


def _cell(value: float | None) -> str | float | None:
    return INFINITY if value == math.inf else rounded(value)
