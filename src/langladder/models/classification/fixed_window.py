"""Fixed window: the concatenation of the first k words, and a network with weights for every position.

    a = tanh(H [e_1; … ; e_k] + d),   P(y) = softmax(W a + b)

It reads a text like Bengio et al. 2003 read the previous words. It keeps the order, but "not" in the second position
and "not" in the third share no weights. A longer text is cut off after word k; a shorter one is padded with zeros.

Shape legend: B rows, T positions, k words of the window, D width of the embedding.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.models.classification.neural_classifier import Reading
from langladder.models.classification.reading_network import WIDEST, ReadingConfig, ReadingNetwork
from langladder.nn.initialisation import initialise


class FixedWindowConfig(ReadingConfig):
    """Settings of `FixedWindow`."""

    window: int = Field(default=10, ge=1, le=1024)  # k
    width: int = Field(default=100, ge=1, le=WIDEST)  # width of the hidden layer


class FixedWindow(ReadingNetwork):
    """Embedding → first k words → tanh → output."""

    approach = "feed-forward"
    Config: ClassVar[type[schema.Config]] = FixedWindowConfig
    config: FixedWindowConfig

    def __init__(self, config: FixedWindowConfig, vocab_size: int, number_of_labels: int) -> None:
        super().__init__(config, vocab_size, number_of_labels)
        self.hidden = nn.Linear(config.window * config.embedding_dim, config.width)  # H and d
        initialise(self.hidden.weight, "xavier")
        nn.init.zeros_(self.hidden.bias)
        self.finish(config.width)

    def read(self, batch: Reading) -> torch.Tensor:
        """See `ReadingNetwork.read`."""
        k = self.config.window
        x = (self.embed(batch) * batch.mask[..., None])[:, :k]  # (B, ≤ k, D)
        x = nn.functional.pad(x, (0, 0, 0, k - x.shape[1]))  # (B, k, D)
        # a = tanh(H [e_1; … ; e_k] + d)
        return torch.tanh(self.hidden(x.flatten(1)))
