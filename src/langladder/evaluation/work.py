"""The machine-independent cost of a network: operations of a forward pass, and memory of training.

    operations   2 · products: a multiplication and an addition each, by the network's own formula (`Network.products`);
                 where it says none, counted while it runs. The backward pass takes about twice as many.
    memory       4 bytes a number: weights, their gradients, the optimiser's state, and what the forward pass keeps for
                 the backward pass, which grows with rows and positions of a batch

torch's counter sees the products of ordinary operations, not those of fused kernels: LSTMs of oneDNN and attention on
CPUs count nothing. While it counts, their plain forms run. It sees no product of a matrix with a single vector either.
"""

import warnings
from collections.abc import Callable

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from langladder.evaluation.page import Work
from langladder.models.network import Network
from langladder.nn.output import OutputLayer
from langladder.tasks.extensions import Target
from langladder.tasks.muon import hidden_matrices
from langladder.tasks.optimisation import OptimizerName, state_size

BYTES = 4  # of a number in fp32
STATES = {"sgd": 0, "momentum": 1, "adagrad": 1, "rmsprop": 1, "adam": 2, "adamw": 2, "muon": 2}
"""Numbers that an optimiser keeps for each weight; Muon one for those of hidden matrices."""


def work_of(network: Network, optimizer: OptimizerName | Target, *, rows: int, length: int) -> Work:
    """Operations a position, and the memory of training in batches of `rows` with `length` positions each."""
    products = network.products(length)
    flops = counted_trial(network, length) if products is None else 2 * products
    return Work(flops=flops / length, training_bytes=training_bytes(network, optimizer, rows=rows, length=length))


def counted_trial(network: Network, length: int) -> float:
    """Operations of a forward pass over one made-up row, counted; the softmax's gradients are not among them."""
    operations = float(counted(lambda: network.trial_loss(1, length)))
    head = getattr(network, "head", None)
    if isinstance(head, OutputLayer):  # the loss of a softmax makes both gradients at once, see `nn.output`
        hidden, targets = torch.zeros(length, head.width), torch.zeros(length, dtype=torch.int64)
        operations += 2 * length * head.products() - counted(lambda: head.loss(hidden, targets))
    return operations


def counted(run: Callable[[], object]) -> int:
    """Operations of the products that `run` computes, as torch's counter sees them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch speaks of other machines' arithmetic
        with (
            torch.no_grad(),
            torch.backends.mkldnn.flags(enabled=False),
            sdpa_kernel(SDPBackend.MATH),
            FlopCounterMode(display=False) as counter,
        ):
            run()
    return int(counter.get_total_flops())


def training_bytes(network: Network, optimizer: OptimizerName | Target, *, rows: int, length: int) -> int:
    """Weights, gradients, the optimiser's state and stored activations for the backward pass."""
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    numbers = sum(parameter.numel() for parameter in trained)
    state = (STATES[optimizer] if isinstance(optimizer, str) else state_size(optimizer)) * numbers
    if optimizer == "muon":
        state -= sum(parameter.numel() for parameter in hidden_matrices(network))
    fixed = network.number_of_parameters() + numbers + state
    return BYTES * fixed + rows * kept_bytes(network, length)


def kept_bytes(network: Network, length: int) -> int:
    """What the forward pass of one row keeps for the backward pass, without the weights."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in network.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    training = network.training
    network.train()
    try:
        with torch.random.fork_rng(devices=[]), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            loss = network.trial_loss(1, length)
            del loss
    finally:
        network.train(training)
    return sum(kept.values())
