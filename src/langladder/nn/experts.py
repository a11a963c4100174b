"""Feed-forward networks: one for all tokens, or a mixture of experts (Shazeer et al. 2017; Fedus et al. 2022, Switch).

    p = softmax(W_r x)                       the router's weights of the n experts
    y = Σ_{i ∈ top k of p} g_i E_i(x)        each token is sent to the k experts with the largest p_i
    g_i = p_i / Σ_{j ∈ top k} p_j            (Shazeer et al., section 2.1); with k = 1 g_i = p_i (Switch, equation 2),
                                             because a constant 1 would give the router no gradient

So a network has n times the parameters, and a token costs k experts. Without a second loss the router would send all
tokens to a few experts, which only then learn. Load balancing (Switch, equations 4 to 6), in training only:

    L = α n Σ_i f_i P_i     f_i: share of the choices that fall on expert i;   P_i: mean of p_i over the tokens

L is α where all experts get the same. Only P has a gradient. Differs from the papers: no noise is added to the scores,
and no expert has a capacity, so no token is dropped and a token's output does not depend on the others.

Shape legend: N tokens, D width, n experts, k of them per token.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


def feed_forward(x: Tensor, expand: nn.Linear, gate: nn.Linear | None, contract: nn.Linear) -> Tensor:
    """W₂ GELU(W₁ x), or with a gate W₂ (SiLU(W₃ x) ⊙ W₁ x): (…, D) → (…, D)."""
    expanded = expand(x)  # (…, inner)
    inner = functional.gelu(expanded, approximate="tanh") if gate is None else functional.silu(gate(x)) * expanded
    result: Tensor = contract(inner)
    return result


class Expert(nn.Module):
    """E_i: a feed-forward network."""

    def __init__(self, width: int, inner: int, *, gated: bool, bias: bool) -> None:
        super().__init__()
        self.expand, self.contract = nn.Linear(width, inner, bias=bias), nn.Linear(inner, width, bias=bias)
        self.gate = nn.Linear(width, inner, bias=bias) if gated else None

    def forward(self, x: Tensor) -> Tensor:
        """(N, D) → (N, D)."""
        return feed_forward(x, self.expand, self.gate, self.contract)


class Experts(nn.Module):
    """A router and n experts.

    Args:
        width: D. inner, gated, bias: of each expert. experts: n. active: k.
    """

    def __init__(self, *, width: int, inner: int, gated: bool, bias: bool, experts: int, active: int) -> None:
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)  # W_r
        self.experts = nn.ModuleList(Expert(width, inner, gated=gated, bias=bias) for _ in range(experts))
        self.active = active
        self._balance: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        """(…, D) → (…, D)."""
        flat = x.flatten(0, -2)  # (N, D)
        p, gates = self.weights(flat)  # (N, n) each
        if self.training:
            # n Σ f P
            f = (gates > 0).float().mean(dim=0) / self.active  # (n,)
            self._balance = len(self.experts) * (f * p.mean(dim=0)).sum()
        y = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            # The shapes of an exported graph do not depend on values: there each expert reads all tokens.
            all_tokens = torch.compiler.is_exporting()
            rows = torch.arange(len(flat)) if all_tokens else gates[:, number].nonzero()[:, 0]  # (≤ N,)
            y = y.index_add(0, rows, (gates[rows, number, None] * expert(flat[rows])).to(y.dtype))
        return y.view(x.shape)

    def weights(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """p, and g with 0 for the experts that a token is not sent to: (N, D) → (N, n) each, in float32."""
        p = torch.softmax(self.router(x).float(), dim=-1)  # (N, n)
        best, chosen = p.topk(self.active, dim=-1)  # (N, k)
        if self.active > 1:
            best = best / best.sum(dim=-1, keepdim=True)
        return p, torch.zeros_like(p).scatter(1, chosen, best)

    def take_balance(self) -> Tensor | float:
        """L / α of the last tokens in training, once; 0 where there were none since the last call."""
        balance, self._balance = self._balance, None
        return 0.0 if balance is None else balance
