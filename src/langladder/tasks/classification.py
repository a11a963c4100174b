"""Classification: a text → its label. Cross-entropy of the label, whatever the network that reads.

L = −(1/N) Σ_n log P(y_n | x_n)
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from langladder.data.reading import ReadingBatches
from langladder.ground.errors import Damage, InputError
from langladder.ground.schema import Config
from langladder.models.classification.classifier import balanced_weights, label_ids
from langladder.models.classification.neural_classifier import NeuralClassifier, Reading, collate
from langladder.models.making import Run, TrainingResult
from langladder.tasks.inputs import start_from_table, units_for
from langladder.tasks.settings import ClassifierTraining, ReadingInput, ReadingSettings, ReadingTraining
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.text.labelled.labelled import Example

ACCURACY, BALANCED = "validation_accuracy", "validation_balanced_accuracy"


class LabelledBatch(NamedTuple):
    """Texts, and their labels (B,) int64."""

    reading: Reading
    labels: torch.Tensor


class Classification(Task):
    """Any network that classifies. The best weights are those with the highest validation accuracy, or lowest loss."""

    unit = "texts"

    def __init__(self, model: NeuralClassifier, config: ReadingTraining) -> None:
        super().__init__(config)
        self.model = model
        self.smoothing = config.label_smoothing
        self.balanced = isinstance(config, ClassifierTraining) and config.class_weights == "balanced"
        if config.early_stopping == "accuracy":
            self.monitor, self.mode = BALANCED if self.balanced else ACCURACY, "max"

    def loss(self, batch: LabelledBatch) -> torch.Tensor:
        """Mean cross-entropy of a batch, in nats per text."""
        return self.model.loss(batch.reading, batch.labels, self.smoothing)

    def means(self, batch: LabelledBatch) -> tuple[torch.Tensor, ...]:
        """See `Task.means`."""
        return self.model.means(batch.reading, batch.labels, self.smoothing)

    def evaluate(self, batch: LabelledBatch) -> tuple[float, int]:
        """Summed negative log-likelihood of the labels, and the number of texts."""
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

    def measures(self) -> dict[str, float]:
        """Share of the validation texts that get their label; with class_weights=balanced, its mean over the labels."""
        accuracy = {ACCURACY: self.tally["right"] / max(1, self.tally["total"])}
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
        InputError: no training text, a label that the model does not know; see also `train_task`.
    """
    if not train:
        raise InputError("classification: no training text; see the report of the stage `clean`")
    encoded = [[model.encode(example) for example in split] for split in (train, validation)]
    labels = [label_ids(split, model.labels) for split in (train, validation)]

    def batch(training: bool, rows: np.ndarray) -> LabelledBatch:
        side = 0 if training else 1
        return LabelledBatch(collate([encoded[side][row] for row in rows]), torch.from_numpy(labels[side][rows]))

    lengths = [[len(one.ids) for one in split] for split in encoded]
    batches = ReadingBatches(
        (lengths[0], lengths[1]),
        batch,
        batch_size=config.batch_size,
        seed=run.seed,
        terms=lambda one: model.terms(one.reading),
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
) -> tuple[NeuralClassifier, TrainingResult]:
    """Train a classifier from its settings; see `models.making`."""
    damage = Damage(settings.input.damaged)
    units, table = units_for(settings.input, train, tokenizer=tokenizer, vectors=base, damage=damage)
    torch.manual_seed(run.seed)
    model = kind(settings.model, units.full_vocab_size, len(labels)).equip(units, labels)
    start_from_table(model, table, frozen=settings.input.frozen, spread=settings.input.spread)
    model.start()
    result = train_classifier(model, train, validation, settings.training, run)
    return model, replace(result, vectors_skipped=sum(damage.counts.values()))
