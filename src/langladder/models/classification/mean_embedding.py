"""Mean of word vectors: the text is the mean of its words, without their order.

    av = (1/T) Σ_t e_t,   a_l = ReLU(W_l a_{l−1} + b_l),   P(y) = softmax(W a_L + b)

Iyyer et al. 2015, "Deep Unordered Composition Rivals Syntactic Methods for Text Classification", section 3 (the deep
averaging network; with no layer it is their NBOW, equation 1). `word_dropout` is their section 3.1, but it drops a word
in all texts of a batch, and a dropped word counts as a zero vector. `combine: sum` does not divide by T.

Shape legend: B rows, T positions, D width of the embedding.
"""

from itertools import pairwise
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.models.classification.neural_classifier import Reading
from langladder.models.classification.reading_network import WIDEST, ReadingConfig, ReadingNetwork
from langladder.nn.pooling import mean_pool, sum_pool


class MeanEmbeddingConfig(ReadingConfig):
    """Settings of `MeanEmbedding`."""

    combine: Literal["mean", "sum"] = "mean"
    width: int = Field(default=100, ge=1, le=WIDEST)  # width of the hidden layers
    layers: int = Field(default=1, ge=0, le=8)  # number of hidden layers


class MeanEmbedding(ReadingNetwork):
    """Embedding → mean or sum → hidden layers → output."""

    approach = "bag of vectors"
    Config: ClassVar[type[schema.Config]] = MeanEmbeddingConfig
    config: MeanEmbeddingConfig

    def __init__(self, config: MeanEmbeddingConfig, vocab_size: int, number_of_labels: int) -> None:
        super().__init__(config, vocab_size, number_of_labels)
        sizes = [config.embedding_dim, *[config.width] * config.layers]
        layers: list[nn.Module] = []
        for read, width in pairwise(sizes):
            layers += [nn.Linear(read, width), nn.ReLU(), nn.Dropout(config.dropout)]
        self.hidden = nn.Sequential(*layers[:-1])  # the last dropout belongs to the output
        self.finish(sizes[-1])

    def read(self, batch: Reading) -> torch.Tensor:
        """See `ReadingNetwork.read`."""
        pool = mean_pool if self.config.combine == "mean" else sum_pool
        # av = (1/T) Σ_t e_t
        average = pool(self.embed(batch), batch.mask)  # (B, D)
        a: torch.Tensor = self.hidden(average)
        return a
