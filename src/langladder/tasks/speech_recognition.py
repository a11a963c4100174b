"""Speech recognition: noisy frames → characters, without known alignments; with CTC or with attention.

CTC's loss is the negative log-likelihood of the labels, summed over all alignments:

L = −(1/N) Σ log P(l | x)   over the utterances of a batch; N is their number of characters

A recogniser with attention is trained like a translator (`tasks.translation`), whose N also counts the end of each
utterance. Each validation measures `validation_on_diagonal`: the share of the characters t whose greatest weight is at
a source position j with |j / S − t / T| ≤ 0.1.
"""

from collections.abc import Sequence

import torch

from langladder.corpora.speech import Utterance
from langladder.data.speech import SpeechBatch, SpeechBatches
from langladder.data.translation import PairBatch
from langladder.models.ctc import CTCRecognizer
from langladder.models.making import Run, TrainingResult, TrainingSettings
from langladder.models.translation.attention_recognizer import AttentionRecognizer
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.settings import AttentiveSpeechTraining, SpeechTraining
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.tasks.translation import TranslationTask

ON_DIAGONAL = "validation_on_diagonal"
NEAR = 0.1


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


class AttentiveTask(TranslationTask):
    """The loss of translators on utterances."""

    model: AttentionRecognizer

    def loss(self, batch: SpeechBatch) -> torch.Tensor:  # type: ignore[override]
        """Mean loss per character, the end of each utterance included."""
        return super().loss(self._pairs(batch))

    def evaluate(self, batch: SpeechBatch) -> tuple[float, int]:  # type: ignore[override]
        """Summed loss and the number of characters, the ends included."""
        pairs = self._pairs(batch)
        _, alpha = self.model.attended(pairs.source, pairs.target[:, :-1])  # (B, T, S)
        targets, sources = batch.label_lengths + 1, self.model.present(pairs.source).sum(dim=1)  # (B,) each
        t = torch.arange(alpha.shape[1], device=alpha.device) / targets.unsqueeze(1)  # t / T: (B, T)
        near = (alpha.argmax(dim=2) / sources.unsqueeze(1) - t).abs() <= NEAR
        self.tally["near"] += int((near & (t < 1)).sum())
        self.tally["total"] += int(targets.sum())
        return super().evaluate(pairs)

    def measures(self) -> dict[str, float]:
        """The share of the characters that are read near the diagonal."""
        return {ON_DIAGONAL: self.tally["near"] / max(1, self.tally["total"])}

    def _pairs(self, batch: SpeechBatch) -> PairBatch:
        source = self.model.source(batch.frames, batch.lengths)
        return PairBatch(source, self.model.target(batch.labels, batch.label_lengths))


class AttentiveBatches(SpeechBatches):
    """`SpeechBatches` whose ends of utterances are predicted, too."""

    def size(self, batch: SpeechBatch) -> int:
        """Characters to recognise, and ends."""
        return super().size(batch) + len(batch.lengths)


def make(
    model: CTCRecognizer,
    letters: object,  # noqa: ARG001 - the signature of all makers; the corpus defines the alphabet
    train: Sequence[Utterance],
    validation: Sequence[Utterance],
    *,
    settings: TrainingSettings[SpeechTraining],
    run: Run,
) -> TrainingResult:
    """Train a recogniser with CTC; it ends with its best validation weights, on the CPU, in evaluation mode.

    See `models.making`.
    """
    training = settings.training
    batches = SpeechBatches(train, validation, batch_size=training.batch_size, seed=run.seed)
    result = train_task(CTCTask(model, training), batches, training, run)
    model.cpu().eval()
    return result


def make_attentive(
    model: AttentionRecognizer,
    letters: object,  # noqa: ARG001 - see `make`
    train: Sequence[Utterance],
    validation: Sequence[Utterance],
    *,
    settings: TrainingSettings[AttentiveSpeechTraining],
    run: Run,
) -> TrainingResult:
    """The same for a recogniser with attention."""
    training = settings.training
    batches = AttentiveBatches(train, validation, batch_size=training.batch_size, seed=run.seed)
    result = train_task(AttentiveTask(model, training), batches, training, run)
    model.cpu().eval()
    return result
