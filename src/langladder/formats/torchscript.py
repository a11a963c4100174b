"""Recurrent language models as TorchScript: one file that PyTorch runs without this package, from Python or C++.

    model = torch.jit.load("model.pt")
    log_probs, state = model(tokens, model.first_state(B))    # (B, T) ids that begin with BOS → (B, T, V)
    log_probs, state = model(more_tokens, state)              # reads on

log_probs[:, t] is log P(next | tokens up to t). The network is traced. Cells that run as a loop over steps (see
`nn.recurrent`) are traced for one step, and the file loops, so that every length is read.

Shape legend: B rows, T tokens, V vocabulary, L layers, H width, k parts of the state (1: h; 2: h and c).
"""

import io
import warnings
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from langladder.ground.atomic import atomic_file
from langladder.ground.errors import InputError
from langladder.models.language.recurrent import RecurrentLM
from langladder.nn.recurrent import FusedLayer
from langladder.text.tokenize.specials import BOS


class RecurrentStep(nn.Module):
    """Tokens (B, T) and state (k, L, B, H) → log-probabilities (B, T, V) and the state after."""

    def __init__(self, model: RecurrentLM) -> None:
        super().__init__()
        if model.cell.start is not None:
            raise InputError(
                "export: this model has learn_start=true, and the exported program begins with a state of zeros; train "
                "it with learn_start=false"
            )
        self.model = model

    def forward(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """See the class."""
        hidden, last = self.model(tokens, state.unbind(0))  # (B, T, D)
        return torch.log_softmax(self.model.head(hidden), dim=-1), torch.stack(last)


class _Reader(nn.Module):
    """The interface of the file: `first_state` and a step."""

    def __init__(self, step: nn.Module, parts: int, layers: int, width: int, whole: bool) -> None:
        super().__init__()
        self.step, self.parts, self.layers, self.width, self.whole = step, parts, layers, width, whole

    @torch.jit.export
    def first_state(self, rows: int) -> Tensor:
        return torch.zeros(self.parts, self.layers, rows, self.width)

    def forward(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        if self.whole:
            read: tuple[Tensor, Tensor] = self.step(tokens, state)
            return read
        steps = []
        for t in range(tokens.shape[1]):
            log_probs, state = self.step(tokens[:, t : t + 1], state)  # (B, 1, V)
            steps.append(log_probs)
        return torch.cat(steps, dim=1), state


@torch.no_grad()
def export_torchscript(model: RecurrentLM, path: Path) -> None:
    """Write the file, atomically. The model's mode (training or not) is unchanged."""
    stack = model.cell
    training, whole = model.training, isinstance(stack.layers[0], FusedLayer)
    tokens = torch.full((2, 3 if whole else 1), BOS)
    state = torch.zeros(stack.states, len(stack.layers), 2, stack.width)
    model.eval()
    model.head(model(tokens)[0])  # output layers that depend on counts derive their tables before the trace
    try:
        with warnings.catch_warnings():
            # The trace takes the number of layers as constant, which it is; and PyTorch recommends
            # `torch.export`, whose files run in Python only.
            warnings.simplefilter("ignore", torch.jit.TracerWarning)  # type: ignore[attr-defined]
            warnings.simplefilter("ignore", DeprecationWarning)
            step = torch.jit.trace(RecurrentStep(model), (tokens, state))  # type: ignore[no-untyped-call]
            reader = torch.jit.script(_Reader(step, stack.states, len(stack.layers), stack.width, whole))
    finally:
        model.train(training)
    buffer = io.BytesIO()  # if the disk is full, PyTorch's own writer ends the whole process
    torch.jit.save(cast(torch.jit.ScriptModule, reader), buffer)
    with atomic_file(Path(path)) as temporary:
        temporary.write_bytes(buffer.getvalue())
