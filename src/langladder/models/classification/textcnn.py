"""TextCNN: filters over a few consecutive words, and pooling of each filter's values (Kim 2014).

    c_i = ReLU(w · x_{i:i+h−1} + b)          equation 2, h several widths at once
    ĉ = max_i c_i                            one number per filter (section 2), or another pooling (`nn.pooling`)
    y = W (z ∘ r) + b,   z = [ĉ_1 … ĉ_m]     equation 5, r dropout; each row of W at most `max_norm` long (section 2.1)

With two channels (section 2.1, `channels: 2`), every filter reads two copies of the word vectors, one that is trained
and one that is not. With `channels: 1`, `input.frozen` determines whether they are trained. Padding is excluded from
pooling, and a text shorter than a filter is padded with zeros to its width.

Shape legend: B rows, T positions, D width of the embedding, F filters of a width, L positions of a filter, C labels.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.models.classification.classifier import Explained, Favourite
from langladder.models.classification.neural_classifier import Reading, collate
from langladder.models.classification.reading_network import ReadingConfig, ReadingNetwork
from langladder.nn.pooling import Pool, Pooling
from langladder.nn.text_convolution import Padding, TextConvolution, zeros_around
from langladder.text.labelled.labelled import Example


class TextCNNConfig(ReadingConfig):
    """Settings of `TextCNN`."""

    widths: list[int] = Field(default=[3, 4, 5], min_length=1, max_length=16)  # filter widths in words
    filters: int = Field(default=100, ge=1, le=4096)  # filters of each width
    padding: Padding = "valid"
    pooling: Pooling = "max"
    k: int = Field(default=2, ge=1, le=64)  # kept values, with pooling=k_max
    parts: int = Field(default=2, ge=1, le=64)  # parts of the text, with pooling=chunked
    channels: int = Field(default=1, ge=1, le=2)


class TextCNN(ReadingNetwork):
    """Embedding → filters of several widths → pooling → output."""

    approach = "convolutional"
    Config: ClassVar[type[schema.Config]] = TextCNNConfig
    config: TextCNNConfig
    static: torch.Tensor

    def __init__(self, config: TextCNNConfig, vocab_size: int, number_of_labels: int) -> None:
        super().__init__(config, vocab_size, number_of_labels)
        D = config.embedding_dim * config.channels
        self.convolution = TextConvolution(config.widths, filters=config.filters, input_width=D, padding=config.padding)
        self.pools = nn.ModuleList(
            Pool(config.pooling, features=config.filters, k=config.k, parts=config.parts) for _ in config.widths
        )
        if config.channels == 2:
            self.register_buffer("static", self.embedding.weight.detach().clone())  # (V, D), never trained
        self.finish(sum(pool.width for pool in self.pools))  # type: ignore[misc]

    def start(self) -> None:
        """See `NeuralClassifier.start`: the second channel is the initial state of the first."""
        if self.config.channels == 2:
            self.static.copy_(self.embedding.weight.detach())

    def embed(self, batch: Reading) -> torch.Tensor:
        """See `ReadingNetwork.embed`; both channels concatenated: (B, T, D · channels)."""
        x = super().embed(batch)
        if self.config.channels == 1:
            return x
        return torch.cat([x, self.input_dropout(nn.functional.embedding(batch.tokens, self.static))], dim=-1)

    def read(self, batch: Reading) -> torch.Tensor:
        """See `ReadingNetwork.read`: z (B, R)."""
        features = self.convolution(self.embed(batch), batch.mask)
        # ĉ = pool_i ReLU(w · x_{i:i+h−1} + b)
        pooled = [pool(torch.relu(c), there) for pool, (c, there) in zip(self.pools, features, strict=True)]
        return torch.cat(pooled, dim=1)

    @torch.no_grad()
    def favourites(self, examples: Sequence[Example], top: int = 5) -> list[Favourite]:
        """For each filter, the n-grams of the examples' texts with its highest values, each n-gram once.

        Filters are ordered by width, then by number. The label is the one for which the filter's largest value has the
        highest weight.
        """
        self.eval()
        kept: list[list[dict[str, float]]] = [[{} for _ in range(self.config.filters)] for _ in self.config.widths]
        for example in examples:
            pieces = self.as_read(example).pieces
            batch = collate([self.encode(example)])
            for own, width, (c, _) in zip(
                kept, self.config.widths, self.convolution(self.embed(batch), batch.mask), strict=True
            ):
                before = zeros_around(width, self.config.padding)[0]
                values = torch.relu(c[0]).numpy()  # (L, F)
                positions = np.argsort(-values, axis=0, kind="stable")[:top]  # (≤ top, F)
                for number, best in enumerate(own):
                    for position in positions[:, number]:
                        ngram = " ".join(pieces[max(0, position - before) : position - before + width])
                        best[ngram] = max(best.get(ngram, 0.0), float(values[position, number]))
                    if len(best) > 8 * top:
                        own[number] = dict(sorted(best.items(), key=lambda item: -item[1])[:top])
        return [
            self._favourite(position, number, best, top)
            for position, own in enumerate(kept)
            for number, best in enumerate(own)
        ]

    def _favourite(self, position: int, number: int, favourites: dict[str, float], top: int) -> Favourite:
        best = sorted((item for item in favourites.items() if item[1] > 0), key=lambda item: (-item[1], item[0]))[:top]
        features = self.head.weight.shape[1] // (4 if self.config.pairs == "compared" else 1) // len(self.pools)
        columns = torch.arange(position * features + number, (position + 1) * features, self.config.filters)
        label = int(self.head.weight[:, columns].sum(dim=1).argmax())
        ngrams, values = [ngram for ngram, _ in best], [value for _, value in best]
        return Favourite(self.config.widths[position], number, self.labels[label], ngrams, values)

    @torch.no_grad()
    def attention(self, example: Example) -> Explained | None:
        """With attentive pooling, the weight of each word in the pooled vectors, sum 1; else None.

        The weight of a position is divided evenly among the words that the filter reads there.
        """
        if self.config.pooling != "attentive" or self.config.pairs == "compared":
            return None
        self.eval()
        pieces, batch = self.as_read(example).pieces, collate([self.encode(example)])
        total = np.zeros(len(pieces))
        features = self.convolution(self.embed(batch), batch.mask)
        for width, pool, (c, there) in zip(self.config.widths, self.pools, features, strict=True):
            assert isinstance(pool, Pool)
            before = zeros_around(width, self.config.padding)[0]
            for position, weight in enumerate(pool.weights(torch.relu(c), there)[0].tolist()):
                words = slice(max(0, position - before), min(len(pieces), position - before + width))
                total[words] += weight / (words.stop - words.start) / len(self.pools)
        return Explained(pieces, total.tolist())
