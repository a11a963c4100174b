"""Where the norm stands, and how deep a Transformer may be (Xiong et al. 2020; Wang et al. 2019).

    post-norm   x ← LN(x + F(x))      the gradient of the last layers is large at the beginning, whatever the depth:
                                      large steps break the network unless the learning rate is warmed up
    pre-norm    x ← x + F(LN(x))      the gradient is smaller, by √layers: it trains without a warm-up

Small Transformers of several depths (of encoder and decoder each), with the norm in either place, with and without
warm-up, see the same batches. A network is said to have failed where its loss does not get below that of a unigram
model, that is where it has learned how frequent words are and no more, or not even that. A loss that is no number, or
above that of guessing (log V), counts as guessing.
"""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, Series, opened, rounded, series
from langladder.experiments.statistics import below, difference, every, gated, mean, spread
from langladder.experiments.training import unigram_loss
from langladder.experiments.translation.small_translators import TranslationConfig, trained
from langladder.experiments.translation.translation_judge import tokenizer
from langladder.ground import schema

Norm = Literal["post", "pre"]


class Setting(NamedTuple):
    """One kind of network: where its norm stands, its layers, and whether the rate is warmed up."""

    norm: Norm
    layers: int
    warm: bool

    @property
    def line(self) -> str:
        """Its line in a plot."""
        return f"{self.norm}-norm, {'warm-up' if self.warm else 'no warm-up'}"

    @property
    def key(self) -> str:
        """Its figure in the metrics."""
        return f"{self.norm}_{'warm' if self.warm else 'cold'}_{self.layers}_layers"


class NormByDepthConfig(TranslationConfig, RepeatedConfig):
    """Settings of `NormByDepth`; `layers` is not used."""

    depths: list[int] = Field(default=[2, 4, 8], min_length=2)
    warmup: float = Field(default=0.5, gt=0, le=1)  # share of the steps, where there is a warm-up


class NormByDepth(Experiment[NormByDepthConfig]):
    """Loss after the same steps, by depth."""

    Config: ClassVar[type[schema.Config]] = NormByDepthConfig
    reads = ("tokens/parallel",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config = self.config
        kind, base = config.small("transformer")
        guessing = math.log(tokenizer(data, "target").vocab_size)
        steps, found = config.steps(config.max_steps), {}
        norms: tuple[Norm, ...] = ("post", "pre")
        for setting in (Setting(norm, n, warm) for warm in (True, False) for norm in norms for n in config.depths):
            change = {"norm": setting.norm, "layers": setting.layers}
            warmup, last = round(config.warmup * steps) if setting.warm else 0, []
            for number in config.numbers(seed):
                losses = trained(kind, base | change, data, config, seed=number, warmup_steps=warmup)[1]
                last.append(end_loss(losses, guessing))
            found[setting] = last
            progress(f"{setting.line}, {setting.layers} layers: loss {mean(last):.3f}")
        return findings(found, unigram_loss(data.pairs("train").target.ids), config.margin)


def end_loss(losses: Sequence[float], guessing: float) -> float:
    """The mean of the last tenth of the losses; `guessing` where it is no number or more than that."""
    value = mean(losses[-max(1, len(losses) // 10) :])
    return min(value, guessing) if math.isfinite(value) else guessing


def findings(found: Mapping[Setting, Sequence[float]], unigram: float, margin: float) -> Findings:
    """The claim holds where, without warm-up, post-norm is behind pre-norm by more at the largest depth than at the
    smallest, and by more than with warm-up, which is what mends it.
    """
    means = {setting: mean(losses) for setting, losses in found.items()}
    depths = sorted({setting.layers for setting in found})
    behind, behind_warm = (
        {n: means[Setting("post", n, warm)] - means[Setting("pre", n, warm)] for n in depths} for warm in (False, True)
    )
    failed = {setting: sum(loss >= unigram for loss in losses) / len(losses) for setting, losses in found.items()}
    # If even the shallow pre-norm network has learned nothing, nothing can be said of depth.
    gate = below(found[Setting("pre", depths[0], False)], unigram, "nothing was learnt: the shallow pre-norm loss")
    shallow, deep_cold, deep_warm = (
        np.subtract(found[Setting("post", n, warm)], found[Setting("pre", n, warm)])  # (S,)
        for n, warm in ((depths[0], False), (depths[-1], False), (depths[-1], True))
    )
    others: list[ArrayLike] = [0.0, shallow, deep_warm]
    verdict = gated([gate], every(difference(deep_cold, other).exceeds(margin) for other in others))
    deep = {setting.line: means[setting] for setting in found if setting.layers == depths[-1]}
    said = ", ".join(f"{value:.2f} with {name}" for name, value in deep.items())
    lost = sum(failed[setting] * len(found[setting]) for setting in found)
    return Findings(
        **opened(
            verdict,
            f"at {depths[-1]} layers the loss is {said}; without warm-up post-norm is behind by "
            + ", ".join(f"{value:.2f} at {n}" for n, value in behind.items())
            + " layers, with it by "
            + ", ".join(f"{value:.2f} at {n}" for n, value in behind_warm.items())
            + f"; {lost:.0f} of {sum(map(len, found.values()))} networks failed.",
        ),
        columns=["network", "layers", "loss per token", "± between seeds", "failed, share"],
        rows=[
            [one.line, float(one.layers), rounded(means[one]), rounded(spread(found[one])), failed[one]]
            for one in found
        ],
        plots=[
            Plot(
                title="Loss by depth",
                x_label="layers of encoder and decoder each",
                y_label="training loss after the same steps, nats per token",
                series=_lines(means, {one: spread(losses) for one, losses in found.items()}),
                levels={"word frequencies alone": unigram},
            ),
            Plot(
                title="Failed networks",
                x_label="layers of encoder and decoder each",
                y_label="share that does not beat word frequencies",
                series=_lines(failed),
            ),
        ],
        figures={one.key: value for one, value in means.items()},
    )


def _lines(values: Mapping[Setting, float], errors: Mapping[Setting, float | None] | None = None) -> list[Series]:
    """A line for each norm with and without warm-up, by depth."""
    lines: dict[str, list[Setting]] = {}
    for setting in values:
        lines.setdefault(setting.line, []).append(setting)
    return [
        series(
            line,
            [s.layers for s in ones],
            [values[s] for s in ones],
            None if errors is None else [errors[s] for s in ones],
        )
        for line, ones in lines.items()
    ]
