"""Texts longer than the context, read by a window that slides (Radford et al. 2019, section 3.1; Baevski & Auli 2019).

    L(s) = −(1/N) Σ_t log P(w_t | the last C − s to C tokens)     a window of C moves on by s tokens and predicts s

With s = C windows do not overlap, and what stands first in one is predicted from next to nothing. A smaller s shows
every token more of what was before it, and reads the text C / s times. The differences are those of the same networks
on the same documents.

Shape legend: S networks, N documents.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.data.language_modelling import document_batches
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.language.small_models import TextConfig, trained
from langladder.experiments.statistics import Difference, below, difference, every, gated
from langladder.experiments.training import unigram_loss
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT
from langladder.models.language.language_model import predicted
from langladder.text.storage.token_streams import TokenStream


class SlidingWindowConfig(TextConfig, RepeatedConfig):
    """Settings of `SlidingWindow`; the context is `sequence_length`."""

    strides: list[int] = Field(default=[64, 32, 16, 4, 1], min_length=2)  # s, falling

    @model_validator(mode="after")
    def _fall(self) -> Self:
        falling = sorted(set(self.strides), reverse=True) == self.strides
        if not falling or self.strides[-1] < 1 or self.strides[0] > self.sequence_length:
            raise ValueError(f"strides={self.strides}: falling, from sequence_length={self.sequence_length} to 1")
        return self


class Lost(NamedTuple):
    """What was measured. tokens: (N,) predicted of each document; nats: stride → (S, N) summed −log P of each."""

    tokens: np.ndarray
    nats: Mapping[int, np.ndarray]

    def perplexity(self, stride: int) -> float:
        """exp L(s), the mean of the networks' losses."""
        return float(np.exp(self.nats[stride].sum(axis=1).mean() / self.tokens.sum()))

    def gain(self, stride: int, other: int) -> Difference:
        """L(other) − L(stride) in nats a token, over networks and documents."""
        return difference(self.nats[other] / self.tokens.mean(), self.nats[stride] / self.tokens.mean())  # (S, N)


class SlidingWindow(Experiment[SlidingWindowConfig]):
    """Perplexity by stride."""

    Config: ClassVar[type[schema.Config]] = SlidingWindowConfig
    reads = ("tokens/text",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config, text = self.config, longer(data.stream("test"), self.config.sequence_length)
        kind, settings = config.small("gpt")
        found: list[Lost] = []
        for number in config.numbers(seed):
            vocab_size, train = data.tokenizer().vocab_size, data.stream("train")
            model, _ = trained(kind, settings, vocab_size, train, config, seed=number)
            assert isinstance(model, GPT)
            tokens = max(1000, config.fewer(config.test_tokens))
            one = lost(model, text, config.strides, tokens)
            progress(", ".join(f"stride {stride}: {one.perplexity(stride):.2f}" for stride in config.strides))
            found.append(one)
        nats = {stride: np.concatenate([one.nats[stride] for one in found]) for stride in config.strides}
        unigram = unigram_loss(data.stream("train").ids)
        return findings(Lost(found[0].tokens, nats), config.sequence_length, unigram, config.margin)


def longer(text: TokenStream, context: int) -> TokenStream:
    """The documents of a text that are longer than a context.

    Raises:
        InputError: there is none.
    """
    kept = [
        text.ids[start:end]
        for start, end in zip(text.offsets[:-1].tolist(), text.offsets[1:].tolist(), strict=True)
        if end - start > context + 1
    ]
    if not kept:
        raise InputError(
            f"experiment.settings.sequence_length={context}: no document of the test text is longer; set it lower"
        )
    return TokenStream(np.concatenate(kept), np.cumsum([0, *map(len, kept)]))


def lost(model: GPT, text: TokenStream, strides: list[int], tokens: int) -> Lost:
    """One network by stride, on the first documents of about so many tokens."""
    count: list[int] = []
    nats: dict[int, list[float]] = {stride: [] for stride in strides}
    for batch in document_batches(text, limit=tokens):
        count += predicted(batch).sum(dim=1).tolist()
        for stride, by in nats.items():
            by += (-model.sliding_log_probs(batch, stride).double().sum(dim=1)).tolist()
    return Lost(np.array(count, dtype=np.float64), {stride: np.array([by]) for stride, by in nats.items()})


def findings(measured: Lost, context: int, unigram: float, margin: float) -> Findings:
    """The claim holds where each smaller stride is better than the one before, by `margin` nats a token."""
    strides = list(measured.nats)
    steps = {stride: measured.gain(stride, before) for before, stride in pairwise(strides)}
    a_token = measured.nats[strides[-1]].sum(axis=1) / measured.tokens.sum()  # (S,)
    gate = below(a_token, unigram, "nothing was learnt: the loss")
    verdict = gated([gate], every(step.exceeds(margin) for step in steps.values()))
    perplexity = {stride: measured.perplexity(stride) for stride in strides}
    whole = measured.gain(strides[-1], strides[0])
    half = min(strides, key=lambda stride: abs(stride - context / 2))
    share = measured.gain(half, strides[0]).mean / whole.mean if whole.mean > 0 else None
    said = ", ".join(f"{value:.2f} (stride {stride})" for stride, value in perplexity.items())
    worse = [str(stride) for stride, step in steps.items() if step.high < 0]
    alike = [str(stride) for stride, step in steps.items() if step.low <= 0 <= step.high]
    text = (
        f"perplexity per token by a window of {context}: {said}; from stride {strides[0]} to {strides[-1]}, "
        f"which reads {strides[0] / strides[-1]:.0f} times as much, {whole.mean:+.3f} nats a token are gained "
        f"({whole.low:+.3f} to {whole.high:+.3f})"
    )
    if share is not None and half not in strides[:1]:
        text += f", {share:.0%} of them" if 0 <= share <= 1 else f", and {measured.gain(half, strides[0]).mean:+.3f}"
        text += f" by stride {half}"
    text += f"; no gain beyond chance at stride {', '.join(alike)}" if alike else ""
    text += f"; worse than the stride before, by more than chance, at stride {', '.join(worse)}" if worse else ""
    return Findings(
        **opened(verdict, f"{text}."),
        columns=["stride", "tokens read for each", "perplexity per token", "nats gained by this step", "from", "to"],
        rows=[
            [float(stride), rounded(context / stride), rounded(perplexity[stride]), *_cells(steps.get(stride))]
            for stride in strides
        ],
        plots=[
            Plot(
                title="Perplexity by stride",
                x_label=f"tokens that a window of {context} moves on by",
                y_label="perplexity per token",
                log_x=True,
                series=[series("GPT", [float(stride) for stride in strides], perplexity.values())],
            )
        ],
        figures={f"stride_{stride}": value for stride, value in perplexity.items()},
    )


def _cells(step: Difference | None) -> list[str | float | None]:
    return [None, None, None] if step is None else [*map(rounded, step[:3])]
