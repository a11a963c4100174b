"""Optimisers on one task, each with the best of the same number of learning rates (Kingma & Ba 2015; Choi et al. 2020).

Learning rates have different meanings: SGD multiplies the gradient by it; for Adam it is about the length of a step.
With one rate for all, the rate would decide the result. So each optimiser searches its own grid, and all grids have the
same number of rates. The task is a small neural language model on the corpus (Bengio et al. 2003), in which some words
are frequent and most are rare.

The claim is Kingma and Ba's, about the loss on the training text after equally many steps. Wilson et al. (2017) do not
contradict it: they found that adaptive methods, trained to the end, do worse than SGD on held-out data.

For the equations see `tasks.optimisation`. The rate is constant, there is no clipping, and no weight decay except
AdamW's (0.01), which distinguishes it from Adam. A run whose loss is not a number counts as the worst.
"""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.training import train_language_model, unigram_loss
from langladder.experiments.experiment import Data
from langladder.experiments.statistics import mean
from langladder.ground import schema
from langladder.models.language.nnlm import NNLM, NNLMConfig
from langladder.tasks.settings import LMTrainingConfig

Optimizer = Literal["sgd", "momentum", "adagrad", "rmsprop", "adam", "adamw", "muon"]
SETTINGS: dict[Optimizer, dict[str, object]] = {
    "rmsprop": {"betas": [0.9, 0.9]},  # Hinton's ρ
    "adamw": {"weight_decay": 0.01},
}
LAST = 0.1  # share of the last steps whose mean loss is the result
POINTS = 25  # number of points of a curve


class Variant(schema.Config):
    """The varied settings: the optimiser, and its grid of learning rates."""

    optimizer: Optimizer
    rates: list[float] = Field(min_length=1)


class OptimisersConfig(ComparisonConfig):
    """Settings of `Optimisers`."""

    VARIANT = Variant
    bases: list[Literal["nnlm"]] = Field(min_length=1)
    metric: Literal["loss"] = "loss"
    width: int = Field(default=64, ge=2)
    embedding_dim: int = Field(default=32, ge=2)
    max_steps: int = Field(default=150, ge=2)  # at effort 1
    batch_size: int = Field(default=8, ge=1)
    sequence_length: int = Field(default=16, ge=2)

    @model_validator(mode="after")
    def _one_budget(self) -> Self:
        counts = {name: len(Variant.model_validate(change).rates) for name, change in self.variants.items()}
        if len(set(counts.values())) > 1:
            raise ValueError(f"rates: every optimiser needs the same number, for a fair search; got {counts}")
        return self


class Optimisers(Comparison[OptimisersConfig]):
    """Loss at the end and by step, each optimiser with its best rate. The search uses one seed; the best rate uses all
    seeds."""

    Config: ClassVar[type[schema.Config]] = OptimisersConfig
    reads = ("tokens/text",)
    titles: Mapping[Any, str] = {"nnlm": "NNLM"}
    metrics: ClassVar[dict[str, Metric]] = {
        "loss": Metric("training loss at the end, nats per token"),
        "rate": Metric("best rate", drawn=False),
        "by_step": Metric("training loss, nats per token", along="step"),
        "by_rate": Metric("training loss at the end, nats per token", along="learning rate", log="xy"),
    }

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`: the entropy of word frequencies."""
        return {"loss": unigram_loss(data.stream("train").ids)}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""

        @cache
        def losses(name: Optimizer, rate: float, seed: int) -> list[float]:
            return self._losses(data, name, rate, seed)

        def trial(_: str, change: Change, seed: int) -> Scored:
            variant = Variant(**change)
            searched = {rate: last_loss(losses(variant.optimizer, rate, seeds[0])) for rate in variant.rates}
            best = min(searched, key=lambda rate: searched[rate])
            run = losses(variant.optimizer, best, seed)
            return 0, {"loss": last_loss(run), "rate": best, "by_step": stretches(run), "by_rate": searched}

        return trial

    def _losses(self, data: Data, name: Optimizer, rate: float, seed: int) -> list[float]:
        """The loss of each step of one training run."""
        config = self.config
        torch.manual_seed(seed)
        settings = NNLMConfig(width=config.width, embedding_dim=config.embedding_dim, window=3)
        model = NNLM(settings, data.tokenizer().vocab_size)
        rates = {"lr": rate} if name != "muon" else {"lr": min(0.01, rate), "muon_lr": rate}
        values: dict[str, object] = {"optimizer": name, "schedule": "constant", "clip_norm": None, **rates}
        values |= {"batch_size": config.batch_size, "sequence_length": config.sequence_length}
        values |= {"max_steps": config.steps(config.max_steps)} | SETTINGS.get(name, {})
        training = LMTrainingConfig.model_validate(values)
        return train_language_model(model, data.stream("train"), training, seed=seed)


def last_loss(losses: list[float]) -> float:
    """Mean loss of the last steps; infinite if the run diverged."""
    value = mean(losses[-max(1, round(LAST * len(losses))) :])
    return value if math.isfinite(value) else math.inf


def stretches(losses: list[float]) -> dict[int, float]:
    """Step → mean over several steps, because the loss of one batch is noisy."""
    stretch = -(-len(losses) // POINTS)
    return {first + 1: mean(losses[first : first + stretch]) for first in range(0, len(losses), stretch)}
