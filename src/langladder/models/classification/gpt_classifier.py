"""GPT fine-tuned on labelled texts (Radford et al. 2018, sections 3.2 and 3.3).

There are three new tokens with new embeddings: start, delimiter, extract. Each task becomes rows of tokens:

    classification     start text extract
    entailment         start premise delimiter hypothesis extract
    similarity         start a delimiter b extract, and start b delimiter a extract: h is the sum of both
    multiple choice    start context question delimiter answer_k extract for each answer; softmax over their scores,
                       see `gpt_choice`

    h = the body's last state, at extract; pooling: mean, the mean of its states over the row
    L2 = −log softmax(W dropout(h) + b)_y          mean over the examples
    L1 = −log P(u_t | u_<t)                        mean over the tokens of the rows after start
    L3 = L2 + λ L1                                 λ = `lm_weight`

Start, delimiter and extract have the ids of `<mask>`, `<sep>` and `<cls>`, which follow the body's vocabulary. Unlike
in the authors' code, L1 is the mean over the batch's tokens, not the mean of the rows' means. If a row is longer than
the body's context, the ends of its texts are cut off, first that of the longer text.

Shape legend: B examples, R rows, T positions, D width, C labels, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.classification.neural_classifier import Encoded, NeuralClassifier, Reading
from langladder.models.fine_tuned import FineTuned, FineTunedConfig, body_of, shortened, start_linear
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.network import Network
from langladder.models.trial import words
from langladder.models.units import Read
from langladder.nn.pooling import mean_pool
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.specials import PAD, RESERVED


class Marks(NamedTuple):
    """The ids of the new tokens."""

    start: int
    delimiter: int
    extract: int

    @classmethod
    def of(cls, vocab_size: int) -> Self:
        """The marks of a vocabulary with the reserved ids."""
        first = vocab_size - len(RESERVED)
        return cls(first + 2, first, first + 1)


class GPTClassifierConfig(FineTunedConfig):
    """Settings of `GPTClassifier`."""

    body: GPTConfig | None = None
    pairs: Literal["entailment", "similarity"] = "entailment"
    """How pairs of texts are read: in their order, or in both orders."""
    pooling: Literal["last", "mean"] = "last"
    lm_weight: float = Field(default=0.5, ge=0, le=100)
    """λ; 0: the body has no output layer."""


class FineTunedGPT(FineTuned):
    """Base of networks that start from GPT: rows with the new tokens `marks`, read by `gpt`; a mixin for `Network`."""

    BODY: ClassVar[type[Network]] = GPT
    FAMILIES: ClassVar[str] = "a GPT of the families lm and tune"
    LAYERS: ClassVar[str] = "blocks"
    BEHIND: ClassVar[tuple[str, ...]] = ("norm",)
    Config: ClassVar[type[schema.Config]]
    gpt: GPT
    marks: Marks
    dropout: nn.Dropout

    @classmethod
    def refuses(cls, settings: Mapping[str, object], body: GPTConfig) -> str | None:
        """See `FineTuned.refuses`: output layers other than the full softmax depend on counts of the body's tokens."""
        weight = settings.get("lm_weight", cls.Config.model_fields["lm_weight"].default)
        if not weight or body.output == "softmax":
            return None
        return (
            f"model.lm_weight={weight}, but its output layer is {body.output}, which does not support new tokens; set "
            "model.lm_weight to 0, or choose a base with output: softmax"
        )

    def begin_body(self, vocab_size: int) -> int:
        """Build the body from `config`, without its output layer if λ = 0; returns its width."""
        config = self.config
        settings: GPTConfig = body_of(config.body, type(self))
        if why := self.refuses(config.model_dump(), settings):
            raise InputError(why)
        self.gpt = GPT(settings, vocab_size)
        if not config.lm_weight:
            del self.gpt.head
        self.marks = Marks.of(vocab_size)
        self.dropout = nn.Dropout(config.dropout)
        return settings.width

    def body(self) -> nn.Module:
        """See `FineTuned.body`."""
        return self.gpt


class GPTClassifier(FineTunedGPT, NeuralClassifier):
    """Body → the state at extract → linear output."""

    approach = "Transformer"
    maker = "langladder.tasks.fine_tuning.make_classifier"
    Config: ClassVar[type[schema.Config]] = GPTClassifierConfig
    config: GPTClassifierConfig

    def __init__(self, config: GPTClassifierConfig, vocab_size: int, number_of_labels: int) -> None:
        super().__init__(config, vocab_size, number_of_labels)
        self.head = start_linear(nn.Linear(self.begin_body(vocab_size), number_of_labels))

    def logits(self, batch: Reading) -> torch.Tensor:
        """See `NeuralClassifier.logits`."""
        return self._scores(*self._states(batch))

    def loss(self, batch: Reading, labels: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """L3 in nats; labels (B,) int64."""
        # L3 = L2 + λ L1
        loss, *language = self.means(batch, labels, smoothing)
        return loss + language[0] if language else loss

    def means(self, batch: Reading, labels: torch.Tensor, smoothing: float = 0.0) -> tuple[torch.Tensor, ...]:
        """See `NeuralClassifier.means`: L2, and λ L1 if λ is not 0."""
        tokens, hidden = self._states(batch)  # (R, T), (R, T, D)
        # L2 = −log softmax(z)_y
        loss = self.label_loss(self._scores(tokens, hidden), labels, smoothing)
        if not self.config.lm_weight:
            return (loss,)
        # L1 = −log P(u_t | u_<t)
        predicted = tokens[:, 1:] != PAD  # (R, T − 1)
        targets = tokens[:, 1:][predicted]
        language = self.gpt.head.loss(hidden[:, :-1][predicted], targets) / len(targets)
        return loss, self.config.lm_weight * language

    def terms(self, batch: Reading) -> tuple[int, ...]:
        """See `NeuralClassifier.terms`: texts, and predicted tokens (the same number for both orders of a pair)."""
        predicted = int((batch.tokens[:, 1:] != PAD).sum())
        return (len(batch.lengths), predicted) if self.config.lm_weight else (len(batch.lengths),)

    def as_read(self, example: Example) -> Read:
        """See `NeuralClassifier.as_read`: the part that fits into the context."""
        return shortened(super().as_read(example), self.marks.delimiter, self.gpt.context - 2)

    def encode(self, example: Example) -> Encoded:
        """See `NeuralClassifier.encode`; adds start and extract."""
        if self.config.pairs == "similarity" and example.second is None:
            raise InputError(
                f"{example.text[:60]!r}: model.pairs=similarity needs two texts; set it to entailment to read one"
            )
        ids = super().encode(example).ids
        return Encoded(np.array([self.marks.start, *ids, self.marks.extract], dtype=np.int32))

    def positions(self, encoded: Encoded) -> Sequence[int]:
        """See `NeuralClassifier.positions`: between start and extract."""
        return range(1, len(encoded.ids) - 1)

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`; one pair per row, including the new tokens."""
        length = min(max(length, 5), self.gpt.context)
        tokens = words(rows, length, self.vocab_size - len(RESERVED))
        tokens[:, 0], tokens[:, length // 2], tokens[:, -1] = self.marks
        return self.loss(Reading(tokens, torch.full((rows,), length)), self.trial_labels(rows))

    def _states(self, batch: Reading) -> tuple[torch.Tensor, torch.Tensor]:
        """The rows, in both orders if requested, and the body's states."""
        tokens = batch.tokens
        if self.config.pairs == "similarity":
            tokens = torch.cat([tokens, swapped(tokens, self.marks.delimiter)])  # (2B, T)
        hidden: torch.Tensor = self.gpt(tokens)[0]
        return tokens, hidden

    def _scores(self, tokens: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """(R, T), (R, T, D) → (B, C)."""
        mask = tokens != PAD  # (R, T)
        if self.config.pooling == "mean":
            h = mean_pool(hidden, mask)  # (R, D)
        else:
            h = hidden[torch.arange(len(hidden), device=hidden.device), mask.sum(dim=1) - 1]  # (R, D)
        if self.config.pairs == "similarity":
            first, second = h.view(2, -1, h.shape[1])
            h = first + second  # (B, D)
        scores: torch.Tensor = self.head(self.dropout(h))
        return scores


def swapped(tokens: torch.Tensor, delimiter: int) -> torch.Tensor:
    """`start a $ b extract` → `start b $ a extract`: (B, T) → (B, T)."""
    return tokens.gather(1, _positions(tokens, delimiter))


def _positions(tokens: torch.Tensor, delimiter: int) -> torch.Tensor:
    """The position in this row of each token of the row in the other order: (B, T)."""
    column = torch.arange(tokens.shape[1], device=tokens.device)  # (T,)
    cut = (tokens == delimiter).int().argmax(dim=1)[:, None]  # (B, 1), after start and a
    behind = (tokens != PAD).sum(dim=1)[:, None] - 2 - cut  # number of tokens of b
    inside = (column > 0) & (column < cut + behind + 1)
    position = torch.where(column <= behind, column + cut, torch.where(column == behind + 1, cut, column - behind - 1))
    return torch.where(inside, position, column)


def choices(
    context: Sequence[int], question: Sequence[int], answers: Sequence[Sequence[int]], marks: Marks
) -> list[list[int]]:
    """Multiple choice: one row per answer, `start context question $ answer extract`."""
    return [[marks.start, *context, *question, marks.delimiter, *answer, marks.extract] for answer in answers]


def choice_log_probs(scores: torch.Tensor, counts: Sequence[int]) -> torch.Tensor:
    """log P(answer_k | context, question) from a score for each row of `choices`: (R,) → (B, K).

    Args:
        counts: the number of answers of each question, R in total. Further entries of a question are −∞.
    """
    number = torch.tensor(counts, device=scores.device)  # (B,)
    inside = torch.arange(max(counts), device=scores.device) < number[:, None]  # (B, K)
    table = torch.full(inside.shape, -torch.inf, device=scores.device).masked_scatter(inside, scores.float())
    return torch.log_softmax(table, dim=1)
