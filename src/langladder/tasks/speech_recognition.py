"""Speech recognition with CTC: noisy frames → characters, without an alignment.

The loss is the negative log-likelihood of the labels, summed over all alignments:

L = −(1/N) Σ log P(l | x)   over the utterances of a batch, N its characters
"""

from collections.abc import Sequence

import torch

from langladder.corpora.speech import Utterance
from langladder.data.speech import SpeechBatch, SpeechBatches
from langladder.models.ctc import CTCRecognizer
from langladder.models.making import Run, TrainingResult, TrainingSettings
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.settings import SpeechTraining
from langladder.tasks.task import Task
from langladder.tasks.training import train_task


class CTCTask(Task):
    """CTC, whatever the letters."""

    def __init__(self, model: CTCRecognizer, config: TrainingConfig) -> None:
        super().__init__(config)
        self.model = model

    def loss(self, batch: SpeechBatch) -> torch.Tensor:
        """Mean loss per character."""
        return self.model.loss(*batch) / batch.label_lengths.sum()

    def evaluate(self, batch: SpeechBatch) -> tuple[float, int]:
        """Summed loss and the number of characters."""
        return self.model.loss(*batch).item(), int(batch.label_lengths.sum())


def make(
    model: CTCRecognizer,
    letters: object,  # noqa: ARG001 - as all makers are called; the alphabet is the corpus's own
    train: Sequence[Utterance],
    validation: Sequence[Utterance],
    *,
    settings: TrainingSettings[SpeechTraining],
    run: Run,
) -> TrainingResult:
    """Train a recogniser; it ends with its best validation weights, on the CPU, in evaluation mode.

    See `models.making`.
    """
    training = settings.training
    batches = SpeechBatches(train, validation, batch_size=training.batch_size, seed=run.seed)
    result = train_task(CTCTask(model, training), batches, training, run)
    model.cpu().eval()
    return result
