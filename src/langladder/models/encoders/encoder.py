"""The interface of every encoder: tokens of one text or two → a vector for each, from left and right context.

A head on an encoder (a classifier, a tagger) only needs `hidden`, `width` and `number_of_layers`. A row is `<cls> a
<sep>` or `<cls> a <sep> b <sep>` (Devlin et al. 2019, figure 2), right-padded with PAD; segments are 0 up to and
including the first `<sep>`, 1 after it. The three special tokens are the last ids of the vocabulary
(`text.tokenize.specials`).

Shape legend: B rows, T positions, M masked positions, D width, h heads, N layers.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import torch

from langladder.ground.errors import InputError
from langladder.models.network import Network
from langladder.text.tokenize.specials import PAD, RESERVED


class Masked(NamedTuple):
    """A batch with masked tokens.

    Attributes:
        tokens: (B, T) int64, the input of the network with some tokens masked; right-padded with PAD.
        segments: (B, T) int64, 0 or 1.
        positions: (M,) int64, the tokens to predict among the B·T, ascending.
        targets: (M,) int64, the original tokens at these positions.
        strange: (B,) int64, BERT's labels: 0 if the second text follows the first, 1 if it is from another place; (0,)
            if rows are not pairs.
    """

    tokens: torch.Tensor
    segments: torch.Tensor
    positions: torch.Tensor
    targets: torch.Tensor
    strange: torch.Tensor


class Encoder(Network):
    """Built as `cls(config, vocab_size)`; vocab_size includes `<sep>`, `<cls>` and `<mask>`: the tokenizer's full
    size."""

    maker: ClassVar[str] = "langladder.tasks.masked_language_modelling.make"
    SIZES: ClassVar[tuple[str, ...]] = ("vocab_size",)
    WHAT: ClassVar[str] = "encoder"
    vocab_size: int
    context: int
    width: int
    number_of_layers: int

    @property
    def separator(self) -> int:
        """Id of `<sep>`."""
        return self.vocab_size - len(RESERVED)

    @property
    def cls(self) -> int:
        """Id of `<cls>`."""
        return self.separator + 1

    @property
    def mask(self) -> int:
        """Id of `<mask>`."""
        return self.separator + 2

    @abstractmethod
    def hidden(
        self,
        tokens: torch.Tensor,
        segments: torch.Tensor | None = None,
        *,
        mask: torch.Tensor | None = None,
        layers: Sequence[int] | None = None,
    ) -> list[torch.Tensor]:
        """States (B, T, D) of the requested layers; differentiable, with dropout in training.

        Args:
            tokens: (B, T) int64, T ≤ context.
            segments: (B, T) int64, 0 or 1; None: all 0.
            mask: (B, T) bool, true where there is a token; None: where `tokens` is not PAD.
            layers: the requested ones; 0 is the embeddings, N or −1 the last; None: all N + 1. States at padding are 0.

        Raises:
            InputError: T exceeds the context, or there is no such layer.
        """

    @abstractmethod
    def losses(self, batch: Masked) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Mean cross-entropies: of the masked tokens; of next sentences (None if it has no pairs)."""

    @abstractmethod
    def masked_log_probs(self, batch: Masked) -> torch.Tensor:
        """log P(v | the rest) at each masked position: (M, V) float32, without dropout; no gradient."""

    def input_embedding(self) -> torch.nn.Embedding:
        """The input embedding of tokens, (V, D)."""
        table = self.embedding
        assert isinstance(table, torch.nn.Embedding)
        return table

    def framed(self, first: np.ndarray, second: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """One row: `<cls> first <sep>`, or `<cls> first <sep> second <sep>`, and its segments; (T,) int64 each."""
        parts = [[self.cls], first, [self.separator]]
        head = len(first) + 2
        if second is not None:
            parts += [second, [self.separator]]
        tokens = np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])
        return tokens, (np.arange(len(tokens)) >= head).astype(np.int64)


def padded(rows: Sequence[np.ndarray]) -> torch.Tensor:
    """(B, T) int64, rows right-padded with PAD."""
    table = np.full((len(rows), max(map(len, rows))), PAD, dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(table)


def chosen_layers(layers: Sequence[int] | None, count: int) -> list[int]:
    """The numbers 0 … N of the requested layers. Raises InputError if one is invalid."""
    if layers is None:
        return list(range(count + 1))
    if wrong := [layer for layer in layers if not -count - 1 <= layer <= count]:
        raise InputError(f"layers={list(layers)}: {wrong[0]} is not one of 0 (embeddings) to {count}, or −1 (the last)")
    return [layer % (count + 1) for layer in layers]
