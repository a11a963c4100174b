"""Which is better pre-training: masked words or next words (Devlin et al. 2019, section 5.1, appendix C.1, fig. 5).

A BERT reads in both directions and predicts 15 % of the words. A GPT of the same width and layers reads from left to
right and predicts all words. Both are pre-trained with the same number of tokens per step, are post-norm like the
paper's GPT-1, and classify with the mean of their states. At each checkpoint, a copy is fine-tuned on the tasks of
`transfer`; 0 steps is an untrained network. Untrained networks can already differ, because one reads in both
directions. So the effect of pre-training is measured as the gain over the untrained network, a_k − a_0 with a_k the
accuracy after k steps, at the first and the last checkpoint, and as a_k at the last one.

BERT also has segment embeddings and the transformation before the output layer; fine-tuning uses only a part of them.

Shape legend: N test texts of both tasks.
"""

from copy import deepcopy
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.pretraining.small_bodies import Bodies, Body, Kind
from claims.pretraining.transfer import Transfer, TransferConfig
from langladder.experiments.experiment import Data
from langladder.ground import schema

STEPS = "steps of pre-training"


class Variant(schema.Config):
    """The varied settings."""

    kind: Kind


class MaskedOrCausalConfig(TransferConfig, ComparisonConfig):
    """Settings of `MaskedOrCausal`."""

    VARIANT = Variant
    bases: list[Literal["body"]] = Field(min_length=1)
    metric: Literal["end", "early", "late", "single", "pairs"] = "end"
    checkpoints: list[int] = Field(default=[100, 500, 2000], min_length=2)  # steps of pre-training, at effort 1

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if sorted(set(self.checkpoints)) != self.checkpoints or self.checkpoints[0] < 1:
            raise ValueError(f"checkpoints={self.checkpoints}: must be increasing numbers of steps, 1 or more")
        return self


class MaskedOrCausal(Comparison[MaskedOrCausalConfig]):
    """Accuracy after fine-tuning by steps of pre-training; one line each for BERT and GPT."""

    Config: ClassVar[type[schema.Config]] = MaskedOrCausalConfig
    reads = ("tokens/text",)
    majorities: dict[str, float]
    metrics: ClassVar[dict[str, Metric]] = {
        "end": Metric("accuracy of both tasks, last checkpoint", more_is_better=True),
        "early": Metric("gain at the first checkpoint", more_is_better=True),
        "late": Metric("gain at the last", more_is_better=True),
        "untrained": Metric("untrained", more_is_better=True, drawn=False),
        "single": Metric("accuracy, single texts", more_is_better=True, drawn=False),
        "pairs": Metric("accuracy, pairs of texts", more_is_better=True, drawn=False),
        "singles": Metric("accuracy after fine-tuning, single texts", along=STEPS),
        "paired": Metric("accuracy after fine-tuning, pairs of texts", along=STEPS),
    }

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`."""
        del data
        return self.majorities

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        bodies = Bodies(data, self.config)
        transfer = Transfer(bodies, self.config)
        self.majorities = transfer.majorities()

        def trial(_: str, change: Change, seed: int) -> Scored:
            kind = Variant(**change).kind
            right = self._measured(kind, bodies, transfer, seed)
            both = {steps: np.concatenate(list(by.values())) for steps, by in right.items()}  # (N,) bool
            first, last = list(right)[1], max(right)
            return bodies.fresh(kind, seed=seed).number_of_parameters(), {
                "end": both[last],
                "early": both[first].astype(float) - both[0],
                "late": both[last].astype(float) - both[0],
                "untrained": float(both[0].mean()),
                **right[last],
                "singles": {steps: float(by["single"].mean()) for steps, by in right.items()},
                "paired": {steps: float(by["pairs"].mean()) for steps, by in right.items()},
            }

        return trial

    def _measured(self, kind: Kind, bodies: Bodies, transfer: Transfer, seed: int) -> dict[int, dict[str, np.ndarray]]:
        """Steps → task → whether each text is right."""
        stops = {self.config.steps(steps) for steps in self.config.checkpoints}
        kept: dict[int, Body] = {0: bodies.fresh(kind, seed=seed)}

        def watch(body: Body, step: int) -> None:
            if step in stops:
                kept[step] = deepcopy(body).eval()

        # constant rate after the warm-up, so that every checkpoint equals a training run of that many steps
        training = {"max_steps": max(self.config.checkpoints), "schedule": "constant"}
        bodies.train(kind, None, training, seed=seed, watch=watch)
        return {step: transfer.right(body, seed=seed) for step, body in kept.items()}
