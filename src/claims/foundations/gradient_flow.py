"""How far back a recurrent network's gradient reaches (Hochreiter 1991; Bengio, Simard & Frasconi 1994).

    ∂L_T/∂x_{T−k} = (∂h_{T−k}/∂x_{T−k})ᵀ ∏_{t = T−k+1}^{T} (∂h_t/∂h_{t−1})ᵀ ∂L_T/∂h_T
    RNN:   ∂h_t/∂h_{t−1} = diag(1 − h_t²) U          a product of k such factors shrinks, or grows, with λᵏ
    LSTM:  ∂c_t/∂c_{t−1} = diag(f_t) + …             stays near 1 where the forget gate is open (Gers et al. 2000)

Untrained networks read random inputs, and the loss only depends on the last state. The experiment measures the norm of
the gradient with respect to the input k steps before the last, as a share of that at the last step. This includes all
paths, through the hidden state and through the cell. A gradient has vanished if less than 1 % is left; the same limit
judges every cell. The authors' claims are about a plain RNN with the usual small random weights, and about an LSTM
without a forget gate: f_t = 1. The later cells are also measured, but are not part of the claim: a forget gate with a
bias of 1 (Gers et al. 2000), a GRU, and an orthogonal initial matrix (Saxe et al. 2014; Le, Jaitly & Hinton 2015).

Shape legend: S seeds, B rows, T steps, H width.
"""

import math
from typing import ClassVar, Literal

import torch
from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.foundations.networks import FlowCell, recurrent
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.nn.recurrent import RecurrentStack


class Variant(schema.Config):
    """The varied settings."""

    cell: FlowCell


class GradientFlowConfig(ComparisonConfig):
    """Settings of `GradientFlow`."""

    VARIANT = Variant
    bases: list[Literal["recurrent"]] = Field(min_length=1)
    metric: Literal["left"] = "left"
    length: int = Field(default=101, ge=2)  # T
    width: int = Field(default=64, ge=1)
    rows: int = Field(default=16, ge=1)  # random inputs per network


class GradientFlow(Comparison[GradientFlowConfig]):
    """Gradient norm by distance, one line per cell."""

    Config: ClassVar[type[schema.Config]] = GradientFlowConfig
    metrics: ClassVar[dict[str, Metric]] = {
        "left": Metric("nats of the gradient left at the first step", more_is_better=True),
        "half": Metric("half way", more_is_better=True, drawn=False),
        "share": Metric("share left at the first step", more_is_better=True, drawn=False),
        "flow": Metric("‖∂L/∂x at T − k‖, share of that at T", along="distance k from the loss, in steps", log="y"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It does not use the text."""
        del data, seeds
        config = self.config

        def trial(_: str, change: Change, seed: int) -> Scored:
            torch.manual_seed(seed)
            network = recurrent(Variant(**change).cell, input_width=config.width, width=config.width)
            x = torch.randn(config.rows, config.length, config.width)
            norms = gradient_norms(network, x, torch.randn(config.width))  # (T,)
            share = (norms / norms[0]).clamp(min=torch.finfo(norms.dtype).tiny).tolist()
            left, half = math.log(share[-1]), math.log(share[len(share) // 2])
            return 0, {"left": left, "half": half, "share": share[-1], "flow": dict(enumerate(share))}

        return trial


def gradient_norms(network: RecurrentStack, x: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
    """‖∂L/∂x_{T−k}‖ of L = Σ_b direction · h_T, for k = 0 … T − 1, the mean over the rows.

    Args:
        x: (B, T, I). direction: (H,), the gradient with respect to the last state.

    Returns:
        (T,) float64.
    """
    x = x.detach().requires_grad_()
    hidden, _ = network(x)  # (B, T, H)
    (hidden[:, -1] @ direction).sum().backward()
    assert x.grad is not None
    norms: torch.Tensor = x.grad.double().norm(dim=2)  # (B, T)
    return norms.mean(dim=0).flip(0)  # (T,)
