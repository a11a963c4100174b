"""CNN → LSTM: filters find local features, and a recurrent layer reads their sequence (Zhou et al. 2015, "C-LSTM").

    x_t = ReLU(W [e_{t−l}; … ; e_{t+h−1−l}] + b)       "same": one vector per word, so that the time axis stays
    h_t = f(x_t, h_{t−1})

Differences from the paper: zeros around the text instead of a shorter sequence, and several filter widths can be
combined.

Shape legend: B rows, T positions, F filters in all.
"""

from typing import ClassVar

import torch
from pydantic import Field

from langladder.ground import schema
from langladder.models.classification.neural_classifier import Reading
from langladder.models.classification.reading_network import ReadingNetwork
from langladder.models.classification.recurrent_classifier import (
    RecurrentClassifier,
    RecurrentReader,
    RecurrentReaderConfig,
)
from langladder.nn.text_convolution import TextConvolution


class CNNLSTMConfig(RecurrentReaderConfig):
    """Settings of `CNNLSTM`."""

    widths: list[int] = Field(default=[3], min_length=1, max_length=16)  # filter widths in words
    filters: int = Field(default=100, ge=1, le=4096)  # filters of each width


class CNNLSTM(RecurrentClassifier):
    """Embedding → convolution → recurrent layers → output."""

    approach = "convolutional"
    Config: ClassVar[type[schema.Config]] = CNNLSTMConfig
    config: CNNLSTMConfig

    def __init__(self, config: CNNLSTMConfig, vocab_size: int, number_of_labels: int) -> None:
        ReadingNetwork.__init__(self, config, vocab_size, number_of_labels)
        self.convolution = TextConvolution(
            config.widths, filters=config.filters, input_width=config.embedding_dim, padding="same"
        )
        self.reader = RecurrentReader(config, config.filters * len(config.widths))
        self.finish(self.reader.width)

    def features(self, batch: Reading) -> torch.Tensor:
        """See `RecurrentClassifier.features`: (B, T, F)."""
        return torch.relu(torch.cat([c for c, _ in self.convolution(self.embed(batch), batch.mask)], dim=-1))
