"""The language model's loss beside the task's, L3 = L2 + λ L1, by the number of labels (Radford et al. 2018, 3.2, 5).

The same pre-trained GPT is fine-tuned with each λ. In the paper larger sets profit from λ = 0.5 and smaller ones do
not. The gain is the difference in accuracy on the test texts from λ = 0.
"""

from functools import partial
from typing import ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, opened
from langladder.experiments.pretraining.body_rungs import GrowingConfig, GrownRung, grown, pretrained
from langladder.experiments.pretraining.small_bodies import Body
from langladder.experiments.reading.by_labels import (
    CountsConfig,
    Measured,
    accuracy_plot,
    change,
    corpus,
    gain_figures,
    gain_plot,
    gain_rows,
    gains_of,
    measured,
    several,
)
from langladder.experiments.reading.reading_training import Texts, right_labels
from langladder.experiments.statistics import every, gated
from langladder.ground import schema
from langladder.text.tokenize.tokenizers import Tokenizer

WEIGHT = "λ = {:g}"


class AuxiliaryLossConfig(GrowingConfig, CountsConfig):
    """Settings of `AuxiliaryLoss`."""

    rungs: dict[str, GrownRung] = Field(min_length=1, max_length=1)  # type: ignore[assignment]
    weights: list[float] = Field(default=[0.0, 0.5], min_length=2)  # λ

    @model_validator(mode="after")
    def _weights_are_known(self) -> Self:
        rung = self.rung
        if "lm_weight" not in rung.kind.Config.model_fields:
            raise ValueError(f"rungs: {rung.name} has no lm_weight; name one that grows from a GPT")
        if self.weights[0] != 0 or sorted(set(self.weights)) != self.weights:
            raise ValueError(f"weights={self.weights}: rising numbers, the first 0, which the others are compared with")
        for weight in self.weights:
            rung.config(lm_weight=weight)
            self.check_grown(rung, {"lm_weight": weight})
        return self

    @property
    def rung(self) -> GrownRung:
        """The one that is fine-tuned."""
        return next(iter(self.rungs.values()))


class AuxiliaryLoss(Experiment[AuxiliaryLossConfig]):
    """A line for each λ."""

    Config: ClassVar[type[schema.Config]] = AuxiliaryLossConfig
    reads = ("clean/labels", "tokens/text")

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config = self.config
        whole, rung = corpus(data, config), config.rung
        base = pretrained(config, data, seed=seed, progress=progress)[config.body_of(rung)]
        right = partial(self._right, base, data.tokenizer())
        lines = {WEIGHT.format(weight): partial(right, weight) for weight in config.weights}
        return findings(
            measured(lines, whole, config, networks=list(lines), seed=seed, progress=progress), config.margin
        )

    def _right(self, base: Body, tokenizer: Tokenizer, weight: float, texts: Texts, seed: int) -> np.ndarray:
        rung, training = self.config.rung, self.config.training_on(self.config.rung, texts)
        model = rung.config(lm_weight=weight)
        return right_labels(grown(rung, base, tokenizer, texts, training, seed=seed, model=model), texts.test)


def findings(measured: Measured, margin: float) -> Findings:
    """The claim holds where every λ gains with all labels, and there more than with the fewest.

    Args:
        measured: the first line is that of λ = 0.
    """
    counts, (base, *lines) = measured.counts, measured.right
    pairs = {line: (line, base) for line in lines}
    gains = gains_of(measured, pairs)
    fewest, last = counts[0], counts[-1]
    more = {line: change(measured, pairs[line], last, fewest) for line in lines}
    gates = [several(counts), *(measured.learnt(line) for line in measured.right)]
    expected = (part.exceeds(margin) for line in lines for part in (gains[line][last], more[line]))
    verdict = gated(gates, every(expected))
    said = "; ".join(
        f"{line} gains {by[fewest]} with {fewest:,} labels and {by[last]} with all {last:,}, a change of {more[line]}"
        for line, by in gains.items()
    )
    return Findings(
        **opened(verdict, f"against {base}, {said}."),
        columns=["loss", "labels", base, "this loss", "gain (95 %)"],
        rows=gain_rows(measured, gains, pairs),
        plots=[gain_plot(gains, counts), accuracy_plot(measured)],
        figures=gain_figures(gains),
    )
