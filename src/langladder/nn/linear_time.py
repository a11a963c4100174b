"""Recurrences that are linear in their state, computed for all steps at once: the scan, minGRU, Mamba's selective scan.

    h_t = a_t ⊙ h_{t−1} + b_t           a_t and b_t depend on the input alone

Scan (Blelloch 1990; Martin & Cundy 2018). Two steps in a row are one step of the same form,

    h_{t+1} = (a_{t+1} a_t) ⊙ h_{t−1} + (a_{t+1} b_t + b_{t+1})

so a sequence of T steps becomes one of T/2 whose states are every second state; the others follow in one step each.
T + T/2 + … < 2T steps in 2 log₂ T rounds. Nothing is divided and no logarithm is taken: with |a| ≤ 1 it is stable, and
b may have any sign (the log-space scan of Feng et al. needs b > 0).

minGRU (Feng et al. 2024, section 3.1), a GRU whose gates do not read h_{t−1} and whose candidate has no tanh:

    z_t = σ(W_z x_t + b_z),   h̃_t = W_h x_t + b_h,   h_t = (1 − z_t) ⊙ h_{t−1} + z_t ⊙ h̃_t

Selective scan (Gu & Dao 2023, algorithm 2): each of H channels has N numbers of state, and how long it keeps them (Δ),
what it writes (B) and what it reads (C) depend on the input.

    Δ_t = softplus(W_Δ W_δ x_t + b_Δ),   B_t = W_B x_t,   C_t = W_C x_t          (H,), (N,), (N,)
    h_t = exp(Δ_t A) ⊙ h_{t−1} + Δ_t x_t B_tᵀ,   y_t = h_t C_t + D ⊙ x_t          A = −exp(log A): (H, N), h_t (H, N)

Both mixers first read a causal convolution of each channel over k steps. Their state between two pieces of a text is
constant in size: the last k − 1 inputs, and h.

Shape legend: B rows, T steps, D width, H channels, N states of a channel, R rank of Δ, k width of the convolution.
"""

import math

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional

MixerState = tuple[Tensor, Tensor]
"""The inputs that the convolution has yet to read again (B, k − 1, …), and h (B, …)."""
PIECE = 16
"""Steps of a selective scan at a time: its states are N times as large as its input, and these stay in the cache."""
SHORTEST, LONGEST = 0.001, 0.1
"""Δ at the start is drawn between them, in logarithms: channels forget at different rates."""


def linear_scan(a: Tensor, b: Tensor, first: Tensor) -> Tensor:
    """h_t = a_t ⊙ h_{t−1} + b_t: a and b (B, T, …), h_0 (B, …) → (B, T, …), in fp32 at least."""
    return _Scan.apply(a.float(), b.float(), first.float())  # type: ignore[no-any-return, no-untyped-call]


def _scan(a: Tensor, b: Tensor, first: Tensor) -> Tensor:
    T = a.shape[1]
    if T == 1:
        return a * first[:, None] + b
    even = slice(0, T - T % 2, 2)
    seconds = _scan(a[:, 1::2] * a[:, even], a[:, 1::2] * b[:, even] + b[:, 1::2], first)  # h_2, h_4, …
    before = torch.cat([first[:, None], seconds[:, : (T - 1) // 2]], dim=1)  # h_0, h_2, …
    firsts = a[:, ::2] * before + b[:, ::2]  # h_1, h_3, …
    both = torch.stack([firsts[:, : T // 2], seconds], dim=2).flatten(1, 2)
    return both if T % 2 == 0 else torch.cat([both, firsts[:, -1:]], dim=1)


class _Scan(torch.autograd.Function):
    """Its gradient is a scan from the end: with g_t = ∂L/∂h_t, ∂L/∂b_t = g_t + a_{t+1} ∂L/∂b_{t+1}."""

    @staticmethod
    def forward(ctx: FunctionCtx, a: Tensor, b: Tensor, first: Tensor) -> Tensor:
        h = _scan(a, b, first)
        ctx.save_for_backward(a, first, h)
        return h

    @staticmethod
    def backward(ctx: FunctionCtx, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a, first, h = ctx.saved_tensors  # type: ignore[attr-defined]
        later = torch.cat([a[:, 1:], torch.zeros_like(a[:, :1])], dim=1)  # a_{t+1}
        b = _scan(later.flip(1), g.flip(1), torch.zeros_like(first)).flip(1)
        # ∂L/∂a_t = h_{t−1} ⊙ ∂L/∂b_t
        return b * torch.cat([first[:, None], h[:, :-1]], dim=1), b, a[:, 0] * b[:, 0]


class CausalConvolution(nn.Module):
    """y_t = Σ_i w_i ⊙ x_{t−k+i} + b, i = 1 … k: each channel by itself."""

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(channels, channels, kernel, groups=channels)

    def forward(self, x: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, T, C), the k − 1 inputs before it (B, k − 1, C) → (B, T, C), the last k − 1 inputs."""
        whole = torch.cat([past.to(x.dtype), x], dim=1)  # (B, k − 1 + T, C)
        y = self.convolution(whole.transpose(1, 2)).transpose(1, 2)
        return y, whole[:, whole.shape[1] - past.shape[1] :]


class MinGRU(nn.Module):
    """Convolution → minGRU → projection.

    Args:
        width: D. channels: H. kernel: k.
        longest: T_max. Units begin with b_z = −log u, u from U(1, T_max), so that z = 1/(1 + u): they remember for 2 to
            T_max + 1 steps (Tallec & Ollivier 2018, section 2, for this gate); 1: b_z = 0, as in the paper.
    """

    def __init__(self, *, width: int, channels: int, kernel: int, longest: int) -> None:
        super().__init__()
        self.sizes = ((kernel - 1, width), (channels,))
        self.convolve = CausalConvolution(width, kernel)
        self.gate, self.candidate = nn.Linear(width, channels), nn.Linear(width, channels)
        self.output = nn.Linear(channels, width)
        with torch.no_grad():
            self.gate.bias.copy_(-torch.log(torch.rand(channels) * (longest - 1) + 1))

    def forward(self, x: Tensor, state: MixerState) -> tuple[Tensor, MixerState]:
        """x (B, T, D), state → (B, T, D), the state after it."""
        x, past = self.convolve(x, state[0])
        gate = self.gate(x)  # (B, T, H)
        # h_t = (1 − z_t) ⊙ h_{t−1} + z_t ⊙ h̃_t,   1 − σ(u) = σ(−u)
        h = linear_scan(torch.sigmoid(-gate), torch.sigmoid(gate) * self.candidate(x), state[1])  # (B, T, H)
        return self.output(h), (past, h[:, -1])


class SelectiveScan(nn.Module):
    """Mamba's block without its norm and residual connection (figure 3): convolution and selective scan, times a gate.

    Args:
        width: D. channels: H. kernel: k. states: N; R is ⌈D/16⌉, as in the paper.
    """

    def __init__(self, *, width: int, channels: int, kernel: int, states: int) -> None:
        super().__init__()
        self.states, self.rank = states, math.ceil(width / 16)
        self.sizes = ((kernel - 1, channels), (channels, states))
        self.input = nn.Linear(width, 2 * channels, bias=False)
        self.convolve = CausalConvolution(channels, kernel)
        self.select = nn.Linear(channels, self.rank + 2 * states, bias=False)
        self.step = nn.Linear(self.rank, channels)
        self.output = nn.Linear(channels, width, bias=False)
        # A_n = −n; a vector of H · N numbers, so that weight decay, which is of matrices, leaves it alone
        self.log_A = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(channels))
        self.D = nn.Parameter(torch.ones(channels))
        with torch.no_grad():
            nn.init.uniform_(self.step.weight, -(self.rank**-0.5), self.rank**-0.5)
            delta = SHORTEST * (LONGEST / SHORTEST) ** torch.rand(channels)
            self.step.bias.copy_(delta + torch.log(-torch.expm1(-delta)))  # softplus of it is Δ

    def forward(self, x: Tensor, state: MixerState) -> tuple[Tensor, MixerState]:
        """x (B, T, D), state → (B, T, D), the state after it."""
        x, gate = self.input(x).chunk(2, dim=-1)  # (B, T, H) each
        x, past = self.convolve(x, state[0])
        x = functional.silu(x)
        delta, B, C = self.select(x).split([self.rank, self.states, self.states], dim=-1)  # (B, T, R), (B, T, N) twice
        delta = functional.softplus(self.step(delta))[..., None].float()  # (B, T, H, 1)
        A = -torch.exp(self.log_A.float()).view(-1, self.states)  # (H, N)
        read, last = [], state[1]
        for some in zip(*(part.split(PIECE, dim=1) for part in (x, delta, B, C)), strict=True):
            x_t, delta_t, B_t, C_t = some
            # h_t = exp(Δ_t A) ⊙ h_{t−1} + Δ_t x_t B_tᵀ
            h = linear_scan(torch.exp(delta_t * A), delta_t * B_t[:, :, None] * x_t[..., None], last)  # (B, ≤ 16, H, N)
            read.append((h @ C_t[..., None].to(h.dtype))[..., 0])
            last = h[:, -1]
        # y_t = h_t C_t + D ⊙ x_t
        y = torch.cat(read, dim=1) + self.D * x  # (B, T, H)
        return self.output(y * functional.silu(gate)), (past, last)
