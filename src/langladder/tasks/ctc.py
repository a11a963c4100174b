"""Learning to recognise without an alignment: the likelihood of the labels, summed over all alignments.

L = −(1/N) Σ log P(l | x)   over the utterances of a batch, N its characters
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from langladder.corpora.speech import Utterance
from langladder.data.speech import SpeechBatch, SpeechBatches
from langladder.models.ctc import CTCRecognizer
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.task import Task
from langladder.tasks.training import TrainingResult, fit


class CTCTask(Task):
    """CTC, whatever the letters."""

    def __init__(self, model: CTCRecognizer, config: TrainingConfig) -> None:
        super().__init__(config)
        self.model = model

    def loss(self, batch: SpeechBatch) -> torch.Tensor:
        """Mean loss a character."""
        return self.model.loss(*batch) / batch.label_lengths.sum()

    def evaluate(self, batch: SpeechBatch) -> tuple[float, int]:
        """Summed loss and the number of characters."""
        return self.model.loss(*batch).item(), int(batch.label_lengths.sum())


def train_recognizer(
    model: CTCRecognizer,
    train: Sequence[Utterance],
    validation: Sequence[Utterance],
    config: TrainingConfig,
    *,
    batch_size: int,
    seed: int,
    work: Path,
    logger: Any = None,
) -> TrainingResult:
    """Train `model`; it ends with its best validation weights, on the CPU, in evaluation mode.

    Args:
        batch_size: utterances a step.
        work: folder of the checkpoints; an interrupted run goes on from there.
    """
    batches = SpeechBatches(train, validation, batch_size=batch_size, seed=seed)
    result = fit(CTCTask(model, config), batches, config, seed=seed, work=work, logger=logger)
    model.cpu().eval()
    return result
