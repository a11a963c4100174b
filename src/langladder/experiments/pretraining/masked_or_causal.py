"""Masked words or next words, which teach understanding better (Devlin et al. 2019, section 5.1, appendix C.1, fig. 5).

A BERT, which reads both ways and predicts 15 % of the words, and a GPT of the same width and layers, which reads from
left to right and predicts all of them, pre-train on as many tokens a step. Both are post-norm, as the paper's GPT-1 is,
and classify by the mean of their states. After so many steps each, a copy is fine-tuned on `transfer`'s tasks; 0 steps:
an untrained network. The two may differ there already, because one reads both ways. So what pre-training teaches is
judged by the gain over the untrained network:

    ahead    a_k(BERT) − a_k(GPT)                                        a_k: accuracy after k steps
    gained   (a_k(BERT) − a_0(BERT)) − (a_k(GPT) − a_0(GPT))

BERT also has embeddings of segments and the words' output transformation, which fine-tuning uses only in part.

Shape legend: S seeds, N test texts of both tasks.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import ClassVar, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.pretraining.small_bodies import TITLES, Bodies, Body, Kind
from langladder.experiments.pretraining.transfer import TASKS, Transfer, TransferConfig
from langladder.experiments.statistics import Difference, above, difference, every, gated
from langladder.ground import schema

KINDS: tuple[Kind, Kind] = ("bert", "gpt")


class MaskedOrCausalConfig(TransferConfig, RepeatedConfig):
    """Settings of `MaskedOrCausal`."""

    checkpoints: list[int] = Field(default=[100, 500, 2000], min_length=2)  # steps of pre-training, at effort 1

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if sorted(set(self.checkpoints)) != self.checkpoints or self.checkpoints[0] < 1:
            raise ValueError(f"checkpoints={self.checkpoints}: rising numbers of steps, 1 or more")
        return self


class Curve(NamedTuple):
    """One kind of body. right: task → steps of pre-training → (S, N of the task) bool."""

    parameters: int
    right: Mapping[str, Mapping[int, np.ndarray]]

    def both(self, steps: int) -> np.ndarray:
        """(S, N) bool, of all tasks."""
        return np.concatenate([by[steps] for by in self.right.values()], axis=1)

    def gain(self, steps: int) -> np.ndarray:
        """(S, N): what so many steps change."""
        changed: np.ndarray = self.both(steps).astype(float) - self.both(0)
        return changed


class MaskedOrCausal(Experiment[MaskedOrCausalConfig]):
    """Accuracy after fine-tuning by steps of pre-training, a line for BERT and one for GPT."""

    Config: ClassVar[type[schema.Config]] = MaskedOrCausalConfig
    reads = ("tokens/text",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config = self.config
        bodies = Bodies(data, config)
        transfer = Transfer(bodies, config)
        seeds = config.numbers(seed)
        found: dict[Kind, Curve] = {}
        for kind in KINDS:
            by_seed = [self._measured(kind, bodies, transfer, one) for one in seeds]
            right = {
                task: {steps: np.stack([one[steps][task] for one in by_seed]) for steps in by_seed[0]} for task in TASKS
            }
            found[kind] = Curve(bodies.fresh(kind, seed=seed).number_of_parameters(), right)
            said = ", ".join(f"{steps} steps {found[kind].both(steps).mean():.1%}" for steps in by_seed[0])
            progress(f"{TITLES[kind]}: {said}")
        return findings(found, config.margin, transfer.majorities())

    def _measured(self, kind: Kind, bodies: Bodies, transfer: Transfer, seed: int) -> dict[int, dict[str, np.ndarray]]:
        """Steps → task → what is right."""
        stops = {self.config.steps(steps) for steps in self.config.checkpoints}
        kept: dict[int, Body] = {0: bodies.fresh(kind, seed=seed)}

        def watch(body: Body, step: int) -> None:
            if step in stops:
                kept[step] = deepcopy(body).eval()

        # the rate stays as it is after the warm-up, so that every checkpoint is a training of so many steps
        training = {"max_steps": max(self.config.checkpoints), "schedule": "constant"}
        bodies.train(kind, None, training, seed=seed, watch=watch)
        return {step: transfer.right(body, seed=seed) for step, body in kept.items()}


def findings(found: Mapping[Kind, Curve], margin: float, majorities: Mapping[str, float]) -> Findings:
    """The claim holds where BERT has gained less at the first checkpoint, and more at the last, where it is ahead."""
    bert, gpt = (found[kind] for kind in KINDS)
    steps = list(next(iter(bert.right.values())))
    ahead = {step: difference(bert.both(step), gpt.both(step)) for step in steps}
    gained = {step: difference(bert.gain(step), gpt.gain(step)) for step in steps if step}
    last = steps[-1]
    gates = [
        above(found[kind].right[task][last], level, f"{TITLES[kind]} has not learnt: its accuracy of {task}")
        for kind in KINDS
        for task, level in majorities.items()
    ]
    first = next(iter(gained))
    expected = [(-gained[first]).exceeds(margin), gained[last].exceeds(margin), ahead[last].exceeds(margin)]
    verdict = gated(gates, every(expected))
    parts = [f"untrained {_both(bert, gpt, 0)}, {ahead[0]}"]
    parts += [f"after {step:,} steps {_both(bert, gpt, step)}, gain {one}" for step, one in gained.items()]
    parts.append(f"at the end BERT less GPT {ahead[last]}")
    return Findings(
        **opened(verdict, "; ".join(parts) + "."),
        columns=["network", "parameters", "task", *(f"{step:,} steps" for step in steps)],
        rows=[
            [TITLES[kind], float(curve.parameters), task, *(rounded(float(by[step].mean())) for step in steps)]
            for kind, curve in found.items()
            for task, by in curve.right.items()
        ],
        plots=[_accuracies(found, steps), _differences(ahead)],
        figures={
            figure(kind, task, str(step)): float(by[step].mean())
            for kind, curve in found.items()
            for task, by in curve.right.items()
            for step in steps
        },
    )


def _both(bert: Curve, gpt: Curve, step: int) -> str:
    return f"BERT {bert.both(step).mean():.1%}, GPT {gpt.both(step).mean():.1%}"


def _accuracies(found: Mapping[Kind, Curve], steps: Sequence[int]) -> Plot:
    return Plot(
        title="Accuracy after fine-tuning by steps of pre-training",
        x_label="steps of pre-training",
        y_label="accuracy (test)",
        series=[
            series(
                f"{TITLES[kind]}, {task}",
                [float(step) for step in steps],
                [float(by[step].mean()) for step in steps],
                [_spread(by[step]) for step in steps],
            )
            for kind, curve in found.items()
            for task, by in curve.right.items()
        ],
    )


def _differences(ahead: Mapping[int, Difference]) -> Plot:
    return Plot(
        title="BERT less GPT, both tasks",
        x_label="steps of pre-training",
        y_label="difference in accuracy, 95 %",
        levels={"none": 0.0},
        series=[
            series(
                "BERT − GPT",
                [float(step) for step in ahead],
                [one.mean for one in ahead.values()],
                [one.half for one in ahead.values()],
            )
        ],
    )


def _spread(right: np.ndarray) -> float | None:
    return float(right.mean(axis=1).std(ddof=1)) if len(right) > 1 else None
