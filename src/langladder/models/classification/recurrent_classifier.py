"""A recurrent reader: n words in, one label out (RNN n–1), in one direction or two, one layer or several.

    h_t = f(e_t, h_{t−1})                                     Elman (1990), GRU (Cho et al. 2014), LSTM
    both directions   h_t = [→h_t ; ←h_t]                     Schuster & Paliwal 1997
    deep              layer l reads h_t of layer l − 1        Graves et al. 2013
    r = h_n, or [→h_n ; ←h_1], the end of each direction      `pooling: last`
    r = max_t h_t, mean_t h_t, …                              over all states (Conneau et al. 2017, section 3.2)

Each of two directions has half the width. Padding is never read before a word (`nn.recurrent.read_padded`), so by
default it does not matter where it stands. With `padding` the network reads zeros as words, as in Keras without a mask,
until each text has `max_length` words. With `post` they follow the last word, and the last state must remember the text
over them; with `pre` they come first (Dwarampudi & Reddy 2019).

Shape legend: B rows, T positions, M max_length, D width of the embedding, H width of both directions together.
"""

from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder.ground import schema
from langladder.models.classification.classifier import Explained
from langladder.models.classification.neural_classifier import Reading, collate
from langladder.models.classification.reading_network import WIDEST, ReadingConfig, ReadingNetwork
from langladder.nn.initialisation import begin_by_remembering, initialise
from langladder.nn.pooling import Pool, Pooling
from langladder.nn.recurrent import read_padded
from langladder.text.labelled.labelled import Example

Cell = Literal["rnn", "gru", "lstm"]
KINDS: dict[str, type[nn.RNN | nn.GRU | nn.LSTM]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class RecurrentReaderConfig(ReadingConfig):
    """Settings of networks that read with recurrent layers."""

    cell: Cell = "lstm"
    width: int = Field(default=128, ge=1, le=WIDEST)  # H, of both directions together
    layers: int = Field(default=1, ge=1, le=8)
    bidirectional: bool = False
    layer_dropout: float = Field(default=0.0, ge=0, lt=1)  # dropout between the layers
    pooling: Pooling | Literal["last"] = "last"
    k: int = Field(default=2, ge=1, le=64)  # kept values, with pooling=k_max
    parts: int = Field(default=2, ge=1, le=64)  # parts of the text, with pooling=chunked
    padding: Literal["none", "post", "pre"] = "none"  # zeros up to max_length that are read as words

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.padding != "none" and self.max_length is None:
            raise ValueError(
                f"padding={self.padding} fills each text to max_length, and max_length=null; set it, or padding to none"
            )
        if self.bidirectional and self.width % 2:
            raise ValueError(f"width={self.width} is odd, and bidirectional=true gives each direction half of it")
        if self.layer_dropout and self.layers == 1:
            raise ValueError(f"layer_dropout={self.layer_dropout} is between layers, but layers=1; set it to 0")
        return self


class RecurrentReader(nn.Module):
    """Recurrent layers and a pooling of their states: (B, T, I) → (B, `pool.width`)."""

    def __init__(self, config: RecurrentReaderConfig, input_width: int) -> None:
        super().__init__()
        directions = 2 if config.bidirectional else 1
        self.rnn = KINDS[config.cell](
            input_width,
            config.width // directions,
            config.layers,
            batch_first=True,
            bidirectional=config.bidirectional,
            dropout=config.layer_dropout,
        )
        for name, weight in self.rnn.named_parameters():
            gates = {"rnn": 1, "gru": 3, "lstm": 4}[config.cell]
            if name.startswith("weight"):
                initialise(weight, "orthogonal" if "_hh_" in name else "xavier", gates)
            else:
                nn.init.zeros_(weight)
        begin_by_remembering(self.rnn)
        self.width, self.padding, self.longest = config.width, config.padding, config.max_length
        self.pool: Pool | None = None
        if config.pooling != "last":
            self.pool = Pool(config.pooling, features=config.width, k=config.k, parts=config.parts)
            self.width = self.pool.width

    def forward(self, x: torch.Tensor, batch: Reading) -> torch.Tensor:
        """x (B, T, I) → (B, R)."""
        h, last = self.states(x, batch)
        if self.pool is None:
            # [→h_n ; ←h_1]
            return last
        pooled: torch.Tensor = self.pool(h, batch.mask)
        return pooled

    def states(self, x: torch.Tensor, batch: Reading) -> tuple[torch.Tensor, torch.Tensor]:
        """x (B, T, I) → h (B, T, H), meaningless at padding, and the end states of the directions (B, H)."""
        if self.padding == "none":
            return read_padded(self.rnn, x, batch.lengths)
        assert self.longest is not None
        lengths, longest = batch.lengths.to(x.device)[:, None], self.longest
        before = longest - lengths if self.padding == "pre" else torch.zeros_like(lengths)  # (B, 1)
        position = torch.arange(longest, device=x.device) - before  # (B, M): the word of the text at each position
        inside = ((position >= 0) & (position < lengths))[..., None]
        source = position.clamp(0, x.shape[1] - 1)[..., None]  # (B, M, 1)
        filled = x.gather(1, source.expand(-1, -1, x.shape[2])) * inside  # (B, M, I)
        h, last = read_padded(self.rnn, filled, torch.full_like(batch.lengths, longest))
        own = (torch.arange(x.shape[1], device=x.device) + before).clamp(max=longest - 1)[..., None]  # (B, T, 1)
        return h.gather(1, own.expand(-1, -1, h.shape[2])), last


class RecurrentClassifier(ReadingNetwork):
    """Embedding → recurrent layers → last state, or a pooling of all states → output."""

    approach = "recurrent"
    Config: ClassVar[type[schema.Config]] = RecurrentReaderConfig
    config: RecurrentReaderConfig

    def __init__(self, config: RecurrentReaderConfig, vocab_size: int, number_of_labels: int) -> None:
        super().__init__(config, vocab_size, number_of_labels)
        self.reader = RecurrentReader(config, config.embedding_dim)
        self.finish(self.reader.width)

    def features(self, batch: Reading) -> torch.Tensor:
        """The input of the recurrent layers: (B, T, I)."""
        return self.embed(batch)

    def read(self, batch: Reading) -> torch.Tensor:
        """See `ReadingNetwork.read`."""
        r: torch.Tensor = self.reader(self.features(batch), batch)
        return r

    @torch.no_grad()
    def attention(self, example: Example) -> Explained | None:
        """With attentive pooling, the weight of each piece, sum 1; else None."""
        if self.config.pooling != "attentive" or self.config.pairs == "compared":
            return None
        self.eval()
        batch = collate([self.encode(example)])
        h, _ = self.reader.states(self.features(batch), batch)
        assert self.reader.pool is not None
        weights = self.reader.pool.weights(h, batch.mask)[0]  # (T,)
        return Explained(self.as_read(example).pieces, weights.tolist())
