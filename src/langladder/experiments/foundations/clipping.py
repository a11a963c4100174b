"""What clipping does against exploding gradients (Pascanu, Mikolov & Bengio 2013, algorithm 1).

    g ← g · min(1, c / ‖g‖)

A plain RNN whose recurrent matrix begins too large, U = scale · Q with Q orthogonal, is trained as a language model by
SGD with one learning rate, several times with other seeds, at each threshold c and without. A run is said to have
diverged when its loss is no number, or ends above where it began. That U explodes
is by construction; that a clipped network learns is not.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field

from langladder.experiments.comparison import Change, Comparison, Measure, Scored
from langladder.experiments.declaration import ComparisonConfig, Metric
from langladder.experiments.experiment import Data
from langladder.experiments.language.small_models import TextConfig
from langladder.experiments.statistics import mean
from langladder.experiments.training import train_language_model, unigram_loss
from langladder.ground import schema
from langladder.models.language.recurrent import RecurrentConfig, RecurrentLM

LAST = 0.1  # share of the steps, at the end, whose mean loss counts


class Variant(schema.Config):
    """What varies: c; null: no clipping."""

    clip_norm: float | None = Field(gt=0)


class ClippingConfig(TextConfig, ComparisonConfig):
    """Settings of `Clipping`."""

    VARIANT = Variant
    bases: list[Literal["rnn"]] = Field(min_length=1)
    metric: Literal["loss", "diverged"] = "loss"
    scale: float = Field(default=1.5, gt=0)  # of the recurrent matrix


class Clipping(Comparison[ClippingConfig]):
    """Share of the runs that diverge, and the loss of the others, by threshold."""

    Config: ClassVar[type[schema.Config]] = ClippingConfig
    reads = ("tokens/text",)
    titles: Mapping[Any, str] = {"rnn": "RNN"}
    metrics: ClassVar[dict[str, Metric]] = {
        "loss": Metric("training loss at the end, nats"),
        "diverged": Metric("share of the runs that diverge"),
    }

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`: how frequent words are."""
        return {"loss": unigram_loss(data.stream("train").ids)}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`; the loss of a run that diverges is no number."""
        del seeds
        config = self.config

        def one(_: str, change: Change, seed: int) -> Scored:
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

        return one
