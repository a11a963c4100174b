"""The position of the norm, and the possible depth of a Transformer (Xiong et al. 2020; Wang et al. 2019).

    post-norm   x ← LN(x + F(x))      the gradient of the last layers is large at the start, at any depth:
                                      large steps break the network without a learning-rate warm-up
    pre-norm    x ← x + F(LN(x))      the gradient is smaller, by √layers: it trains without a warm-up

Small Transformers of several depths (of encoder and decoder each), with the norm in both positions, with and without
warm-up, are trained on the same batches. A network has failed if its loss is not below that of a unigram model: it has
at most learned word frequencies. A loss that is not a number, or is above that of guessing (log V), counts as guessing.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.training import unigram_loss
from claims.translation.small_translators import TranslationConfig, trained
from claims.translation.translation_judge import tokenizer
from langladder.experiments.experiment import Data
from langladder.experiments.statistics import mean
from langladder.ground import schema


class Variant(schema.Config):
    """The varied setting: layers of encoder and decoder each."""

    layers: int = Field(ge=1)


class NormByDepthConfig(TranslationConfig, ComparisonConfig):
    """Settings of `NormByDepth`; `layers` is not used."""

    VARIANT = Variant
    bases: list[Literal["no warm-up", "warm-up"]] = Field(min_length=1)
    metric: Literal["behind", "pre"] = "behind"
    warmup: float = Field(default=0.5, gt=0, le=1)  # warm-up's share of the steps


class NormByDepth(Comparison[NormByDepthConfig]):
    """The loss difference between post-norm and pre-norm after the same steps, by depth."""

    Config: ClassVar[type[schema.Config]] = NormByDepthConfig
    reads = ("tokens/parallel",)
    metrics: ClassVar[dict[str, Metric]] = {
        "behind": Metric("nats per token that post-norm is behind"),
        "post": Metric("training loss, post-norm"),
        "pre": Metric("training loss, pre-norm"),
        "failed": Metric("networks that do not beat word frequencies", drawn=False),
    }

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`: word frequencies alone."""
        return {"pre": unigram_loss(data.pairs("train").target.ids)}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`; trains a network with each norm."""
        del seeds
        config = self.config
        kind, settings = config.small("transformer")
        guessing, unigram = math.log(tokenizer(data, "target").vocab_size), self.levels(data)["pre"]

        def trial(base: str, change: Change, seed: int) -> Scored:
            warmup = round(config.warmup * config.steps(config.max_steps)) if base == "warm-up" else 0
            results, parameters = {}, 0
            for norm in ("post", "pre"):
                own = settings | {"norm": norm, "layers": Variant(**change).layers}
                model, losses = trained(kind, own, data, config, seed=seed, warmup_steps=warmup)
                results[norm], parameters = end_loss(losses, guessing), model.number_of_parameters()
            failed = float(sum(loss >= unigram for loss in results.values()))
            return parameters, {"behind": results["post"] - results["pre"], **results, "failed": failed}

        return trial


def end_loss(losses: Sequence[float], guessing: float) -> float:
    """The mean of the last tenth of the losses; `guessing` if it is not a number or is larger."""
    value = mean(losses[-max(1, len(losses) // 10) :])
    return min(value, guessing) if math.isfinite(value) else guessing
