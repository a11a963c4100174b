"""Learning to translate: maximum likelihood of the target given the source, with teacher forcing.

    L = −(1/N) Σ log P(y_t | y_<t, x)   over the N target tokens of a batch, EOS among them

With label smoothing ε the target distribution of the training loss is (1 − ε)·onehot + ε/V (Szegedy et al. 2016); the
validation loss is always the plain one, so that exp of it is a perplexity.
"""

from pathlib import Path
from typing import Any

import torch

from langladder.data.translation import PairBatch, TranslationBatches
from langladder.models.translator import Translator
from langladder.tasks.settings import TranslationTraining
from langladder.tasks.task import Task
from langladder.tasks.training import TrainingResult, fit
from langladder.text.corpus_ids import PairStream
from langladder.text.specials import PAD


class TranslationTask(Task):
    """Maximum likelihood of the target, whatever the translator."""

    def __init__(self, model: Translator, config: TranslationTraining) -> None:
        super().__init__(config)
        self.model, self.smoothing = model, config.label_smoothing

    def loss(self, batch: PairBatch) -> torch.Tensor:
        """Mean loss a target token, smoothed if asked for."""
        return self.model.loss(*batch, self.smoothing) / (batch[1][:, 1:] != PAD).sum()

    def evaluate(self, batch: PairBatch) -> tuple[float, int]:
        """Summed loss, never smoothed, and the number of target tokens."""
        scores = self.model.log_probs(*batch)
        return -float(scores.double().sum()), int((batch[1][:, 1:] != PAD).sum())


def train_translator(
    model: Translator,
    train: PairStream,
    validation: PairStream | None,
    config: TranslationTraining,
    *,
    seed: int,
    work: Path,
    logger: Any = None,
) -> TrainingResult:
    """Train `model` on sentence pairs; it ends with its best validation weights, in evaluation mode.

    Args:
        seed: of the batches' order and of dropout.
        work: folder of the checkpoints; an interrupted run goes on from there.

    Raises:
        InputError: no pair is short enough; else as `fit`.
    """
    batches = TranslationBatches(
        train, validation, batch_tokens=config.batch_tokens, max_length=config.max_length, seed=seed
    )
    result = fit(TranslationTask(model, config), batches, config, seed=seed, work=work, logger=logger)
    model.eval()
    return result
