"""Answering questions about paragraphs: readers that start from another rung's network, trained like all others.

All functions that make readers are called as

    model, result = maker(kind, train, validation, settings=…, run=…, base=…)

    kind         the class that the rung's file names
    train        questions with their answers; validation: the same, to select weights and fit the no-answer threshold
    settings, run, base      as in `models.making`
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Generic

import numpy as np
import torch

from langladder.data.reading import ReadingBatches
from langladder.ground.errors import InputError
from langladder.models.fine_tuned import FineTunedConfig
from langladder.models.making import Run, TrainingResult
from langladder.models.reading.network_reader import AnyReader, Batch, NetworkReader, Row
from langladder.tasks.fine_tuning import begin
from langladder.tasks.settings import ReadingTraining, TransferSettings
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.text.labelled.questions import Question

ACCURACY = "validation_accuracy"


class Answering(Task, Generic[Row, Batch]):
    """Any reader that learns. The best weights have the most correct validation rows, or the lowest validation loss.

    A row is what `NetworkReader.encode` returns: a window over a paragraph, or a question with its options.
    """

    unit = "rows"

    def __init__(self, model: NetworkReader[Row, Batch], config: ReadingTraining) -> None:
        super().__init__(config)
        self.model = model
        if config.early_stopping == "accuracy":
            self.monitor, self.mode = ACCURACY, "max"

    def loss(self, batch: Batch) -> torch.Tensor:
        """Mean loss of a batch, in nats per row."""
        return self.model.losses(batch)

    def means(self, batch: Batch) -> tuple[torch.Tensor, ...]:
        """See `Task.means`."""
        return self.model.means(batch)

    def evaluate(self, batch: Batch) -> tuple[float, int]:
        """Summed −log P of the correct answers, and the number of rows."""
        loss, right, rows = self.model.judge(batch)
        self.tally["right"] += right
        self.tally["total"] += rows
        return loss, rows

    def measures(self) -> dict[str, float]:
        """Share of the validation rows with a correct answer: the right start and end tokens, or the right option."""
        return {ACCURACY: self.tally["right"] / max(1, self.tally["total"])}


class QuestionBatches(ReadingBatches[Batch]):
    """Batches of rows of similar length."""

    def size(self, batch: Batch) -> int:
        """The number of rows; each row has one correct answer."""
        return len(batch[-1])


def train_reader(
    model: NetworkReader[Row, Batch],
    train: Sequence[Question],
    validation: Sequence[Question],
    config: ReadingTraining,
    run: Run,
) -> TrainingResult:
    """Train `model` in place; it ends with its best validation weights, on the CPU, in evaluation mode.

    Raises:
        InputError: there is no training question, or no options although the reader chooses among options; see also
            `train_task`.
    """
    if not train:
        raise InputError("reading: no training question; see the report of the stage `corpus`")
    rows = [[row for question in split for row in model.encode(question)] for split in (train, validation)]

    def batch(training: bool, chosen: np.ndarray) -> Batch:
        return model.collate([rows[0 if training else 1][position] for position in chosen])

    lengths = [[row.length for row in split] for split in rows]
    batches = QuestionBatches(
        (lengths[0], lengths[1]), batch, batch_size=config.batch_size, seed=run.seed, terms=model.terms
    )
    config = config.of(len(rows[0]))
    task = Answering(model, config)
    result = train_task(task, batches, config, run)
    model.cpu().eval()
    model.fit_threshold(validation, needed=any(not question.answers for question in train))
    return result


def make(
    kind: type[AnyReader],
    train: Sequence[Question],
    validation: Sequence[Question],
    *,
    settings: TransferSettings[FineTunedConfig, ReadingTraining],
    base: Path,
    run: Run,
    **_: object,
) -> tuple[AnyReader, TrainingResult]:
    """Fine-tune on questions; see the module docstring."""
    network, tokenizer = begin(kind, settings, base, seed=run.seed)
    model = network.equip(tokenizer)
    return model, train_reader(model, train, validation, settings.training, run)
