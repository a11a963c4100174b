"""Speech recognition with CTC: noisy frames → characters, without known alignments.

The loss is the negative log-likelihood of the labels, summed over all alignments:

L = −(1/N) Σ log P(l | x)   over the utterances of a batch; N is their number of characters
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
    """The CTC loss, for any alphabet."""

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
    letters: object,  # noqa: ARG001 - the signature of all makers; the corpus defines the alphabet
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
