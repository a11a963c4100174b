"""One layer of BERT (Devlin et al. 2019, section 3): the post-norm encoder layer with GELU, on packed positions.

    a = LN(x + Attention(x)),   x' = LN(a + W_2 GELU(W_1 a + b_1) + b_2)

It differs from `transformer_layers.EncoderLayer` in its GELU (the exact one, x Φ(x)), in the ε of its norms, in one
projection for Q, K and V, and in reading packed positions (`packing`). Where only some positions are read afterwards,
as of the last layer in training, everything behind the attention is computed for these alone: the same numbers, less
work.

Shape legend: B rows, T positions, N packed positions, M wanted ones, D width, h heads, d = D/h.
"""

from collections.abc import Callable

from torch import Tensor, nn

from langladder.nn.dropout import Dropout
from langladder.nn.multi_head_attention import Heads, attend
from langladder.nn.packing import Layout

NORM_EPS = 1e-12


class PackedSelfAttention(Heads):
    """Every position of a row sees all of them. Arguments as of `MultiHeadAttention`."""

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__(heads=heads, dropout=dropout)
        self.project = nn.Linear(width, 3 * width)  # W_Q, W_K, W_V
        self.output = nn.Linear(width, width)  # W_O

    def forward(self, x: Tensor, layout: Layout, wanted: Tensor | None = None) -> Tensor:
        """(N, D) → (N, D), or (M, D) of the `wanted` positions (M,) among the N; through the fused kernel."""
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
    """Self-attention, then the feed-forward network, a norm after each.

    Args:
        width: D. heads: h. inner: of the feed-forward network. dropout: of sublayers' results; attention_dropout: of
            its weights.
    """

    def __init__(self, *, width: int, heads: int, inner: int, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.attention = PackedSelfAttention(width=width, heads=heads, dropout=attention_dropout)
        self.norm_attention, self.norm_feed = (nn.LayerNorm(width, NORM_EPS) for _ in range(2))
        self.expand, self.contract = nn.Linear(width, inner), nn.Linear(inner, width)
        self.activation = nn.GELU()
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, layout: Layout, wanted: Tensor | None = None) -> Tensor:
        """(N, D) → (N, D), or (M, D) of the `wanted` positions (M,) among the N."""
        mixed = self.attention(x, layout, wanted)
        return self._feed(x if wanted is None else x.index_select(0, wanted), mixed, self._add)

    def forward_at(self, x: Tensor, layout: Layout, wanted: Tensor) -> Tensor:
        """The rows of `forward(x, layout)` at the `wanted` positions, (N, D) → (M, D), dropout included.

        With `wanted`, `forward` draws what is dropped for these rows alone; here for all N, so that a training goes on
        with the same random numbers as if all had been computed.
        """

        def add(base: Tensor, rows: Tensor) -> Tensor:
            dropped: Tensor = self.dropout(x.new_zeros(x.shape).index_copy(0, wanted, rows))  # (N, D)
            return base + dropped.index_select(0, wanted)

        return self._feed(x.index_select(0, wanted), self.attention(x, layout, wanted), add)

    def forward_equation(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """The same with attention by the equation: (N, D) → (N, D), and the weights (B, h, T, T)."""
        mixed, weights = self.attention.forward_equation(x, layout)
        return self._feed(x, mixed, self._add), weights

    def _add(self, x: Tensor, change: Tensor) -> Tensor:
        return x + self.dropout(change)

    def _feed(self, x: Tensor, mixed: Tensor, add: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        # a = LN(x + Attention(x))
        a = self.norm_attention(add(x, mixed))
        # x' = LN(a + W_2 GELU(W_1 a + b_1) + b_2)
        result: Tensor = self.norm_feed(add(a, self.contract(self.activation(self.expand(a)))))
        return result
