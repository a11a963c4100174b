"""Initial weights. For n_in inputs and n_out outputs:

    xavier      U(±√(6 / (n_in + n_out)))   variance 2 / (n_in + n_out): for tanh and gates (Glorot & Bengio 2010)
    he          N(0, 2 / n_in)              for ReLU, which halves the variance (He et al. 2015)
    orthogonal  Wᵀ W = I                    keeps the norm through any number of steps (Saxe et al. 2014)
    identity    W = I                      with ReLU a state is kept as it is until something is added (Le et al. 2015)
    uniform     U(±1 / √n_in)               torch's own for recurrent layers

A matrix of several gates is initialised gate by gate, because each gate is a separate layer.
"""

from typing import Literal

import torch
from torch import nn

Initialisation = Literal["xavier", "he", "orthogonal", "identity", "uniform"]


def initialise(weight: torch.Tensor, kind: Initialisation, gates: int = 1) -> None:
    """Overwrite `weight` (gates · n_out, n_in, …) in place."""
    with torch.no_grad():
        for part in weight.chunk(gates):
            if kind == "xavier":
                nn.init.xavier_uniform_(part)
            elif kind == "he":
                nn.init.kaiming_normal_(part, nonlinearity="relu")
            elif kind == "orthogonal":
                nn.init.orthogonal_(part)
            elif kind == "identity":
                nn.init.eye_(part)
            else:
                bound = part[0].numel() ** -0.5
                nn.init.uniform_(part, -bound, bound)


def word_embedding(vocab_size: int, width: int) -> nn.Embedding:
    """Rows of about unit length, so that a shared output matrix starts with logits of moderate size."""
    embedding = nn.Embedding(vocab_size, width)
    nn.init.normal_(embedding.weight, std=width**-0.5)
    return embedding


def begin_by_remembering(*networks: nn.Module) -> None:
    """Set the bias of every LSTM's forget gate to 1 (Gers et al. 2000; Jozefowicz et al. 2015)."""
    for network in networks:
        for module in network.modules():
            if isinstance(module, nn.LSTM):
                for name, bias in module.named_parameters():
                    if name.startswith("bias"):  # torch adds two of them; the gates are i, f, g, o
                        value = 1.0 if name.startswith("bias_ih") else 0.0
                        nn.init.constant_(bias[module.hidden_size : 2 * module.hidden_size], value)
