"""BERT: a Transformer encoder trained on masked words (Devlin et al. 2019, sections 3 and 3.1).

    x⁰ = LN(E w + P + S)                                  word, position, segment
    xⁿ = layer(xⁿ⁻¹)                                      exact GELU (`nn.transformer_layers`); norm: post or pre
    masked word    P(w | rest) = softmax(E LN(GELU(W_m x + b_m)) + b)      only at the masked positions
    next sentence  P(follows)  = softmax(W_n tanh(W_p x_<cls> + b_p) + b_n)      not with `next_sentence: false`
    L = mean over masked positions − log P(w | rest)  +  mean over rows − log P(follows)

With `norm: pre` (Xiong et al. 2020), x⁰ = E w + P + S, each sublayer reads LN(x), and heads read LN(xᴺ). As in GPT-2,
the matrices that write to the residual path are scaled by 1/√(2N), and P begins half as long as E.

The output matrix is the embedding table. Initial biases are 0. Initial weights are N(0, 0.02) at the paper's width of
768; at other widths, the deviation is multiplied by √(768 / D), so that the initial attention of a narrow network is
not uniform. `next_sentence: false` omits the pooler and its classifier (RoBERTa, Liu et al. 2019, section 4.2).

The computation differs from the authors' code, but the result does not: positionwise operations skip padding, and the
last layer's feed-forward network and the words' scores are only computed at the positions that are read (`nn.packing`,
`nn.transformer_layers`, `nn.output`).

Shape legend: B rows, T positions, N packed positions, M masked ones, D width, V vocabulary, C context.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, Literal, Self, cast

import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn import functional

from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.encoders.encoder import Encoder, Masked, chosen_layers
from langladder.models.language.neural import scoring
from langladder.models.network import check_width, with_preset
from langladder.models.trial import words
from langladder.nn import packing
from langladder.nn.dropout import Dropout
from langladder.nn.output import SoftmaxOutput
from langladder.nn.packing import Layout
from langladder.nn.products import matrix_entries
from langladder.nn.transformer_layers import BERT_NORM_EPS, BERTLayer
from langladder.text.tokenize.specials import PAD


def _size(layers: int, width: int) -> dict[str, object]:
    return {"context": 512, "width": width, "layers": layers, "heads": width // 64, "dropout": 0.1}


PRESETS: dict[str, dict[str, object]] = {
    "tiny": _size(2, 128),
    "mini": _size(4, 256),
    "small": _size(4, 512),
    "medium": _size(8, 512),
    "base": _size(12, 768),
    "large": _size(24, 1024),
}
"""The BERTs of the papers, by name: Devlin et al. 2019 (base, large), Turc et al. 2019, table 1 (the smaller ones).

`preset: mini` in a BERT's settings selects these; other settings override them. The vocabulary is that of the
tokenizer: the papers' WordPiece has 30,522 entries, including five special tokens.

Counts are of all parameters with both heads, the tied output matrix once:

    embeddings   (V + C + 2) D + 2 D
    layers       N (12 D² + 13 D)
    pooler, NSP  D² + D + 2 D + 2
    MLM          D² + D + 2 D + V

The papers round these: 4.4, 11.3, 29.1, 41.7, 110.1 million. (Devlin et al. say 110 and 340 million.)
"""

INITIAL_STD = 0.02
PAPERS_WIDTH = 768
SEGMENTS = 2
MASKED_SHARE = 0.15


class BERTConfig(schema.Config):
    """Settings of `BERT`."""

    preset: Literal["tiny", "mini", "small", "medium", "base", "large"] | None = None
    """A size of the papers, see `PRESETS`; null: the settings below."""
    context: int = Field(default=128, ge=4, le=8192)
    width: int = Field(default=256, ge=2, le=16384)
    layers: int = Field(default=4, ge=1, le=128)
    heads: int = Field(default=4, ge=1, le=128)
    expansion: int = Field(default=4, ge=1, le=16)  # width of the feed-forward networks
    dropout: float = Field(default=0.1, ge=0, lt=1)  # dropout on embeddings and on sublayers' results
    attention_dropout: float | None = Field(default=None, ge=0, lt=1)  # of attention's weights; null: as `dropout`
    norm: Literal["post", "pre"] = "post"  # the norm after each sublayer's residual connection, or before each sublayer
    next_sentence: bool = True  # false: only masked words

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, values: object) -> object:
        return with_preset(values, PRESETS)

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_width(self.width, self.heads, "learned")
        return self


class BERT(Encoder):
    """Embeddings → N layers → masked words, and whether the second text follows the first."""

    approach = "Transformer"
    Config: ClassVar[type[schema.Config]] = BERTConfig
    shards: ClassVar[tuple[str, ...]] = ("layers",)
    tables: ClassVar[tuple[str, ...]] = ("position", "segment")
    config: BERTConfig

    def __init__(self, config: BERTConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        D = config.width
        self.context, self.width, self.number_of_layers = config.context, D, config.layers
        self.embedding = nn.Embedding(vocab_size, D)
        self.position = nn.Parameter(torch.empty(config.context, D))
        self.segment = nn.Parameter(torch.empty(SEGMENTS, D))
        self.pre_norm = config.norm == "pre"
        self.norm = nn.LayerNorm(D, BERT_NORM_EPS)  # of the embeddings; with pre-norm, of the last layer
        self.dropout = Dropout(config.dropout)
        attention = config.dropout if config.attention_dropout is None else config.attention_dropout
        self.layers = nn.ModuleList(
            BERTLayer(
                width=D,
                heads=config.heads,
                inner=config.expansion * D,
                dropout=config.dropout,
                attention_dropout=attention,
                pre_norm=self.pre_norm,
            )
            for _ in range(config.layers)
        )
        self.transform, self.activation = nn.Linear(D, D), nn.GELU()
        self.transform_norm = nn.LayerNorm(D, BERT_NORM_EPS)
        self.head = SoftmaxOutput(width=D, vocab_size=vocab_size, tied=self.embedding.weight)
        self.pooler = nn.Linear(D, D) if config.next_sentence else None
        self.next_head = nn.Linear(D, 2) if config.next_sentence else None
        self._initialise()

    @property
    def one_graph(self) -> bool:
        """See `Network.one_graph`."""
        return True

    def hidden(
        self,
        tokens: torch.Tensor,
        segments: torch.Tensor | None = None,
        *,
        mask: torch.Tensor | None = None,
        layers: Sequence[int] | None = None,
    ) -> list[torch.Tensor]:
        """See `Encoder.hidden`."""
        wanted = chosen_layers(layers, self.number_of_layers)
        layout = self._layout(tokens, mask)
        x = self._embedded(tokens, segments, layout)  # (N, D)
        kept = {0: x}
        for number, layer in enumerate(self.layers[: max(wanted, default=0)], start=1):
            x = layer(x, layout)
            if number in wanted:
                kept[number] = self.normed(x) if number == self.number_of_layers else x
        return [layout.spread(kept[number]) for number in wanted]

    def first(self, tokens: torch.Tensor, segments: torch.Tensor | None = None) -> torch.Tensor:
        """`hidden(tokens, segments)[-1][:, 0]`, the last layer's states at `<cls>`: (B, T) → (B, D).

        The parts of the last layer on which the states at `<cls>` do not depend are not computed.
        """
        layout = self._layout(tokens, None)
        x = self._embedded(tokens, segments, layout)
        *before, last = self.layers
        for layer in before:
            x = layer(x, layout)
        B, T = tokens.shape
        wanted = layout.rank(torch.arange(B, device=x.device) * T)
        return self.normed(cast("BERTLayer", last).forward_at(x, layout, wanted))

    @torch.no_grad()
    def attention(
        self, tokens: torch.Tensor, segments: torch.Tensor | None = None, *, mask: torch.Tensor | None = None
    ) -> list[torch.Tensor]:
        """Each layer's attention, by the equation, without dropout: (B, h, T, T); rows sum to 1 (undefined at
        padding)."""
        results = []
        with scoring(self, tokens.device.type):
            layout = self._layout(tokens, mask)
            x = self._embedded(tokens, segments, layout)
            for layer in self.layers:
                x, weights = cast("BERTLayer", layer).forward_equation(x, layout)
                results.append(weights)
        return results

    def pooled(self, last: torch.Tensor) -> torch.Tensor:
        """tanh(W_p x_<cls> + b_p) of the last layer's states: (B, T, D) → (B, D).

        Raises:
            InputError: the model has no pooler (next_sentence=false).
        """
        if self.pooler is None:
            raise InputError("model.next_sentence=false: this encoder has no pooler; read the first state itself")
        return torch.tanh(self.pooler(last[:, 0]))

    def normed(self, last: torch.Tensor) -> torch.Tensor:
        """The last layer's states as heads read them: LN(xᴺ) with norms before the sublayers, else xᴺ."""
        states: torch.Tensor = self.norm(last) if self.pre_norm else last
        return states

    def transformed(self, hidden: torch.Tensor) -> torch.Tensor:
        """LN(GELU(W_m x + b_m)), the input of the words' scores: (…, D) → (…, D)."""
        result: torch.Tensor = self.transform_norm(self.activation(self.transform(hidden)))
        return result

    def losses(self, batch: Masked) -> tuple[torch.Tensor, torch.Tensor | None]:
        """See `Encoder.losses`."""
        gaps, first = self._read(batch)
        loss = self.head.loss(self.transformed(gaps), batch.targets) / max(1, len(batch.targets))
        if self.pooler is None or not len(batch.strange):
            return loss, None
        return loss, functional.cross_entropy(self._next(first).float(), batch.strange)

    def scores(self, batch: Masked) -> torch.Tensor:
        """(M, V), whose log-softmax is log P at each masked place; differentiable."""
        scores: torch.Tensor = self.head(self.transformed(self._read(batch)[0]))
        return scores

    @torch.no_grad()
    def masked_log_probs(self, batch: Masked) -> torch.Tensor:
        """See `Encoder.masked_log_probs`."""
        with scoring(self, batch.tokens.device.type):
            return torch.log_softmax(self.scores(batch).float(), dim=-1)

    @torch.no_grad()
    def target_log_probs(self, batch: Masked) -> torch.Tensor:
        """log P(target | the rest) at each masked position, in slices: (M,) float32."""
        with scoring(self, batch.tokens.device.type):
            gaps, _ = self._read(batch)
            return self.head.target_log_probs(self.transformed(gaps), batch.targets)

    @torch.no_grad()
    def follow_log_probs(self, batch: Masked) -> torch.Tensor:
        """log P(the second text follows), log P(it comes from elsewhere) of each row: (B, 2) float32."""
        if self.pooler is None:
            raise InputError("model.next_sentence=false: this encoder was not trained to predict which text follows")
        with scoring(self, batch.tokens.device.type):
            return torch.log_softmax(self._next(self._read(batch)[1]).float(), dim=-1)

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`: pairs, 15 % masked."""
        tokens = words(rows, length, self.separator)  # (B, T)
        tokens[:, 0], tokens[:, length // 2], tokens[:, -1] = self.cls, self.separator, self.separator
        count = _masked(length)
        columns = torch.arange(count) * max(1, (length - 2) // count) + 1
        positions = (torch.arange(rows)[:, None] * length + columns.clamp(max=max(0, length - 2))).flatten()
        targets = words(rows, count, self.separator).flatten()
        tokens.view(-1)[positions] = self.mask
        segments = (torch.arange(length) > length // 2).long().expand(rows, -1)
        strange = torch.arange(rows if self.pooler is not None else 0) % 2
        first, second = self.losses(Masked(tokens, segments, positions, targets, strange))
        return first if second is None else first + second

    def products(self, length: int) -> float:
        """See `Network.products`: the matrices, and for each layer T² scores and T² weighted values of width D.

        In the last layer, the part after the attention is only computed for the masked positions and `<cls>`.
        """
        D, count = self.width, _masked(length)
        read = count + (self.pooler is not None)
        layer = matrix_entries(self.layers[-1])
        total = float((self.number_of_layers - 1) * layer * length)
        total += 3 * D * D * length + (layer - 3 * D * D) * read
        total += 2 * self.number_of_layers * length**2 * D
        total += count * (D * D + self.head.products())
        return total + (0 if self.pooler is None else D * D + 2 * D)

    def _layout(self, tokens: torch.Tensor, mask: torch.Tensor | None) -> Layout:
        if tokens.shape[1] > self.context:
            raise InputError(f"{tokens.shape[1]} tokens exceed the encoder's context of {self.context}")
        packed = not packing.fixed_shapes(tokens)
        return Layout.of(tokens != PAD if mask is None else mask, packed=packed)

    def _embedded(self, tokens: torch.Tensor, segments: torch.Tensor | None, layout: Layout) -> torch.Tensor:
        """x⁰ of the packed positions, (N, D)."""
        columns = layout.columns(tokens.device)  # (N,)
        # x⁰ = LN(E w + P + S)
        x = self.embedding(layout.pack(tokens)) + functional.embedding(columns, self.position)  # (N, D)
        x = x + (self.segment[0] if segments is None else functional.embedding(layout.pack(segments), self.segment))
        embedded: torch.Tensor = self.dropout(x if self.pre_norm else self.norm(x))
        return embedded

    def _read(self, batch: Masked) -> tuple[torch.Tensor, torch.Tensor]:
        """The last layer's states at the masked positions (M, D) and, if rows are pairs, at `<cls>` (B, D)."""
        layout = self._layout(batch.tokens, None)
        x = self._embedded(batch.tokens, batch.segments, layout)
        *before, last = self.layers
        for layer in before:
            x = layer(x, layout)
        B, T = batch.tokens.shape
        firsts = torch.arange(B if self.pooler is not None else 0, device=x.device) * T
        wanted = layout.rank(torch.cat([batch.positions, firsts]))
        read = self.normed(last(x, layout, wanted))  # (M + B, D)
        return read[: len(batch.positions)], read[len(batch.positions) :]

    def _next(self, first: torch.Tensor) -> torch.Tensor:
        assert self.pooler is not None
        assert self.next_head is not None
        scores: torch.Tensor = self.next_head(torch.tanh(self.pooler(first)))  # (B, 2)
        return scores

    @property
    def initial_std(self) -> float:
        """Standard deviation of the initial weights."""
        return INITIAL_STD * math.sqrt(PAPERS_WIDTH / self.width)

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=self.initial_std)
                nn.init.zeros_(module.bias)
        if self.pre_norm:  # as in GPT, because 2N sublayers are summed
            for module in self.modules():
                if isinstance(module, BERTLayer):
                    for writer in (module.attention.output, module.contract):
                        nn.init.normal_(writer.weight, std=self.initial_std / (2 * self.number_of_layers) ** 0.5)
        nn.init.normal_(self.embedding.weight, std=self.initial_std)
        nn.init.normal_(self.position, std=self.initial_std / (2 if self.pre_norm else 1))
        nn.init.normal_(self.segment, std=self.initial_std)


def _masked(length: int) -> int:
    """Average number of masked positions per row in training."""
    return max(1, round(MASKED_SHARE * length))
