"""The number of multiplications of a network per position: the entries of the matrices that each position uses once.

A product of a matrix (m, n) with a vector takes m · n multiplications and as many additions, 2 m n operations.
Elementwise operations (activations, norms, gates) are not counted, as is usual: they are a few operations per number,
compared with hundreds. Embedding look-ups have no multiplications. Output layers define their own number
(`OutputLayer.products`).
"""

from torch import nn

from langladder.nn.experts import Experts
from langladder.nn.output import OutputLayer
from langladder.nn.recurrent import LoopLayer


def matrix_entries(network: nn.Module) -> int:
    """Σ m · n over the linear, convolutional and recurrent layers, except those of output layers."""
    if isinstance(network, OutputLayer):
        return 0
    if isinstance(network, nn.Linear | nn.Conv1d):
        return int(network.weight.numel())  # a filter of width k: (out, in, k), at every position
    if isinstance(network, nn.RNNBase):
        return sum(p.numel() for name, p in network.named_parameters() if name.startswith("weight"))
    if isinstance(network, Experts):  # a token goes through the router and k experts
        return network.router.weight.numel() + network.active * matrix_entries(network.experts[0])
    if isinstance(network, LoopLayer):
        return network.W.numel() + network.U.numel()
    return sum(matrix_entries(part) for part in network.children())
