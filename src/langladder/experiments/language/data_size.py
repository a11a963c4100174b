"""What more text is worth: perplexity by the size of the training text (Banko & Brill 2001; Hestness et al. 2017).

An n-gram, an LSTM and a GPT each see growing first parts of the same text. The networks make the same number of steps
on each part, so that less text means reading it more often, not training less. Every enlargement must count: a model
that more text helps no further refutes the claim.
"""

import math
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, figure, lines, mean_rows, opened
from langladder.experiments.language.small_models import TITLES, TextConfig, first_part, measured
from langladder.experiments.statistics import below, difference, every, gated, mean
from langladder.experiments.training import unigram_loss
from langladder.ground import schema
from langladder.models.language.language_model import LanguageModel
from langladder.models.ngrams.kneser_ney import KneserNey


class DataSizeConfig(TextConfig, RepeatedConfig):
    """Settings of `DataSize`."""

    shares: list[float] = Field(default=[1 / 64, 1 / 32, 1 / 16, 1 / 8], min_length=2)  # of the training text, rising
    order: int = Field(default=3, ge=2, le=6)  # of the n-gram


class DataSize(Experiment[DataSizeConfig]):
    """Perplexity by training tokens; a line a model."""

    Config: ClassVar[type[schema.Config]] = DataSizeConfig
    reads = ("tokens/text",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config, train = self.config, data.stream("train")
        found: dict[str, dict[int, list[float]]] = {name: {} for name in self._models()}
        for share in config.shares:
            text = first_part(train, share)
            for name, (kind, settings) in self._models().items():
                found[name][len(text.ids)] = [
                    measured(kind, settings, data, config, seed=one, text=text).perplexity
                    for one in config.numbers(seed)
                ]
            said = ", ".join(f"{name} {mean(list(by.values())[-1]):.2f}" for name, by in found.items())
            progress(f"{len(text.ids):,} tokens: perplexity {said}")
        return findings(found, math.exp(unigram_loss(train.ids)), config.margin)

    def _models(self) -> dict[str, tuple[type[LanguageModel], dict[str, Any]]]:
        counted = {f"Kneser–Ney {self.config.order}-gram": (KneserNey, {"order": self.config.order})}
        return counted | {title: self.config.small(name) for name, title in TITLES.items()}


def findings(found: dict[str, dict[int, list[float]]], unigram: float, margin: float) -> Findings:
    """The claim holds where every model gets better with every enlargement of the text, by `margin` nats a token."""
    curves = {name: list(map(mean, by.values())) for name, by in found.items()}
    sizes = list(next(iter(found.values())))
    steps = [difference(np.log(a), np.log(b)) for by in found.values() for a, b in pairwise(by.values())]
    gates = [below(by[sizes[-1]], unigram, f"{name} has not learnt: its perplexity") for name, by in found.items()]
    verdict = gated(gates, every(step.exceeds(margin) for step in steps))
    times = sizes[-1] / sizes[0]
    said = ", ".join(f"{name} {curve[0]:.2f} → {curve[-1]:.2f}" for name, curve in curves.items())
    first, last = (min(curves, key=lambda name: curves[name][place]) for place in (0, -1))
    lead = (
        f"{first} leads at every size" if first == last else f"{first} leads with the least text, {last} with the most"
    )
    return Findings(
        **opened(verdict, f"with {times:.0f} times the text the perplexity goes {said}; {lead}."),
        columns=["model", *(f"{size:,} tokens" for size in sizes)],
        rows=mean_rows(found),
        plots=[
            Plot(
                title="Perplexity by size of the text",
                x_label="tokens of training text",
                y_label="perplexity per token (test)",
                log_x=True,
                log_y=True,
                series=lines(found),
            )
        ],
        figures={figure(name, "with all"): curve[-1] for name, curve in curves.items()},
    )
