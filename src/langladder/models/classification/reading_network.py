"""The common parts of classifier networks: the input table, its dropouts, pairs of texts, the output.

    text → e_1 … e_T → network → r → dropout → W r + b

A pair of texts is one row with `<sep>` between them (`joined`), or the same network reads both and they are compared
(`compared`; Conneau et al. 2017, "Supervised Learning of Universal Sentence Representations", section 3.2):

    r = [u; v; |u − v|; u ∗ v]

Shape legend: B rows, T positions, D width of the embedding, R width of r, C labels.
"""

from abc import abstractmethod
from typing import Literal

import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.classification.neural_classifier import Encoded, NeuralClassifier, Reading
from langladder.models.fine_tuned import shortened
from langladder.models.trial import words
from langladder.models.units import Read
from langladder.nn.dropout import LockedDropout, embed_with_word_dropout
from langladder.nn.initialisation import initialise
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.specials import PAD, RESERVED

WIDEST = 8192
Pairs = Literal["joined", "compared"]


class ReadingConfig(schema.Config):
    """Settings of every network that reads whole texts."""

    embedding_dim: int = Field(default=100, ge=1, le=WIDEST)  # D
    word_dropout: float = Field(default=0.0, ge=0, lt=1)  # share of the vocabulary that is dropped in a batch
    input_dropout: float = Field(default=0.0, ge=0, lt=1)  # dropout on the embedded words
    locked: bool = False  # input dropout: the same features at every position (variational)
    dropout: float = Field(default=0.5, ge=0, lt=1)  # dropout before the output
    max_norm: float | None = Field(default=None, gt=0)  # maximum norm of a label's row of W (Kim 2014: 3)
    pairs: Pairs = "joined"
    max_length: int | None = Field(default=None, ge=3, le=65_536)
    """Pieces of a text that are read: the end is cut off, of a pair first that of the longer text. null: all."""


class ReadingNetwork(NeuralClassifier):
    """Embedding → `read` → linear output. Subclasses call `finish` at the end of their constructor."""

    config: ReadingConfig

    def __init__(self, config: ReadingConfig, vocab_size: int, number_of_labels: int) -> None:
        super().__init__(config, vocab_size, number_of_labels)
        self.embedding = nn.Embedding(vocab_size, config.embedding_dim, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=config.embedding_dim**-0.5)
        nn.init.zeros_(self.embedding.weight[PAD].detach())
        self.input_dropout = (LockedDropout if config.locked else nn.Dropout)(config.input_dropout)

    def finish(self, width: int) -> None:
        """Create the output layer for R = `width`."""
        self.dropout = nn.Dropout(self.config.dropout)
        self.head = nn.Linear(4 * width if self.config.pairs == "compared" else width, self.number_of_labels)
        initialise(self.head.weight, "xavier")
        nn.init.zeros_(self.head.bias)

    @abstractmethod
    def read(self, batch: Reading) -> torch.Tensor:
        """The vector of each text: (B, R). Padding changes nothing."""

    def embed(self, batch: Reading) -> torch.Tensor:
        """The embedded words of a batch, with dropout in training: (B, T, D)."""
        x: torch.Tensor = self.input_dropout(
            embed_with_word_dropout(self.embedding, batch.tokens, self.config.word_dropout)
        )
        return x

    def logits(self, batch: Reading) -> torch.Tensor:
        """See `NeuralClassifier.logits`."""
        if self.config.pairs == "joined":
            return self.decide(self.read(batch))
        first, second = self._both(batch)
        rows = len(first.tokens)
        width = max(first.tokens.shape[1], second.tokens.shape[1])
        tokens = torch.cat(
            [nn.functional.pad(part.tokens, (0, width - part.tokens.shape[1]), value=PAD) for part in (first, second)]
        )
        both = self.read(Reading(tokens, torch.cat([first.lengths, second.lengths])))  # (2B, R)
        u, v = both[:rows], both[rows:]
        # r = [u; v; |u − v|; u ∗ v]
        return self.decide(torch.cat([u, v, (u - v).abs(), u * v], dim=1))

    def decide(self, r: torch.Tensor) -> torch.Tensor:
        """W r + b, after dropout: (…, R) → (…, C)."""
        if self.training and self.config.max_norm is not None:
            with torch.no_grad():  # w ← w · min(1, s / ‖w‖), after the last update
                self.head.weight.copy_(self.head.weight.renorm(2, 0, self.config.max_norm))
        scores: torch.Tensor = self.head(self.dropout(r))
        return scores

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`; if texts are compared, `<sep>` is in the middle."""
        if self.config.pairs == "joined":
            return super().trial_loss(rows, length)
        tokens = words(rows, length, self.vocab_size - len(RESERVED))
        tokens[:, length // 2] = self.vocab_size - len(RESERVED)
        return self.loss(Reading(tokens, torch.full((rows,), length)), self.trial_labels(rows))

    def as_read(self, example: Example) -> Read:
        """See `NeuralClassifier.as_read`: at most `max_length` pieces."""
        read = super().as_read(example)
        longest = self.config.max_length
        return read if longest is None else shortened(read, self.units.separator, longest)

    def encode(self, example: Example) -> Encoded:
        """See `NeuralClassifier.encode`; if texts are compared, there must be two."""
        encoded = super().encode(example)
        if self.config.pairs == "compared":
            (separators,) = (encoded.ids == self.vocab_size - len(RESERVED)).nonzero()
            if len(separators) != 1 or separators[0] in (0, len(encoded.ids) - 1):
                raise InputError(
                    f"{example.text[:60]!r}: model.pairs=compared needs two texts with words in both; set it to joined"
                )
        return encoded

    def _both(self, batch: Reading) -> tuple[Reading, Reading]:
        """The texts before and after `<sep>`, each as a separate batch."""
        tokens = batch.tokens
        position = (tokens == self.vocab_size - len(RESERVED)).int().argmax(dim=1)  # (B,)
        column = torch.arange(tokens.shape[1], device=tokens.device)
        first = tokens.where(column < position[:, None], PAD)[:, : int(position.max())]
        behind = batch.lengths.to(position.device) - position - 1
        width = int(behind.max())
        source = (position[:, None] + 1 + column[:width]).clamp(max=tokens.shape[1] - 1)
        second = tokens.gather(1, source).where(column[:width] < behind[:, None], PAD)
        return Reading(first, position), Reading(second, behind)
