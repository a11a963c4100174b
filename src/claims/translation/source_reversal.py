"""Reversing the source (Sutskever, Vinyals & Le 2014, section 3.3).

    forwards    a b c → α β γ      a is read three steps before α is written, c three before γ
    backwards   c b a → α β γ      a is read one step before α, b three before β, c five before γ

The average distance is the same, but the distances of the first words become short. So their gradient is large, and the
rest follows once the decoder's first words are right. The experiment measures the loss of the references at each target
position, for an encoder–decoder without attention.
"""

from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field

from claims.comparison import Values
from claims.declaration import Metric
from claims.translation.translation_judge import Judge
from claims.translation.translator_comparison import TranslatorComparison, TranslatorComparisonConfig
from langladder.data.translation import pad
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.specials import PAD

FIRST = 3
"""Number of target tokens that count as the first ones."""


class SourceReversalConfig(TranslatorComparisonConfig):
    """Settings of `SourceReversal`."""

    metric: Literal["loss", "behind"] = "loss"  # type: ignore[assignment]
    positions: int = Field(default=20, ge=FIRST + 1)  # number of target positions that are measured separately


class SourceReversal(TranslatorComparison):
    """The same network, reading the source forwards or backwards, also by the loss at each target position."""

    Config: ClassVar[type[schema.Config]] = SourceReversalConfig
    metrics: ClassVar[dict[str, Metric]] = {
        **TranslatorComparison.metrics,
        "first": Metric(f"loss of the first {FIRST}", drawn=False),
        "behind": Metric(f"loss of the first {FIRST} minus that of the others", drawn=False),
        "by_position": Metric("−log P of the reference, nats", along="target token"),
    }
    config: SourceReversalConfig

    def measures(self, model: Translator, judge: Judge) -> Values:
        """See `TranslatorComparison.measures`."""
        losses = position_losses(model, judge, self.config.positions)  # (T,)
        first, after = float(losses[:FIRST].mean()), float(losses[FIRST:].mean())
        curve = dict(enumerate(losses.tolist(), start=1))
        return {**super().measures(model, judge), "first": first, "behind": first - after, "by_position": curve}


def position_losses(model: Translator, judge: Judge, positions: int) -> np.ndarray:
    """The mean of −log P(y_t | y_<t, x) over the references with a t-th token, t = 1 … `positions` (or fewer).

    Raises:
        InputError: no reference is longer than the first tokens.
    """
    pairs = [(sentence.source, sentence.target) for sentence in judge.sentences]
    source, target = (pad([pair[side] for pair in pairs]) for side in (0, 1))
    log_probs = model.log_probs(source, target)[:, :positions].double()  # (B, T), 0 at PAD
    count = (target[:, 1 : positions + 1] != PAD).sum(dim=0)  # (T,)
    if len(count) <= FIRST:
        raise InputError(f"the test sentences' targets have {len(count)} tokens at most, but need more than {FIRST}")
    losses: np.ndarray = torch.div(-log_probs.sum(dim=0), count).numpy()
    return losses
