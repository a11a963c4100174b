"""Multi-head attention between any two sequences (Vaswani et al. 2017, section 3.2.2), in two forms that agree.

    head_i = softmax(Q_i K_iᵀ / √d + M) V_i,   output = [head_1 ; … ; head_h] W_O
    Q = X W_Q,   K = Y W_K,   V = Y W_V,   each cut into h parts of width d = D/h

With Y = X it is self-attention, with Y the encoder's output the decoder's look at the source. M = 0 where attention is
allowed, −∞ where it is not. `self_attention.attend` is the equation, line by line; torch's fused kernel trains.
K and V do not hang on the query: decoding keeps them (`keys_values`) and only adds to them.

Shape legend: B rows, T queries, S memory positions, D width, h heads, d = D/h.
"""

from torch import Tensor, nn
from torch.nn import functional

from langladder.nn.self_attention import attend


class MultiHeadAttention(nn.Module):
    """h attentions side by side, each on its own projection.

    Args:
        width: D. heads: h, a divisor of D. dropout: on the attention weights.
        scaled: whether scores are divided by √d; without, wide heads begin with a softmax that is nearly hard.
    """

    def __init__(self, *, width: int, heads: int, dropout: float, scaled: bool = True) -> None:
        super().__init__()
        assert width % heads == 0, (width, heads)
        self.heads, self.dropout = heads, dropout
        self.rescale = 1.0 if scaled else (width // heads) ** 0.5  # undoes the kernel's 1/√d
        self.query = nn.Linear(width, width)  # W_Q
        self.memory = nn.Linear(width, 2 * width)  # W_K, W_V
        self.output = nn.Linear(width, width)  # W_O
        for square in (self.query.weight, *self.memory.weight.chunk(2)):
            nn.init.xavier_uniform_(square, gain=0.5**0.5)  # as one matrix of 3D × D: learns sooner than three of D × D
        nn.init.xavier_uniform_(self.output.weight)
        for layer in (self.query, self.memory, self.output):
            nn.init.zeros_(layer.bias)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """K and V of a memory (B, S, D): (B, h, S, d) each."""
        keys, values = self.memory(memory).chunk(2, dim=-1)
        return self._split(keys), self._split(values)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, causal: bool = False) -> Tensor:
        """Through the fused kernel.

        Args:
            x: (B, T, D), what asks. keys, values: from `keys_values`.
            mask: bool, broadcastable to (B, h, T, S), true where attention is allowed; None = everywhere.
            causal: position t sees 0 … t only (then T = S and there is no mask).

        Returns:
            (B, T, D).
        """
        query = self._split(self.query(x)) * self.rescale  # (B, h, T, d)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(
            query, keys, values, attn_mask=mask, dropout_p=dropout, is_causal=causal
        )
        return self._join(mixed)

    def forward_equation(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same without dropout, by the equation: → (B, T, D), and the weights (B, h, T, S)."""
        mixed, weights = attend(self._split(self.query(x)) * self.rescale, keys, values, mask)
        return self._join(mixed), weights

    def _split(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, h, T, d). First cut, then turn: a plain reshape to (B, h, T, d) would mix positions."""
        B, T, D = x.shape
        return x.view(B, T, self.heads, D // self.heads).transpose(1, 2)

    def _join(self, mixed: Tensor) -> Tensor:
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))  # (B, T, D)
        return output


def source_mask(mask: Tensor) -> Tensor:
    """Which source positions exist, (B, S) bool, as every head and query of attention reads it: (B, 1, 1, S)."""
    return mask[:, None, None, :]
