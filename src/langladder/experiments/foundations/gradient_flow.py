"""How far back a recurrent network's gradient reaches (Hochreiter 1991; Bengio, Simard & Frasconi 1994).

    ∂L_T/∂x_{T−k} = (∂h_{T−k}/∂x_{T−k})ᵀ ∏_{t = T−k+1}^{T} (∂h_t/∂h_{t−1})ᵀ ∂L_T/∂h_T
    RNN:   ∂h_t/∂h_{t−1} = diag(1 − h_t²) U          a product of k such factors shrinks, or grows, with λᵏ
    LSTM:  ∂c_t/∂c_{t−1} = diag(f_t) + …             stays near 1 where the forget gate is open (Gers et al. 2000)

Networks as they begin, before any training, read random inputs; the loss looks at the last state only. Measured is the
norm of the gradient with respect to the input k steps before the last, as a share of that at the last: all paths count,
through the hidden state and through the cell. The claim of the authors is of a plain RNN with the usual small random
weights. One that begins with an orthogonal matrix (Saxe et al. 2014; Le, Jaitly & Hinton 2015) is another answer to the
same problem, twenty years later: it is drawn beside the gates, the sentence says which keeps more, and the verdict is
of the plain one.

Shape legend: S seeds, B rows, T steps, H width.
"""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field

from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.foundations.networks import CELL_TITLES, FlowCell, recurrent
from langladder.experiments.statistics import Verdict, difference, every
from langladder.ground import schema
from langladder.nn.recurrent import RecurrentStack

GATED: tuple[FlowCell, ...] = ("gru", "lstm")
VANISHED = 0.01  # share of the gradient below which it has vanished


class GradientFlowConfig(RepeatedConfig):
    """Settings of `GradientFlow`."""

    cells: list[FlowCell] = Field(
        default=["rnn", "rnn_orthogonal", "gru", "lstm", "lstm_closed"], min_length=1
    )  # closed: forget bias 0
    length: int = Field(default=101, ge=2)  # T
    width: int = Field(default=64, ge=1)
    rows: int = Field(default=16, ge=1)  # random inputs a network reads
    margin: float = Field(default=0.7, ge=0)  # nats of the share that is left: twice as much


class GradientFlow(Experiment[GradientFlowConfig]):
    """Gradient norm by distance, a line a cell."""

    Config: ClassVar[type[schema.Config]] = GradientFlowConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:  # noqa: ARG002 - reads no text
        """See `Experiment.examine`."""
        config = self.config
        found: dict[FlowCell, torch.Tensor] = {}
        for cell in config.cells:
            logs = []
            for number in config.numbers(seed):
                torch.manual_seed(number)
                network = recurrent(cell, input_width=config.width, width=config.width)
                x = torch.randn(config.rows, config.length, config.width)
                norms = gradient_norms(network, x, torch.randn(config.width))  # (T,)
                logs.append((norms / norms[0]).clamp(min=torch.finfo(norms.dtype).tiny).log())
            found[cell] = torch.stack(logs)  # (S, T)
            left = float(found[cell][:, -1].mean().exp())
            progress(f"{CELL_TITLES[cell]}: {left:.1e} of the gradient after {config.length - 1} steps")
        return findings(found, config.margin)


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


def findings(found: Mapping[FlowCell, torch.Tensor], margin: float) -> Findings:
    """The claim holds where the plain RNN keeps less than VANISHED, and every gated cell that begins open keeps more.

    Args:
        found: cell → log share by distance, (S, T).
        margin: nats by which it must be more.
    """
    length = next(iter(found.values())).shape[1]
    shares = {cell: logs.mean(dim=0).exp() for cell, logs in found.items()}  # (T,): geometric means of the networks
    marks = [k for k in (1, 5, 10, 20, 50, 100, 200) if k < length]
    ends = {cell: logs[:, marks[-1]].numpy() for cell, logs in found.items()}  # (S,)
    last = {cell: float(share[marks[-1]]) for cell, share in shares.items()}
    reach = {cell: _reach(share) for cell, share in shares.items()}
    gated = [cell for cell in GATED if cell in ends]
    verdict = Verdict(None, "needs the plain RNN and a gated cell")
    if "rnn" in ends and gated:
        vanishes = difference(math.log(VANISHED), ends["rnn"]).exceeds()
        verdict = every([vanishes, *(difference(ends[cell], ends["rnn"]).exceeds(margin) for cell in gated)])
    left = ", ".join(f"{CELL_TITLES[cell]} {value:.1e}" for cell, value in last.items())
    if "rnn_orthogonal" in ends:
        beside = ", ".join(f"{_beside(ends['rnn_orthogonal'], ends[cell])} the {CELL_TITLES[cell]}" for cell in gated)
        left += f". Of the gradient, an RNN that begins orthogonal keeps {beside}" if beside else ""
    steps = list(range(length))
    return Findings(
        **opened(verdict, f"{marks[-1]} steps back, the share of the gradient that is left is {left}."),
        columns=["network", *(f"k = {k}" for k in marks), "1 % left at k"],
        rows=[
            [CELL_TITLES[cell], *(rounded(float(share[k])) for k in marks), _beyond(reach[cell], length)]
            for cell, share in shares.items()
        ],
        plots=[
            Plot(
                title="Gradient by distance",
                x_label="distance k from the loss, in steps",
                y_label="‖∂L/∂x at T − k‖, share of that at T",
                log_y=True,
                series=[series(CELL_TITLES[cell], steps, share.tolist()) for cell, share in shares.items()],
            )
        ],
        figures={f"{cell}_left_after_{marks[-1]}": value for cell, value in last.items()},
    )


def _beside(one: np.ndarray, other: np.ndarray) -> str:
    """(S,) each."""
    gap = difference(one, other)
    return "more than" if gap.low > 0 else "less than" if gap.high < 0 else "neither more nor less than"


def _reach(share: torch.Tensor) -> int | None:
    """First distance at which less than 1 % is left."""
    below = (share < 0.01).nonzero()
    return int(below[0]) if len(below) else None


def _beyond(reach: int | None, length: int) -> str | float:
    return f"> {length - 1}" if reach is None else float(reach)
