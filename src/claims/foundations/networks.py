"""Recurrent networks of the experiments: layers of `nn.recurrent` with explicit initial weights."""

from typing import Literal

import torch
from torch import nn

from langladder.nn.initialisation import initialise
from langladder.nn.recurrent import Cell, RecurrentStack

FlowCell = Literal["rnn", "rnn_orthogonal", "gru", "lstm", "lstm_closed", "lstm_open"]
CELL_TITLES = {
    "rnn": "RNN",
    "rnn_orthogonal": "RNN, orthogonal",
    "gru": "GRU",
    "lstm": "LSTM",
    "lstm_closed": "LSTM, forget bias 0",
    "lstm_open": "LSTM of 1997",
}
_CELLS: dict[FlowCell, Cell] = {
    "rnn": "rnn",
    "rnn_orthogonal": "rnn",
    "gru": "gru",
    "lstm": "lstm",
    "lstm_closed": "lstm",
    "lstm_open": "lstm",
}
OPEN = 100.0  # bias of a forget gate that is 1 to the last bit


def recurrent(cell: FlowCell, *, input_width: int, width: int) -> RecurrentStack:
    """One layer with initial weights U(±1/√n_in), like torch's, and zero biases, except that the LSTM's forget bias is
    1.

    rnn_orthogonal has a recurrent matrix with Uᵀ U = I instead; lstm_closed has a forget gate without bias; lstm_open
    always has f = 1, like the first LSTM (Hochreiter & Schmidhuber 1997), which had no forget gate.
    """
    stack = RecurrentStack(_CELLS[cell], input_width=input_width, width=width)
    for layer in stack.layers:
        W, U, b = layer.matrices()  # type: ignore[operator]
        initialise(W, "uniform", stack.gates)
        initialise(U, "orthogonal" if cell == "rnn_orthogonal" else "uniform", stack.gates)
        for name, parameter in layer.named_parameters():
            if "bias" in name:
                nn.init.zeros_(parameter)
        if cell in ("lstm", "lstm_open"):
            with torch.no_grad():
                b[width : 2 * width] = 1.0 if cell == "lstm" else OPEN  # rows of the forget gate
    return stack
