"""One layer of the Transformer's encoder and of its decoder (Vaswani et al. 2017, figure 1).

A sublayer F is self-attention, attention to the source, or FFN(x) = W_2 max(0, W_1 x + b_1) + b_2 (section 3.3), and

    post-norm   x ← LN(x + F(x))      the paper: the path from output to input passes through every norm
    pre-norm    x ← x + F(LN(x))      Xiong et al. 2020: no norm is on that path, so deep stacks train without warm-up;
                                      the stack ends with one more norm
    none        x ← x + F(x)          for ablations only

with dropout on F(x) before the addition, on the attention weights, and inside the FFN. Whole rows are packed without
padding (`packing`); a decoding step reads one position of each row.

One layer of BERT (Devlin et al. 2019, section 3): the post-norm encoder layer with GELU, on packed positions.

    post-norm   a = LN(x + Attention(x)),   x' = LN(a + W_2 GELU(W_1 a + b_1) + b_2)
    pre-norm    a = x + Attention(LN(x)),   x' = a + W_2 GELU(W_1 LN(a) + b_1) + b_2

It differs from `EncoderLayer` in its GELU (the exact one, x Φ(x)), the ε of its norms, the single projection for Q, K
and V, and its input of packed positions (`packing`). If only some positions are read afterwards, for example from the
last layer in training, the computations after the attention are only done for these: the same numbers with less work.

Shape legend: B rows, T (target) positions, S source positions, N and M the same without padding, D width, h heads, d =
D/h.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from langladder.nn.dropout import Dropout
from langladder.nn.multi_head_attention import Heads, MultiHeadAttention, attend
from langladder.nn.packing import Layout

NORM_EPS = 1e-6

Norm = Literal["post", "pre", "none"]


class Residual(nn.Module):
    """The norm, dropout and residual connection around a sublayer F: `read` is applied before it, `add` after it."""

    def __init__(self, width: int, dropout: float, *, norm: Norm) -> None:
        super().__init__()
        self.norm = nn.Identity() if norm == "none" else nn.LayerNorm(width, NORM_EPS)
        self.dropout, self.pre_norm = Dropout(dropout), norm == "pre"

    def read(self, x: Tensor) -> Tensor:
        """The input of F: x, or LN(x)."""
        a: Tensor = self.norm(x) if self.pre_norm else x
        return a

    def add(self, x: Tensor, change: Tensor) -> Tensor:
        """x plus F's result: LN(x + F(x)), or x + F(LN(x)), or without a norm x + F(x)."""
        total = x + self.dropout(change)
        result: Tensor = total if self.pre_norm else self.norm(total)
        return result


class FeedForward(nn.Module):
    """FFN(x) = W_2 max(0, W_1 x + b_1) + b_2, the same at every position."""

    def __init__(self, width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.expand, self.contract, self.dropout = nn.Linear(width, inner), nn.Linear(inner, width), Dropout(dropout)
        for layer in (self.expand, self.contract):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) → (…, D)."""
        result: Tensor = self.contract(self.dropout(torch.relu(self.expand(x))))
        return result


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network.

    Args:
        width: D. heads: h. inner: of the FFN. scaled: see `MultiHeadAttention`.
    """

    def __init__(self, *, width: int, heads: int, inner: int, dropout: float, norm: Norm, scaled: bool) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width=width, heads=heads, dropout=dropout, scaled=scaled)
        self.feed = FeedForward(width, inner, dropout)
        self.around_attention, self.around_feed = (Residual(width, dropout, norm=norm) for _ in range(2))

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        """(M, D) → (M, D)."""
        a = self.around_attention.read(x)
        x = self.around_attention.add(x, self.attention(a, a, layout, layout))
        return self.around_feed.add(x, self.feed(self.around_feed.read(x)))


def encoder_layers(
    number: int, *, width: int, heads: int, inner: int, dropout: float, norm: Norm, scaled: bool = True
) -> nn.ModuleList:
    """A stack of layers without its last norm. For arguments see `EncoderLayer`."""
    return nn.ModuleList(
        EncoderLayer(width=width, heads=heads, inner=inner, dropout=dropout, norm=norm, scaled=scaled)
        for _ in range(number)
    )


def last_norm(width: int, norm: Norm) -> nn.Module:
    """The norm behind a stack: that of pre-norm; else none."""
    return nn.LayerNorm(width, NORM_EPS) if norm == "pre" else nn.Identity()


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the source, feed-forward network. For arguments see `EncoderLayer`."""

    def __init__(self, *, width: int, heads: int, inner: int, dropout: float, norm: Norm, scaled: bool) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width=width, heads=heads, dropout=dropout, scaled=scaled)
        self.cross = MultiHeadAttention(width=width, heads=heads, dropout=dropout, scaled=scaled)
        self.feed = FeedForward(width, inner, dropout)
        self.around_attention, self.around_cross, self.around_feed = (
            Residual(width, dropout, norm=norm) for _ in range(3)
        )

    def forward(self, x: Tensor, layout: Layout, memory: Tensor, source: Layout) -> Tensor:
        """All positions at once: x (N, D) of right-padded rows and the encoder's memory (M, D) → (N, D)."""
        a = self.around_attention.read(x)
        x = self.around_attention.add(x, self.attention(a, a, layout, layout, causal=True))
        x = self.around_cross.add(x, self.cross(self.around_cross.read(x), memory, layout, source))
        return self.around_feed.add(x, self.feed(self.around_feed.read(x)))

    def step(
        self, x: Tensor, past: tuple[Tensor, Tensor], source: tuple[Tensor, Tensor], mask: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor], Tensor]:
        """One position, given the keys and values of the previous ones.

        Args:
            x: (B, 1, D); past: (B, h, t, d) each.
            source: keys and values (B, h, S, d) from `cross.keys_values`; mask: (B, 1, 1, S).

        Returns:
            (B, 1, D), the past with one more position, the attention weights of the source (B, h, 1, S).
        """
        a = self.around_attention.read(x)
        new = self.attention.keys_values(a)  # (B, h, 1, d) each
        keys, values = (torch.cat([old.to(entry.dtype), entry], dim=2) for old, entry in zip(past, new, strict=True))
        x = self.around_attention.add(x, self.attention.forward_cached(a, keys, values))
        change, weights = self.cross.forward_equation(self.around_cross.read(x), *source, mask)
        x = self.around_cross.add(x, change)
        return self.around_feed.add(x, self.feed(self.around_feed.read(x))), (keys, values), weights


BERT_NORM_EPS = 1e-12


class PackedSelfAttention(Heads):
    """Every position of a row attends to all positions. For arguments see `MultiHeadAttention`."""

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__(heads=heads, dropout=dropout)
        self.project = nn.Linear(width, 3 * width)  # W_Q, W_K, W_V
        self.output = nn.Linear(width, width)  # W_O

    def forward(self, x: Tensor, layout: Layout, wanted: Tensor | None = None) -> Tensor:
        """(N, D) → (N, D), or (M, D) for the `wanted` positions (M,) among the N; with the fused kernel."""
        query, key, value = self.project(x).chunk(3, dim=-1)  # (N, D) each
        mixed = self.mix_packed(query, key, value, layout, layout, causal=False)
        output: Tensor = self.output(mixed if wanted is None else mixed.index_select(0, wanted))
        return output

    def forward_equation(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """The same without dropout, by the equation: (N, D) → (N, D), and the weights (B, h, T, T)."""
        query, key, value = map(self.split, layout.spread(self.project(x)).chunk(3, dim=-1))  # (B, h, T, d) each
        mixed, weights = attend(query, key, value, layout.mask)
        return self.output(layout.pack(mixed.transpose(1, 2).flatten(2))), weights


class BERTLayer(nn.Module):
    """Self-attention, then the feed-forward network, with a norm after each, or before each.

    Args:
        width: D. heads: h. inner: width of the feed-forward network. dropout: on sublayers' results; attention_dropout:
            on attention weights. pre_norm: norms before the sublayers; false: after them, as in BERT.
    """

    def __init__(
        self, *, width: int, heads: int, inner: int, dropout: float, attention_dropout: float, pre_norm: bool = False
    ) -> None:
        super().__init__()
        self.pre_norm = pre_norm
        self.attention = PackedSelfAttention(width=width, heads=heads, dropout=attention_dropout)
        self.norm_attention, self.norm_feed = (nn.LayerNorm(width, BERT_NORM_EPS) for _ in range(2))
        self.expand, self.contract = nn.Linear(width, inner), nn.Linear(inner, width)
        self.activation = nn.GELU()
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, layout: Layout, wanted: Tensor | None = None) -> Tensor:
        """(N, D) → (N, D), or (M, D) of the `wanted` positions (M,) among the N."""
        mixed = self.attention(self._read(x), layout, wanted)
        return self._feed(x if wanted is None else x.index_select(0, wanted), mixed, self._add)

    def forward_at(self, x: Tensor, layout: Layout, wanted: Tensor) -> Tensor:
        """The rows of `forward(x, layout)` at the `wanted` positions, (N, D) → (M, D), dropout included.

        With `wanted`, `forward` draws dropout masks only for these rows. This method draws them for all N, so that
        training continues with the same random numbers as if all rows had been computed.
        """

        def add(base: Tensor, rows: Tensor) -> Tensor:
            dropped: Tensor = self.dropout(x.new_zeros(x.shape).index_copy(0, wanted, rows))  # (N, D)
            return base + dropped.index_select(0, wanted)

        return self._feed(x.index_select(0, wanted), self.attention(self._read(x), layout, wanted), add)

    def forward_equation(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """The same with attention by the equation: (N, D) → (N, D), and the weights (B, h, T, T)."""
        mixed, weights = self.attention.forward_equation(self._read(x), layout)
        return self._feed(x, mixed, self._add), weights

    def _read(self, x: Tensor) -> Tensor:
        read: Tensor = self.norm_attention(x) if self.pre_norm else x
        return read

    def _add(self, x: Tensor, change: Tensor) -> Tensor:
        total: Tensor = x + self.dropout(change)
        return total

    def _feed(self, x: Tensor, mixed: Tensor, add: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        a = add(x, mixed)
        if self.pre_norm:
            # x' = a + W_2 GELU(W_1 LN(a) + b_1) + b_2
            return add(a, self._feed_forward(self.norm_feed(a)))
        # a = LN(x + Attention(x))
        a = self.norm_attention(a)
        # x' = LN(a + W_2 GELU(W_1 a + b_1) + b_2)
        result: Tensor = self.norm_feed(add(a, self._feed_forward(a)))
        return result

    def _feed_forward(self, a: Tensor) -> Tensor:
        change: Tensor = self.contract(self.activation(self.expand(a)))
        return change
