"""Inside a recurrent language model: the gates and the memory at each token of a sentence.

The states are those of the network itself, read on token by token (`read_on`). The gates are the equations of
`nn.cells`, computed from the state before a token; the tests compare those of the fused layers with PyTorch's weights.

    LSTM    i, f, o: how much is written, kept and shown;   c_t = f ⊙ c_{t−1} + i ⊙ g,   h_t = o ⊙ tanh(c_t)
    GRU     r, z: how much of the old state the candidate sees, and what mixes old state and candidate

Shape legend: T tokens, H hidden, V vocabulary, L layers.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch

from langladder.models.language.neural import scoring
from langladder.models.language.recurrent import RecurrentConfig, RecurrentLM
from langladder.nn.cells import CellWeights, gru_gates, lstm_gates
from langladder.nn.recurrent import FusedLayer, LoopLayer

GATES = {"lstm": ("input", "forget", "output"), "gru": ("reset", "update")}
"""Cell → the gates that are shown; of other cells the states alone."""


class Layer(NamedTuple):
    """One layer.

    Attributes:
        gates: name → (T, H). states: (T, H), h_t. cells: (T, H), c_t of an LSTM; None of other cells.
    """

    gates: dict[str, torch.Tensor]
    states: torch.Tensor
    cells: torch.Tensor | None


class Inside(NamedTuple):
    """What the network computes over a prefix: `after` is log P of every next token at its end, (V,)."""

    layers: list[Layer]
    after: torch.Tensor


@torch.no_grad()
def gates(model: RecurrentLM, prefix: Sequence[int]) -> Inside:
    """Gates and states at each token of a prefix, ids that begin with BOS."""
    device = next(model.parameters()).device
    tokens = torch.tensor([model.as_read(prefix)], device=device)
    with scoring(model, device.type):
        states, state = [], None
        for position in range(tokens.shape[1]):
            hidden, state = model.read_on(tokens[:, position : position + 1], state)
            states.append(state)
        after = torch.log_softmax(model.head(hidden[0, -1]).float(), dim=-1)
        by_part = [torch.stack([state[part][:, 0] for state in states]) for part in range(len(states[0]))]  # (T, L, H)
        layers, x = [], model.embedding(tokens[0])  # (T, I)
        for number in range(len(model.cell.layers)):
            h = by_part[0][:, number]  # (T, H)
            c = by_part[1][:, number] if len(by_part) > 1 else None
            layers.append(Layer(_gates(model, number, x, h), h, c))
            x = h
    return Inside(layers, after)


def _gates(model: RecurrentLM, number: int, x: torch.Tensor, h: torch.Tensor) -> dict[str, torch.Tensor]:
    """The gates of a layer at each token, from its input (T, I) and its states h (T, H)."""
    layer, config = model.cell.layers[number], cast("RecurrentConfig", model.config)
    if config.cell not in GATES:
        return {}
    weights = CellWeights.of(layer.rnn) if isinstance(layer, FusedLayer) else cast("LoopLayer", layer).weights()
    before = torch.cat([model.cell.first_state(h[:1])[0][number], h[:-1]])  # (T, H), h_{t−1}
    driven = weights.drive(x)  # (T, G·H)
    results: tuple[torch.Tensor, ...]
    if config.cell == "lstm":
        results = lstm_gates(driven, before, weights)
    else:
        results = gru_gates(driven, before, weights, reset_after=config.reset_after)
    return dict(zip(GATES[config.cell], results, strict=False))  # the candidate comes last
