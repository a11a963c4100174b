"""Classification: a text → its label. The loss is the cross-entropy of the label, for every network.

L = −(1/N) Σ_n log P(y_n | x_n)

For multi-label texts, y_n is a set, and log P is defined in `models.classification.classifier`: binary cross-entropy,
summed over the labels.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from langladder.data.reading import ReadingBatches
from langladder.ground.errors import Damage, InputError
from langladder.ground.schema import Config
from langladder.models.classification.classifier import THRESHOLD, balanced_weights, is_multi_label, targets
from langladder.models.classification.neural_classifier import NeuralClassifier, Reading, collate
from langladder.models.making import Run, TrainingResult
from langladder.tasks.inputs import start_from_table, units_for
from langladder.tasks.settings import ClassifierTraining, ReadingInput, ReadingSettings, ReadingTraining
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.text.labelled.labelled import Example

ACCURACY, BALANCED = "validation_accuracy", "validation_balanced_accuracy"
MICRO_F1 = "validation_micro_f1"


class LabelledBatch(NamedTuple):
    """Texts, and their labels: (B,) int64, or (B, C) bool for multi-label texts."""

    reading: Reading
    labels: torch.Tensor


class Classification(Task):
    """Any classifier network. The best weights have the highest validation accuracy, or the lowest validation loss.

    For multi-label texts, micro-F₁ replaces accuracy, because at first few texts get exactly their labels.
    """

    unit = "texts"

    def __init__(self, model: NeuralClassifier, config: ReadingTraining) -> None:
        super().__init__(config)
        self.model = model
        self.smoothing = config.label_smoothing
        self.balanced = isinstance(config, ClassifierTraining) and config.class_weights == "balanced"
        if config.early_stopping == "accuracy":
            self.monitor, self.mode = BALANCED if self.balanced else ACCURACY, "max"
            if model.multi_label:
                self.monitor = MICRO_F1
        if model.multi_label and self.balanced:
            raise InputError(
                "training.class_weights: balanced, but the texts are multi-label; allowed: none (in the rung's file)"
            )

    def loss(self, batch: LabelledBatch) -> torch.Tensor:
        """Mean cross-entropy of a batch, in nats per text."""
        return self.model.loss(batch.reading, batch.labels, self.smoothing)

    def means(self, batch: LabelledBatch) -> tuple[torch.Tensor, ...]:
        """See `Task.means`."""
        return self.model.means(batch.reading, batch.labels, self.smoothing)

    def evaluate(self, batch: LabelledBatch) -> tuple[float, int]:
        """Summed negative log-likelihood of the labels, and the number of texts."""
        if self.model.multi_label:
            return self._evaluate_sets(self.model.logits(batch.reading).float(), batch.labels)
        log_probs = torch.log_softmax(self.model.logits(batch.reading).float(), dim=-1)  # (B, C)
        right = log_probs.argmax(dim=-1) == batch.labels  # (B,)
        self.tally["right"] += int(right.sum())
        self.tally["total"] += len(batch.labels)
        for label in sorted(set(batch.labels.tolist())) if self.balanced else ():
            own = batch.labels == label
            self.tally[f"right {label}"] += int(right[own].sum())
            self.tally[f"total {label}"] += int(own.sum())
        chosen = log_probs.gather(1, batch.labels[:, None])  # (B, 1)
        return -float(chosen.sum(dtype=torch.float64)), len(batch.labels)

    def _evaluate_sets(self, scores: torch.Tensor, labels: torch.Tensor) -> tuple[float, int]:
        """The same for scores (B, C) and sets of labels (B, C) bool."""
        predicted = scores.sigmoid() >= THRESHOLD  # (B, C)
        self.tally["right"] += int((predicted == labels).all(dim=1).sum())
        self.tally["total"] += len(labels)
        self.tally["both"] += int((predicted & labels).sum())
        self.tally["either"] += int(predicted.sum() + labels.sum())
        loss = binary_cross_entropy_with_logits(scores.double(), labels.double(), reduction="sum")
        return float(loss), len(labels)

    def measures(self) -> dict[str, float]:
        """Share of the validation texts with the correct label; with class_weights=balanced, its mean over the labels.

        For multi-label texts: the share with exactly the correct labels, and micro-F₁.
        """
        accuracy = {ACCURACY: self.tally["right"] / max(1, self.tally["total"])}
        if self.model.multi_label:
            return accuracy | {MICRO_F1: 2 * self.tally["both"] / max(1, self.tally["either"])}
        if not self.balanced:
            return accuracy
        labels = [name.removeprefix("total ") for name in self.tally if name.startswith("total ")]
        shares = [self.tally[f"right {label}"] / self.tally[f"total {label}"] for label in labels]
        return accuracy | {BALANCED: sum(shares) / max(1, len(shares))}


def train_classifier(
    model: NeuralClassifier,
    train: Sequence[Example],
    validation: Sequence[Example],
    config: ReadingTraining,
    run: Run,
) -> TrainingResult:
    """Train `model` in place; it ends with its best validation weights, on the CPU, in evaluation mode.

    Raises:
        InputError: there is no training text, or the model does not know a label; see also `train_task`.
    """
    if not train:
        raise InputError("classification: no training text; see the report of the stage `clean`")
    encoded = [[model.encode(example) for example in split] for split in (train, validation)]
    labels = [targets(split, model.labels, multi_label=model.multi_label) for split in (train, validation)]

    def batch(training: bool, rows: np.ndarray) -> LabelledBatch:
        side = 0 if training else 1
        return LabelledBatch(collate([encoded[side][row] for row in rows]), torch.from_numpy(labels[side][rows]))

    lengths = [[len(example.ids) for example in split] for split in encoded]
    batches = ReadingBatches(
        (lengths[0], lengths[1]),
        batch,
        batch_size=config.batch_size,
        seed=run.seed,
        terms=lambda example: model.terms(example.reading),
    )
    config = config.of(len(train))
    task = Classification(model, config)
    model.label_weights = (
        torch.from_numpy(balanced_weights(labels[0], len(model.labels))).float() if task.balanced else None
    )
    result = train_task(task, batches, config, run)
    model.label_weights = None
    model.cpu().eval()
    return result


def make(
    kind: type[NeuralClassifier],
    labels: Sequence[str],
    train: Sequence[Example],
    validation: Sequence[Example],
    *,
    settings: ReadingSettings[Config, ReadingInput, ReadingTraining],
    run: Run,
    tokenizer: Path | None = None,
    base: Path | None = None,
    language: str | None = None,
) -> tuple[NeuralClassifier, TrainingResult]:
    """Train a classifier from its settings; see `models.making`."""
    damage = Damage(settings.input.damaged)
    units, table = units_for(settings.input, train, tokenizer=tokenizer, vectors=base, damage=damage, language=language)
    torch.manual_seed(run.seed)
    model = kind(settings.model, units.full_vocab_size, len(labels))
    model.equip(units, labels, multi_label=is_multi_label([*train, *validation]))
    start_from_table(model, table, frozen=settings.input.frozen, spread=settings.input.spread)
    model.start()
    result = train_classifier(model, train, validation, settings.training, run)
    return model, replace(result, vectors_skipped=sum(damage.counts.values()))
