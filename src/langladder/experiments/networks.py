"""Bare recurrent networks of the experiments: layers of `nn.recurrent` with first weights that are said plainly."""

from typing import Literal

import torch
from torch import nn

from langladder.nn.initialisation import initialise
from langladder.nn.recurrent import RecurrentStack

FlowCell = Literal["rnn", "gru", "lstm", "lstm_closed"]
CELL_TITLES = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM", "lstm_closed": "LSTM, forget bias 0"}


def recurrent(cell: FlowCell, *, input_width: int, width: int, scale: float = 1.0) -> RecurrentStack:
    """One layer with first weights U(±1/√n_in), as torch's own, no bias but the LSTM's forget gate's, which is 1.

    Args:
        scale: the recurrent matrix is multiplied by it.
    """
    stack = RecurrentStack("lstm" if cell == "lstm_closed" else cell, input_width=input_width, width=width)
    for layer in stack.layers:
        W, U, b = layer.matrices()  # type: ignore[operator]
        initialise(W, "uniform", stack.gates)
        initialise(U, "uniform", stack.gates)
        with torch.no_grad():
            U *= scale
        for name, parameter in layer.named_parameters():
            if "bias" in name:
                nn.init.zeros_(parameter)
        if cell == "lstm":
            b.data[width : 2 * width] = 1.0  # rows of the forget gate
    return stack
