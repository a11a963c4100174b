"""Gradient clipping against exploding gradients (Pascanu, Mikolov & Bengio 2013, algorithm 1).

    g ← g · min(1, c / ‖g‖)

A plain RNN with a too large initial recurrent matrix, U = scale · Q with Q orthogonal, is trained as a language model
with SGD and one learning rate, with several seeds for each threshold c and without clipping. A run has diverged if its
loss is not a number, or is higher at the end than at the start. Gradients explode by construction; whether a clipped
network learns is measured.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.language.small_models import TextConfig
from claims.training import train_language_model, unigram_loss
from langladder.experiments.experiment import Data
from langladder.experiments.statistics import mean
from langladder.ground import schema
from langladder.models.language.recurrent import RecurrentConfig, RecurrentLM

LAST = 0.1  # share of the last steps whose mean loss is the result


class Variant(schema.Config):
    """The varied setting: c; null: no clipping."""

    clip_norm: float | None = Field(gt=0)


class ClippingConfig(TextConfig, ComparisonConfig):
    """Settings of `Clipping`."""

    VARIANT = Variant
    bases: list[Literal["rnn"]] = Field(min_length=1)
    metric: Literal["loss", "diverged"] = "loss"
    scale: float = Field(default=1.5, gt=0)  # scale of the recurrent matrix


class Clipping(Comparison[ClippingConfig]):
    """Share of diverged runs, and the loss of the others, by threshold."""

    Config: ClassVar[type[schema.Config]] = ClippingConfig
    reads = ("tokens/text",)
    titles: Mapping[Any, str] = {"rnn": "RNN"}
    metrics: ClassVar[dict[str, Metric]] = {
        "loss": Metric("training loss at the end, nats"),
        "diverged": Metric("share of the runs that diverge", of_runs=True),
    }

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`: the entropy of word frequencies."""
        return {"loss": unigram_loss(data.stream("train").ids)}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`; the loss of a diverged run is NaN."""
        del seeds
        config = self.config

        def trial(_: str, change: Change, seed: int) -> Scored:
            torch.manual_seed(seed)
            settings = RecurrentConfig(cell="rnn", width=config.width, embedding_dim=config.width)
            model = RecurrentLM(settings, data.tokenizer().vocab_size)
            for layer in model.cell.layers:
                with torch.no_grad():
                    layer.matrices()[1].mul_(config.scale)  # type: ignore[operator]
            training = config.training(optimizer="sgd", weight_decay=0.0, **change)
            losses = train_language_model(model, data.stream("train"), training, seed=seed)
            last = mean(losses[-max(1, round(LAST * len(losses))) :])
            kept = math.isfinite(last) and last <= losses[0]
            return model.number_of_parameters(), {"loss": last if kept else math.nan, "diverged": float(not kept)}

        return trial
