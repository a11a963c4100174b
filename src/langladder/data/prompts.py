"""The prompts of each rollout, and the responses of each minibatch: functions of (seed, step).

A step is a minibatch. U of them (inner epochs × minibatches) belong to one rollout; the first one draws it.

Shape legend: P prompts of a rollout, N responses for training, M responses of a minibatch.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from langladder.data.batches import StepBatches, generator, shuffled
from langladder.data.language_modelling import LanguageBatch


class RolloutPart(NamedTuple):
    """A minibatch of a rollout.

    Attributes:
        rollout: its number; place: which of its U minibatches this is.
        prompts: (P,) rows of the training prompts that it answers.
        rows: (M,) responses of this minibatch, 0 … N − 1.
        text: (W, L + 1) tokens of plain text to train on as well; None: none.
    """

    rollout: int
    position: int
    prompts: np.ndarray
    rows: np.ndarray
    text: torch.Tensor | None


class RolloutBatches(StepBatches[RolloutPart | np.ndarray]):
    """Minibatches of rollouts.

    Args:
        prompts: how many there are; validation: rows of the validation prompts.
        per_rollout: P; kept: N; epochs, minibatches: passes over a rollout, and minibatches a pass.
        text: windows of plain text by step, or None.
    """

    def __init__(
        self,
        prompts: int,
        validation: int,
        *,
        per_rollout: int,
        kept: int,
        epochs: int,
        minibatches: int,
        seed: int,
        text: StepBatches[LanguageBatch] | None = None,
    ) -> None:
        self.prompts, self.validated, self.per_rollout, self.kept = prompts, validation, per_rollout, kept
        self.epochs, self.minibatches, self.seed, self.text = epochs, minibatches, seed, text

    def train(self, step: int) -> RolloutPart:
        """See `StepBatches.train`."""
        rollout, position = divmod(step, self.epochs * self.minibatches)
        epoch, part = divmod(position, self.minibatches)
        order = generator(self.seed, rollout, epoch, 1).permutation(self.kept)
        return RolloutPart(
            rollout,
            position,
            shuffled(self.prompts, self.per_rollout, rollout, self.seed),
            np.array_split(order, self.minibatches)[part],
            None if self.text is None else self.text.train(step).tokens,
        )

    def validation(self) -> Sequence[np.ndarray]:
        """The validation prompts' rows, all in one batch."""
        return [np.arange(self.validated)] if self.validated else []

    def size(self, batch: RolloutPart | np.ndarray) -> int:
        """Responses of a minibatch."""
        return len(batch.rows if isinstance(batch, RolloutPart) else batch)
