"""What all policy tasks share: a policy, the reference that it began as, and how both are validated."""

import copy
from typing import Any, Self

import numpy as np
import torch

from langladder.decoding.rollouts import Prompts
from langladder.models.language.neural import NeuralLanguageModel
from langladder.tasks.callbacks import Row
from langladder.tasks.policy.responses import REWARD, measure
from langladder.tasks.policy.settings import PolicyTraining
from langladder.tasks.task import MONITOR, Task

LAST = "validation_step"
"""The measure by which the last weights are the best."""


class PolicyTask(Task):
    """A policy that is trained, and its reference: a copy of what it is when the task is made, never trained.

    Nothing is dropped out: the two networks, and the policy before and after an update, are compared token by token.
    """

    unit = "responses"

    def __init__(self, policy: NeuralLanguageModel, config: PolicyTraining, held_out: Prompts | None) -> None:
        super().__init__(config)
        self.model, self.settings, self.held_out = policy, config, held_out
        # In a tuple, so that it is neither trained nor written to checkpoints.
        self._reference = (copy.deepcopy(policy).requires_grad_(False).eval(),)
        self._measured: dict[str, float] = {}
        if config.keep != MONITOR:
            self.monitor, self.mode = (LAST if config.keep == "last" else REWARD), "max"

    @property
    def reference(self) -> NeuralLanguageModel:
        """The network that the policy is held to."""
        return self._reference[0]

    def train(self, mode: bool = True) -> Self:  # noqa: ARG002 - torch's
        """Always evaluation mode."""
        return super().train(False)

    def on_fit_start(self) -> None:
        """Bring the reference to where the policy is, and all networks into evaluation mode."""
        super().on_fit_start()
        self.reference.to(self.device)
        self.eval()  # Lightning leaves the mode as it is

    def measure(self, rows: np.ndarray) -> dict[str, float]:
        """Measure the policy on the validation prompts `rows`; see `responses`."""
        assert self.held_out is not None
        self._measured = measure(self.model, self.reference, self.held_out, rows, self.settings, self.seed)
        return self._measured

    def measured_at_start(self, seed: int) -> list[dict[str, Any]]:
        """The curve's row at step 0, where the policy is the reference; none where nothing is held out.

        A run that goes on from a checkpoint measures it again: its weights are still those that it began with.
        """
        if self.held_out is None or not len(self.held_out.ids):
            return []
        self.seed = seed
        rows = np.arange(min(len(self.held_out.ids), self.settings.validation_prompts))
        return [{"step": 0, "train_loss": None, "validation_loss": None, "lr": None} | self.measure(rows)]

    def measures(self) -> dict[str, float]:
        """What the last validation measured."""
        return self._measured | {LAST: float(self.steps_done)}


def shown(curve: list[Row]) -> list[dict[str, Any]]:
    """The rows of the curve without what serves to keep the last weights only."""
    return [{name: value for name, value in row.items() if name != LAST} for row in curve]


def copied(parts: Any, device: torch.device) -> list[torch.Tensor]:
    """Tensors of a file, copied: they may lie unaligned there, which costs products their last bit."""
    return [part.to(device, copy=True) for part in parts]
