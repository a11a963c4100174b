"""A simple training loop for small networks: no checkpoints, no logger, no Lightning; fp32 on the CPU.

Optimisers, learning rates and batches are those of the ladder (`tasks.optimisation`, `data.language_modelling`), so
experiments train the same models as the ladder, only smaller.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from langladder.data.language_modelling import document_batches, kind_of_batches
from langladder.models.language.language_model import LanguageModel, predicted
from langladder.models.language.neural import NeuralLanguageModel
from langladder.tasks.optimisation import TrainingConfig, make_optimizer, set_learning_rate
from langladder.tasks.settings import LMTrainingConfig
from langladder.text.storage.token_streams import TokenStream, count_ids
from langladder.text.tokenize.specials import BOS


def train(
    network: nn.Module,
    loss: Callable[[int], torch.Tensor],
    config: TrainingConfig,
    watch: Callable[[int], None] | None = None,
) -> list[float]:
    """Train in place for `max_steps`, or until the loss is NaN; the network ends in evaluation mode.

    Args:
        loss: step → scalar to differentiate.
        watch: called after each step with the number of steps so far.

    Returns:
        The loss of each step; the last one is not finite if training diverged.
    """
    optimizer = make_optimizer(network, config)
    losses: list[float] = []
    network.train()
    for step in range(config.max_steps):
        set_learning_rate(optimizer, config, step)
        value = loss(step)
        losses.append(float(value.detach()))
        if not math.isfinite(losses[-1]):
            break
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        if config.clip_norm is not None:
            nn.utils.clip_grad_norm_(network.parameters(), config.clip_norm)
        optimizer.step()
        if watch is not None:
            watch(step + 1)
    network.eval()
    return losses


def train_language_model(
    model: NeuralLanguageModel,
    text: TokenStream,
    config: LMTrainingConfig,
    *,
    seed: int,
    watch: Callable[[int], None] | None = None,
) -> list[float]:
    """Next-token prediction on the stream, like `tasks.language_modelling`; see `train`.

    Raises:
        InputError: the text is smaller than one batch.
    """
    kind = kind_of_batches(documents=model.joins_lines, context=model.context)
    size = {"batch_size": config.batch_size, "sequence_length": config.sequence_length}
    batches = kind(text, text, **size, seed=seed, validation_tokens=1)  # there is no validation during training
    state: Any = None

    def loss(step: int) -> torch.Tensor:
        nonlocal state
        batch = batches.train(step)
        hidden, after = model(batch.tokens[:, :-1], None if batch.fresh else state)  # (B, T, D)
        state = None if after is None else tuple(part.detach() for part in after)
        return model.loss(hidden, batch.tokens[:, 1:], config.label_smoothing)

    model.prepare(text)
    return train(model, loss, config, watch)


def loss_a_token(model: LanguageModel, text: TokenStream, *, tokens: int) -> float:
    """−(1/N) Σ log P(w_t | w_<t) in nats over the first documents, up to about `tokens` tokens."""
    total, count = 0.0, 0
    for batch in document_batches(text, limit=tokens):
        total -= float(model.log_probs(batch).sum(dtype=torch.float64))
        count += int(predicted(batch).sum())
    return total / count


def unigram_loss(ids: np.ndarray) -> float:
    """Entropy in nats of token frequencies, including EOS: the loss of a model that only knows these frequencies."""
    count = count_ids(ids)
    count[BOS] = 0
    share = count[count > 0] / count.sum()
    return float(-(share * np.log(share)).sum())
