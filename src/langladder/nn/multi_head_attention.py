"""Multi-head attention (Vaswani et al. 2017, section 3.2), in two forms that agree.

    head_i = softmax(Q_i K_iᵀ / √d + M) V_i,   output = [head_1 ; … ; head_h] W_O
    Q = X W_Q,   K = Y W_K,   V = Y W_V,   each cut into h parts of width d = D/h

With Y = X it is self-attention; with Y the encoder's output, it is a decoder's attention to the source. M = 0 where
attention is allowed, −∞ elsewhere. `attend` is the equation, line by line. Training uses torch's fused kernel, which
never writes the T × S weights to memory. K and V do not depend on the query, so decoding caches them and only appends
to them (the KV cache): a new token costs one row, not T.

Rotary positions (Su et al. 2021, section 3.2) rotate queries and keys, and add no vector to x. At position p the
i-th pair of entries is rotated by the angle p θᵢ, θᵢ = base^(−2i/d), so a score depends on the distance only:

    R_p = rotations by p θ₀, p θ₁, …,   (R_p q) · (R_s k) = q · R_(s−p) k

In the paper a pair is two neighbours. Here, as in transformers, it is entries i and i + d/2, which is the same up to
the order of the rows of W_Q and W_K.

Grouped queries (Ainslie et al. 2023): keys and values have g < h heads, and h/g heads of queries share each of them;
g = 1 is multi-query attention (Shazeer 2019). The cache, W_K and W_V become smaller.

Shape legend: B rows, T queries, S memory positions, D width, h heads, g heads of keys and values, d = D/h, w window,
N blocks; packed: N real tokens of all rows.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from langladder.nn.dropout import Dropout
from langladder.nn.packing import Layout
from langladder.nn.token_embedding import sinusoidal

Past = tuple[Tensor, Tensor]
"""Keys and values of the previous positions, (B, h, S, d) each; (B, g, S, d) with grouped queries."""


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: nn.Module | None = None
) -> tuple[Tensor, Tensor]:
    """The equation: (…, T, d), (…, S, d), (…, S, d), mask (…, T, S) → output (…, T, d), weights (…, T, S)."""
    scores = (query / math.sqrt(query.shape[-1])) @ key.mT  # (…, T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return (weights if dropout is None else dropout(weights)) @ value, weights


def in_float32(x: Tensor) -> Tensor:
    """x in the precision for attention on a CPU: float32, because the fused kernel's gradient is 17 times slower in
    bfloat16."""
    return x.float() if x.device.type == "cpu" and x.dtype == torch.bfloat16 else x


class Heads(nn.Module):
    """Base of both modules: splitting the width into heads, the fused kernel, and joining the heads.

    Args:
        heads: h, a divisor of D; dropout: on the attention weights.
    """

    output: nn.Linear  # W_O

    def __init__(self, *, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, Dropout(dropout)

    def split(self, x: Tensor, heads: int | None = None) -> Tensor:
        """(B, T, D) → (B, h, T, d). Split first, then transpose: a plain reshape to (B, h, T, d) would mix
        positions."""
        B, T, D = x.shape
        heads = heads or self.heads
        return x.view(B, T, heads, D // heads).transpose(1, 2)

    def mix(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *, causal: bool) -> Tensor:
        """softmax(Q Kᵀ / √d + M) V by the fused kernel, (…, T, d), (…, S, d) → (…, T, d); dropout in training only."""
        if query.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            with torch.autocast("cpu", enabled=False):
                return self.mix(in_float32(query), in_float32(key), in_float32(value), mask, causal=causal)
        dropout = self.dropout.p if self.training else 0.0
        if dropout and query.device.type == "cpu":  # the fused kernel does not support this there
            allowed = banded(query.shape[-2], key.shape[-2], None) if causal else mask
            return attend(query, key, value, allowed, self.dropout)[0]
        return functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, dropout_p=dropout, is_causal=causal
        )

    def mix_packed(
        self, query: Tensor, key: Tensor, value: Tensor, layout: Layout, memory_layout: Layout, *, causal: bool
    ) -> Tensor:
        """The same for packed rows without padding, within each row: (N, D), (M, D), (M, D) → (N, D).

        Args:
            layout: the layout of the queries.
            memory_layout: the layout of keys and values; if `causal`, the same as `layout`, padded at the right.
        """
        q, k, v = (
            self.split(at.spread(x)) for x, at in ((query, layout), (key, memory_layout), (value, memory_layout))
        )
        mixed = self.mix(q, k, v, None if causal else memory_layout.mask, causal=causal)  # (B, h, T, d)
        return layout.pack(mixed.transpose(1, 2).flatten(2))

    def join(self, mixed: Tensor) -> Tensor:
        """[head_1 ; … ; head_h] W_O: (B, h, T, d) → (B, T, D)."""
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return output


class MultiHeadAttention(Heads):
    """h attention heads between any two sequences, each with its own projections.

    Args:
        width: D. heads: h. dropout: on the attention weights.
        scaled: whether scores are divided by √d; if not, the softmax of wide heads is nearly one-hot at the start.
    """

    def __init__(self, *, width: int, heads: int, dropout: float, scaled: bool = True) -> None:
        super().__init__(heads=heads, dropout=dropout)
        assert width % heads == 0, (width, heads)
        self.rescale = 1.0 if scaled else (width // heads) ** 0.5  # cancels the kernel's 1/√d
        self.query = nn.Linear(width, width)  # W_Q
        self.memory = nn.Linear(width, 2 * width)  # W_K, W_V
        self.output = nn.Linear(width, width)  # W_O
        for square in (self.query.weight, *self.memory.weight.chunk(2)):
            nn.init.xavier_uniform_(square, gain=0.5**0.5)  # like one matrix of 3D × D, which learns faster
        nn.init.xavier_uniform_(self.output.weight)
        for layer in (self.query, self.memory, self.output):
            nn.init.zeros_(layer.bias)

    def keys_values(self, memory: Tensor) -> Past:
        """K and V of a memory (B, S, D): (B, h, S, d) each."""
        keys, values = self.memory(memory).chunk(2, dim=-1)
        return self.split(keys), self.split(values)

    def forward(
        self, x: Tensor, memory: Tensor, layout: Layout, memory_layout: Layout, *, causal: bool = False
    ) -> Tensor:
        """Packed rows without padding, each attending to its own memory, with a fused kernel.

        Args:
            x: (N, D), the queries, and their layout. memory: (M, D), and its layout.
            causal: position t only sees 0 … t; then x and memory are the same rows, padded at the right.

        Returns:
            (N, D).
        """
        key, value = self.memory(memory).chunk(2, dim=-1)
        output: Tensor = self.output(
            self.mix_packed(self._queries(x), key, value, layout, memory_layout, causal=causal)
        )
        return output

    def forward_cached(self, x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Attention to a whole memory: (B, T, D), keys and values from `keys_values` → (B, T, D)."""
        return self.join(self.mix(self.split(self._queries(x)), keys, values, causal=False))

    def forward_equation(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Without dropout, by the equation: (B, T, D), mask broadcastable to (B, h, T, S) → (B, T, D), weights (B, h,
        T, S)."""
        mixed, weights = attend(self.split(self._queries(x)), keys, values, mask)
        return self.join(mixed), weights

    def _queries(self, x: Tensor) -> Tensor:
        queries: Tensor = self.query(x)  # (…, D)
        return queries if self.rescale == 1 else queries * self.rescale


class CausalSelfAttention(Heads):
    """Each position attends to itself and to the previous ones; Q, K and V are one projection.

    With a window, it is locally banded (Child et al. 2019; Brown et al. 2020, section 2.1): each position sees the last
    w positions. Long texts are then cut into blocks of w, each of which attends to itself and the previous block:
    O(T·w) instead of O(T²).

    Args:
        width: D; heads: h; dropout: on the attention weights.
        window: w ≥ 2, number of positions that each one sees, including itself; None: all.
        bias: whether the projections have a bias.
        key_value_heads: g, a divisor of h; None: h.
        rotary: R_p for every position; None: Q and K are not rotated.
    """

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        dropout: float,
        window: int | None = None,
        bias: bool = True,
        key_value_heads: int | None = None,
        rotary: "Rotary | None" = None,
    ) -> None:
        super().__init__(heads=heads, dropout=dropout)
        self.window, self.rotary, self.key_value_heads = window, rotary, key_value_heads or heads
        self.sizes = [width, *[width // heads * self.key_value_heads] * 2]  # h·d, g·d, g·d
        self.project = nn.Linear(width, sum(self.sizes), bias=bias)  # W_Q, W_K, W_V
        self.output = nn.Linear(width, width, bias=bias)  # W_O

    def forward(self, x: Tensor, past: Past | None = None) -> tuple[Tensor, Past]:
        """(B, T, D) and the `past` → (B, T, D) and the past for the next call; with the fused kernel."""
        query, key, value = self._projected(x)  # (B, h, T, d), (B, g, T, d) twice
        if past is not None:
            key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)  # (B, g, S+T, d)
        seen = key.shape[2]
        oldest = 0 if self.window is None else max(0, seen - self.window + 1)  # later tokens do not see further back
        kept = key[:, :, oldest:], value[:, :, oldest:]
        query, key, value = self._rotated(query, key, value)
        if past is None:
            mixed = self._mixed(query, key, value)
        else:
            alone = query.shape[2] == 1 and self.window is None  # the last token sees all positions
            mask = None if alone else banded(query.shape[2], seen, self.window, x.device)
            mixed = self.mix(query, key, value, mask, causal=False)
        return self.join(mixed), kept

    def forward_packed(self, x: Tensor, layout: Layout, wanted: Layout | None = None) -> Tensor:
        """Right-padded rows, packed, (N, D) → (N, D): each token attends within its own row.

        With `wanted`, only the results at these positions are returned; they attend to all tokens.
        """
        rows = self._mixed(*self._rotated(*self._projected(x, layout)))  # (B, h, T, d)
        mixed = layout.pack(rows.transpose(1, 2).flatten(2))  # (N, D)
        output: Tensor = self.output(mixed if wanted is None else layout.part(mixed, wanted))
        return output

    def forward_equation(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The same without past and dropout, by the equation: (B, T, D) → (B, T, D), weights (B, h, T, T)."""
        mixed, weights = attend(*self.vectors(x), banded(x.shape[1], x.shape[1], self.window, x.device))
        return self.join(mixed), weights

    def vectors(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values as the scores use them: (B, T, D) → (B, h, T, d) each."""
        return self._rotated(*self._projected(x))

    def _projected(self, x: Tensor, layout: Layout | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """(B, T, D), or (N, D) with its layout → (B, h, T, d), (B, g, T, d), (B, g, T, d)."""
        parts = torch.split(in_float32(self.project(x)), self.sizes, dim=-1)
        query, key, value = parts if layout is None else [layout.spread(part) for part in parts]
        groups = self.key_value_heads
        return self.split(query), self.split(key, groups), self.split(value, groups)

    def _rotated(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Q (B, h, T, d) of the last T of S positions and K, V (B, g, S, d) → rotated, and h heads of each.

        Keys are cached before their rotation. Only distances count, so positions are numbered from the oldest key in
        the cache.
        """
        if self.rotary is not None:
            seen = key.shape[2]
            query, key = self.rotary(query, seen - query.shape[2]), self.rotary(key, 0)
        if self.key_value_heads != self.heads:
            key, value = (part.repeat_interleave(self.heads // self.key_value_heads, dim=1) for part in (key, value))
        return query, key, value

    def _mixed(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Causal attention within T tokens, without past: (B, h, T, d) each → (B, h, T, d)."""
        if self.window is None or self.window >= query.shape[2]:
            return self.mix(query, key, value, causal=True)
        return self._in_blocks(query, key, value, self.window)

    def _in_blocks(self, query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
        """Banded attention, (B, h, T, d) each → (B, h, T, d): every block of w attends to itself and the previous
        one."""
        B, heads, T, d = query.shape
        parts = (functional.pad(part, (0, 0, 0, -T % window)) for part in (query, key, value))
        q, k, v = (part.reshape(B * heads, -1, window, d) for part in parts)  # (B·h, N, w, d) each
        # zeros before the first block
        before = [functional.pad(part, (0, 0, 0, 0, 1, 0))[:, :-1] for part in (k, v)]
        k, v = torch.cat([before[0], k], dim=2), torch.cat([before[1], v], dim=2)  # (B·h, N, 2w, d)
        mask = banded(window, 2 * window, window, query.device).repeat(q.shape[1], 1, 1)  # (N, w, 2w)
        mask[0, :, :window] = False
        mixed = self.mix(q, k, v, mask, causal=False)
        return mixed.reshape(B, heads, -1, d)[:, :, :T]


class Rotary(nn.Module):
    """R_p x of every position: x cos(p θ) + [−x₂ ; x₁] sin(p θ), for x = [x₁ ; x₂] in two halves.

    Args:
        length: number of positions. size: d, even. base: a larger one rotates more slowly.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, length: int, size: int, base: float) -> None:
        super().__init__()
        table = sinusoidal(length, size, base)  # (P, d): sin, cos, sin, cos, …
        self.register_buffer("sin", table[:, 0::2].repeat(1, 2), persistent=False)  # (P, d)
        self.register_buffer("cos", table[:, 1::2].repeat(1, 2), persistent=False)

    def forward(self, x: Tensor, first: int) -> Tensor:
        """(B, h, T, d) at positions first, first + 1, … → (B, h, T, d)."""
        sin, cos = (table[first : first + x.shape[2]] for table in (self.sin, self.cos))  # (T, d)
        entry, two = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-two, entry], dim=-1) * sin


def banded(queries: int, keys: int, window: int | None, device: torch.device | None = None) -> Tensor:
    """(queries, keys) bool, true where attention is allowed, for the last `queries` of `keys` positions.

    Position t sees t − window + 1 … t; without a window 0 … t, so that the future cannot change the past.
    """
    t = torch.arange(keys - queries, keys, device=device)[:, None]  # (T, 1)
    s = torch.arange(keys, device=device)  # (S,)
    return s <= t if window is None else (s <= t) & (s > t - window)


def source_mask(mask: Tensor) -> Tensor:
    """A mask of source positions, (B, S) bool, broadcastable over heads and queries: (B, 1, 1, S)."""
    return mask[:, None, None, :]
