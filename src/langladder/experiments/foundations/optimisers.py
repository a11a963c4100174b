"""Optimisers on one task, each with the best of as many learning rates (Wilson et al. 2017; Choi et al. 2020).

Their rates mean different things: SGD's multiplies the gradient, Adam's is about the length of a step. At one rate for
all, the rate decides; so each optimiser searches a grid of its own, and all grids have as many rates. The task is a
small neural language model on the corpus (Bengio et al. 2003): words of which some are frequent and most are rare.

Equations stand in `tasks.optimisation`. The rate is constant, nothing is clipped and nothing decays, but AdamW's
weights (by 0.01) that tell it from Adam. A run whose loss is no number counts as the worst.
"""

import math
from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator

from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, Series, opened, rounded, series
from langladder.experiments.statistics import Verdict, below, difference, every, gated, mean, spread
from langladder.experiments.training import train_language_model, unigram_loss
from langladder.ground import schema
from langladder.models.language.nnlm import NNLM, NNLMConfig
from langladder.tasks.settings import LMTrainingConfig

Optimizer = Literal["sgd", "momentum", "adagrad", "rmsprop", "adam", "adamw", "muon"]
TITLES: dict[Optimizer, str] = {
    "sgd": "SGD",
    "momentum": "momentum",
    "adagrad": "AdaGrad",
    "rmsprop": "RMSProp",
    "adam": "Adam",
    "adamw": "AdamW",
    "muon": "Muon",
}
SETTINGS: dict[Optimizer, dict[str, object]] = {
    "rmsprop": {"betas": [0.9, 0.9]},  # Hinton's ρ
    "adamw": {"weight_decay": 0.01},
}
LAST = 0.1  # share of the steps, at the end, whose mean loss counts
PLAIN: tuple[Optimizer, ...] = ("sgd", "momentum")
ADAPTIVE: tuple[Optimizer, ...] = ("adam", "adamw")
POINTS = 25  # of a drawn curve


class OptimisersConfig(RepeatedConfig):
    """Settings of `Optimisers`."""

    rates: dict[Optimizer, list[float]] = Field(
        default={
            "sgd": [1.0, 3.0, 10.0],
            "momentum": [0.3, 1.0, 3.0],
            "adagrad": [0.03, 0.1, 0.3],
            "rmsprop": [0.01, 0.03, 0.1],
            "adam": [0.003, 0.01, 0.03],
            "adamw": [0.003, 0.01, 0.03],
            "muon": [0.01, 0.03, 0.1],
        },
        min_length=1,
    )
    width: int = Field(default=64, ge=2)
    embedding_dim: int = Field(default=32, ge=2)
    max_steps: int = Field(default=150, ge=2)  # at effort 1
    batch_size: int = Field(default=8, ge=1)
    sequence_length: int = Field(default=16, ge=2)
    margin: float = Field(default=0.05, ge=0)  # nats a token; seeds are of the best rate's runs, the search has one

    @model_validator(mode="after")
    def _one_budget(self) -> Self:
        counts = {name: len(rates) for name, rates in self.rates.items()}
        if len(set(counts.values())) > 1 or not min(counts.values()):
            raise ValueError(f"rates: as many for each optimiser, or the search is not fair; got {counts}")
        return self


class Optimisers(Experiment[OptimisersConfig]):
    """Loss by step, a line an optimiser at its best rate."""

    Config: ClassVar[type[schema.Config]] = OptimisersConfig
    reads = ("tokens/text",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        found: dict[Optimizer, dict[float, list[list[float]]]] = {}
        for name, rates in self.config.rates.items():
            found[name] = {rate: [self._losses(data, name, rate, seed)] for rate in rates}
            best = min(rates, key=lambda rate: last_loss(found[name][rate][0]))
            for number in self.config.numbers(seed)[1:]:
                found[name][best].append(self._losses(data, name, best, number))
            said = ", ".join(f"{rate:g}: {last_loss(runs[0]):.3f}" for rate, runs in found[name].items())
            progress(f"{TITLES[name]}: loss by rate {said}")
        return findings(found, unigram_loss(data.stream("train").ids), self.config.margin)

    def _losses(self, data: Data, name: Optimizer, rate: float, seed: int) -> list[float]:
        """The loss of each step of one run."""
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
    """Mean loss of the last steps; infinite where the run diverged."""
    value = mean(losses[-max(1, round(LAST * len(losses))) :])
    return value if math.isfinite(value) else math.inf


def findings(found: dict[Optimizer, dict[float, list[list[float]]]], unigram: float, margin: float) -> Findings:
    """The claim holds where Adam and AdamW end lower than SGD and momentum."""
    best = {name: min(runs, key=lambda rate: last_loss(runs[rate][0])) for name, runs in found.items()}
    ends = {name: [last_loss(run) for run in found[name][best[name]]] for name in found}
    loss = {name: mean(values) for name, values in ends.items()}
    verdict = Verdict(None, "needs SGD, momentum, Adam and AdamW")
    if {"sgd", "momentum", "adam", "adamw"} <= set(found):
        gates = [below(ends[name], unigram, f"{TITLES[name]} has not learnt: its loss") for name in ADAPTIVE]
        lower = (difference(ends[slow], ends[fast]).exceeds(margin) for slow in PLAIN for fast in ADAPTIVE)
        verdict = gated(gates, every(lower))
    order = sorted(loss, key=lambda name: loss[name])
    said = ", ".join(f"{TITLES[name]} {loss[name]:.3f} (rate {best[name]:g})" for name in order)
    return Findings(
        **opened(verdict, f"the loss at the end, each at its best rate, is {said}."),
        columns=[
            "optimiser",
            "best rate",
            "loss at the end",
            "± between seeds",
            "loss, next rate down",
            "next rate up",
        ],
        rows=[
            [
                TITLES[name],
                best[name],
                *map(rounded, (loss[name], spread(ends[name]), *_beside(found[name], best[name]))),
            ]
            for name in order
        ],
        plots=[
            Plot(
                title="Loss by step",
                x_label="step",
                y_label="training loss, nats per token",
                series=[_curve(TITLES[name], found[name][best[name]][0]) for name in found],
            ),
            Plot(
                title="Loss by learning rate",
                x_label="learning rate",
                y_label="training loss at the end, nats per token",
                log_x=True,
                log_y=True,
                series=[
                    series(TITLES[name], list(runs), [last_loss(run[0]) for run in runs.values()])
                    for name, runs in found.items()
                ],
            ),
        ],
        figures={f"{name}_loss": value for name, value in loss.items()},
    )


def _beside(runs: dict[float, list[list[float]]], best: float) -> list[float | None]:
    """The loss at the rates before and after the best; None at the grid's end."""
    rates = list(runs)
    places = (rates.index(best) - 1, rates.index(best) + 1)
    return [last_loss(runs[rates[place]][0]) if 0 <= place < len(rates) else None for place in places]


def _curve(name: str, losses: list[float]) -> Series:
    """Means over stretches of steps: one batch's loss says little."""
    stretch = -(-len(losses) // POINTS)
    starts = list(range(0, len(losses), stretch))
    return series(name, [s + 1 for s in starts], [mean(losses[s : s + stretch]) for s in starts])
