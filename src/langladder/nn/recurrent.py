"""Recurrent layers over whole sequences: torch's fused layers if they exist, else a loop over the steps of `nn.cells`.

    cell      reset_after   layer norm   how it runs
    rnn       –             no           fused
    relu_rnn  –             no           fused (Le et al. 2015: with U = I at the start, recurrent_init=identity)
    gru       yes           no           fused
    lstm      –             no           fused
    gru       no            any          loop (the form of Cho et al. 2014)
    peephole  –             any          loop
    any       any           yes          loop (Ba et al. 2016)
    any       any           any          loop with dropout on the state (Gal & Ghahramani 2016)

The loop computes W x of all steps in one product beforehand, and U h in one product per step. Weight dropout (Merity et
al. 2018) drops entries of U, the same ones at all steps of a batch. It regularises the recurrence and still works with
the fused layers, unlike dropout on the state itself: there U reads h_{t−1} ⊙ m / (1 − p), with one mask m for all
steps of a row (the path of the gates, z ⊙ h_{t−1} or f ⊙ c_{t−1}, is not masked). Weight noise (Graves 2011) adds
N(0, σ²) to W and U in training, the same at all steps of a batch.

Recurrent encoder: it turns a source into one annotation per word and one final state per layer.

    one direction      h_j = f(x_j, h_{j−1})                              annotation h_j, final state h_S
    two directions     h_j = [→h_j ; ←h_j]                                annotation h_j (Schuster & Paliwal 1997)
                       bridge   h_0 = tanh(W_h [→h_S ; ←h_1] + b_h),   c_0 = W_c [→c_S ; ←c_1] + b_c

Each of two directions has half the width. So annotations and states are as wide as those of one direction, and a
decoder of that width can use either. The bridge computes a decoder's initial states from the final states of both
directions, separately for each layer. Rows are packed, so neither direction ever reads padding.

Shape legend: B rows, T or S steps, I input, H hidden, G gates, L layers.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from langladder.nn.cells import CellWeights, LayerNorms, gru_step, lstm_step, peephole_step, rnn_step
from langladder.nn.dropout import LockedDropout
from langladder.nn.initialisation import initialise

Cell = Literal["rnn", "relu_rnn", "gru", "lstm", "peephole"]
RecurrentState = tuple[torch.Tensor, ...]  # (h,), or (h, c) for LSTMs
GATES: dict[str, int] = {"rnn": 1, "relu_rnn": 1, "gru": 3, "lstm": 4, "peephole": 4}
Kernel = Callable[..., tuple[torch.Tensor, ...]]
"""torch's functions, which have no type annotations."""
_FUSED: dict[str, tuple[Callable[..., nn.RNNBase], Kernel]] = {
    "rnn": (nn.RNN, torch.rnn_tanh),
    "relu_rnn": (partial(nn.RNN, nonlinearity="relu"), torch.rnn_relu),
    "gru": (nn.GRU, torch.gru),
    "lstm": (nn.LSTM, torch.lstm),
}


def noisy(weight: torch.Tensor, deviation: float) -> torch.Tensor:
    """The matrix with N(0, deviation²) added to its entries; itself where the deviation is 0."""
    return weight + deviation * torch.randn_like(weight) if deviation else weight


class FusedLayer(nn.Module):
    """One layer as torch's fused kernel."""

    def __init__(
        self, cell: str, *, input_width: int, width: int, weight_drop: float, weight_noise: float = 0.0
    ) -> None:
        super().__init__()
        kind, self.function = _FUSED[cell]
        self.weight_drop, self.weight_noise = weight_drop, weight_noise
        self.rnn = kind(input_width, width, batch_first=True)

    def forward(self, x: torch.Tensor, state: RecurrentState) -> tuple[torch.Tensor, RecurrentState]:
        """x (B, T, I), state of (B, H) → (B, T, H), state."""
        pair = len(state) == 2
        first = tuple(part[None] for part in state) if pair else state[0][None]
        if self.training and (self.weight_drop or self.weight_noise):
            W, U, b, c = (getattr(self.rnn, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
            W, U = noisy(W, self.weight_noise), noisy(U, self.weight_noise)
            weights = [W, functional.dropout(U, self.weight_drop), b, c]
            # has biases, 1 layer, no dropout between layers, training, one direction, batch first
            hidden, *last = self.function(x, first, weights, True, 1, 0.0, True, False, True)
        else:
            hidden, after = self.rnn(x, first)
            last = [*after] if pair else [after]
        return hidden, tuple(part[0] for part in last)

    def matrices(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """W (G·H, I), U (G·H, H) and the bias b (G·H,)."""
        W, U, b = (getattr(self.rnn, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih"))
        return W, U, b


class LoopLayer(nn.Module):
    """One layer as a loop over steps."""

    def __init__(
        self,
        cell: str,
        *,
        input_width: int,
        width: int,
        reset_after: bool,
        layer_norm: bool,
        weight_drop: float,
        weight_noise: float = 0.0,
        recurrent_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.cell, self.reset_after, self.weight_drop = cell, reset_after, weight_drop
        self.weight_noise, self.recurrent_dropout = weight_noise, recurrent_dropout
        rows = GATES[cell] * width
        self.W = nn.Parameter(torch.empty(rows, input_width))
        self.U = nn.Parameter(torch.empty(rows, width))
        self.b = nn.Parameter(torch.zeros(rows))
        for weight in (self.W, self.U):
            initialise(weight, "uniform", GATES[cell])
        # nn.GRU's second bias is not part of r ⊙ (U h), so this form needs it
        inner = cell == "gru" and reset_after and not layer_norm
        self.c = nn.Parameter(torch.zeros(rows)) if inner else None
        self.peepholes = nn.Parameter(torch.zeros(3, width)) if cell == "peephole" else None
        self.norms = nn.ParameterList()
        if layer_norm:
            self.norms.extend(torch.ones(rows) for _ in range(2))
            if GATES[cell] == 4:
                self.norms.extend((torch.ones(width), torch.zeros(width)))

    def forward(self, x: torch.Tensor, state: RecurrentState) -> tuple[torch.Tensor, RecurrentState]:
        """x (B, T, I), state of (B, H) → (B, T, H), state."""
        weights = self.weights()
        if self.training and self.recurrent_dropout:
            weights = replace(weights, mask=functional.dropout(torch.ones_like(state[0]), self.recurrent_dropout))
        outputs = []
        for driven in weights.drive(x.transpose(0, 1)).unbind(0):  # T times (B, G·H)
            state = self._step(driven, state, weights)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1), state

    def _step(self, driven: torch.Tensor, state: RecurrentState, weights: CellWeights) -> RecurrentState:
        if self.cell in ("rnn", "relu_rnn"):
            return (rnn_step(driven, state[0], weights, relu=self.cell == "relu_rnn"),)
        if self.cell == "gru":
            return (gru_step(driven, state[0], weights, reset_after=self.reset_after),)
        h, c = state
        if self.peepholes is None:
            return lstm_step(driven, h, c, weights)
        return peephole_step(driven, h, c, weights, self.peepholes)

    def weights(self) -> CellWeights:
        """The weights, in training with noise and with some entries of U dropped."""
        norms: LayerNorms | None = None
        if len(self.norms):
            unused = self.norms[:1]  # only LSTMs have a norm of the cell
            norms = LayerNorms(*(self.norms if len(self.norms) == 4 else (*self.norms, *unused, *unused)))
        W, U = (noisy(weight, self.weight_noise if self.training else 0.0) for weight in (self.W, self.U))
        return CellWeights(W, functional.dropout(U, self.weight_drop, self.training), self.b, self.c, norms)

    def matrices(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """W (G·H, I), U (G·H, H) and the bias b (G·H,)."""
        return self.W, self.U, self.b


class RecurrentStack(nn.Module):
    """Stacked layers, with dropout between them.

    Args:
        cell: see the table in the module docstring.
        input_width: I of the first layer; the others have input width H.
        width: H.
        layers: L.
        dropout: between the layers; `locked` uses one mask for all steps.
        weight_drop: share of U's entries dropped. weight_noise: standard deviation of what is added to W and U.
        recurrent_dropout: on h_{t−1}, one mask for all steps of a row.
        learn_start: the state before the first step is trained; else it is 0.
    """

    def __init__(
        self,
        cell: Cell,
        *,
        input_width: int,
        width: int,
        layers: int = 1,
        reset_after: bool = True,
        layer_norm: bool = False,
        dropout: float = 0.0,
        locked: bool = False,
        weight_drop: float = 0.0,
        weight_noise: float = 0.0,
        recurrent_dropout: float = 0.0,
        learn_start: bool = False,
    ) -> None:
        super().__init__()
        self.width, self.states, self.gates = width, GATES[cell] // 4 + 1, GATES[cell]
        self.start = nn.Parameter(torch.zeros(self.states * layers * width)) if learn_start else None
        fused = cell in _FUSED and not layer_norm and not recurrent_dropout and (reset_after or cell != "gru")
        self.layers = nn.ModuleList()
        for read in (input_width, *[width] * (layers - 1)):
            if fused:
                layer: nn.Module = FusedLayer(
                    cell, input_width=read, width=width, weight_drop=weight_drop, weight_noise=weight_noise
                )
            else:
                layer = LoopLayer(
                    cell,
                    input_width=read,
                    width=width,
                    reset_after=reset_after,
                    layer_norm=layer_norm,
                    weight_drop=weight_drop,
                    weight_noise=weight_noise,
                    recurrent_dropout=recurrent_dropout,
                )
            self.layers.append(layer)
        self.dropout = LockedDropout(dropout) if locked else nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, state: RecurrentState | None = None) -> tuple[torch.Tensor, RecurrentState]:
        """x (B, T, I), state of (L, B, H) → top layer's states (B, T, H), state. None: start with zeros."""
        if state is None:
            state = self.first_state(x)
        last = []
        for number, layer in enumerate(self.layers):
            if number:
                x = self.dropout(x)
            x, after = layer(x, tuple(part[number].to(x.dtype) for part in state))
            last.append(after)
        return x, tuple(torch.stack(parts) for parts in zip(*last, strict=True))  # (L, B, H) each

    def first_state(self, x: torch.Tensor) -> RecurrentState:
        """The state before the first step of the rows x (B, …): (L, B, H) each."""
        if self.start is None:
            return tuple(x.new_zeros(len(self.layers), len(x), self.width) for _ in range(self.states))
        return self.start.view(self.states, len(self.layers), 1, self.width).repeat(1, 1, len(x), 1).unbind(0)


class RecurrentEncoder(nn.Module):
    """Stacked LSTM or GRU over padded rows.

    Args:
        cell: lstm or gru. input_width: I. width: H, must be even with two directions. layers: L.
        dropout: between the layers.
    """

    def __init__(
        self,
        cell: Literal["lstm", "gru"],
        *,
        input_width: int,
        width: int,
        layers: int,
        bidirectional: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        assert not (bidirectional and width % 2), width
        self.layers, self.width, self.directions = layers, width, 2 if bidirectional else 1
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        self.rnn = kind(
            input_width,
            width // self.directions,
            layers,
            batch_first=True,
            bidirectional=bidirectional,
            dropout=dropout if layers > 1 else 0.0,
        )
        parts = 2 if cell == "lstm" else 1
        self.bridge = nn.ModuleList(
            nn.ModuleList(nn.Linear(width, width) for _ in range(layers)) for _ in range(parts * (self.directions - 1))
        )

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, RecurrentState]:
        """x (B, S, I), mask (B, S) → annotations (B, S, H), 0 at padding; final (h,) or (h, c), (L, B, H) each."""
        memory, parts = read_rows(self.rnn, x, mask.sum(dim=1))  # (B, S, H)
        if self.directions == 1:
            return memory, parts
        joined = [part.view(self.layers, 2, len(x), -1).transpose(1, 2).flatten(2) for part in parts]  # (L, B, H)
        h, *c = (
            torch.stack([bridge(state) for bridge, state in zip(bridges, part, strict=True)])  # type: ignore[call-overload]
            for bridges, part in zip(self.bridge, joined, strict=True)
        )
        return memory, (torch.tanh(h), *c)


def read_rows(rnn: nn.RNNBase, x: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, RecurrentState]:
    """Run fused layers over packed rows, so that neither direction reads padding.

    x (B, S, I), lengths (B,) → states (B, S, H), 0 at padding; final (h,) or (h, c), (L · directions, B, H) each.
    """
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    output, final = rnn(packed)
    states, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])
    return states, final if isinstance(final, tuple) else (final,)


_FUNCTIONS: dict[str, Kernel] = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN_TANH": torch.rnn_tanh}


def read_padded(rnn: nn.RNNBase, x: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same without packing, for rows of similar length. Packing doubles the time of an LSTM on a CPU.

    Padding is at the end of a row, so no earlier state has read it. The other direction reads each row from its last
    word, `[x_n … x_1, padding]`, and its states are then reversed.

    x (B, S, I), lengths (B,) → states (B, S, H), meaningless at padding; last h of the top layer's directions (B, H).
    """
    function = _FUNCTIONS[rnn.mode]
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    index = torch.arange(x.shape[1], device=x.device)
    turned = torch.where(index < lengths[:, None], lengths[:, None] - 1 - index, index)[..., None]  # (B, S, 1)
    rows, ends = torch.arange(len(x), device=x.device), lengths.to(x.device) - 1
    for layer in range(rnn.num_layers):
        states, last = [], []
        for way in ("", "_reverse") if rnn.bidirectional else ("",):
            weights = [getattr(rnn, f"{name}_l{layer}{way}") for name in names]
            read = x.gather(1, turned.expand_as(x)) if way else x
            first = x.new_zeros(1, len(x), rnn.hidden_size)
            begin = (first, first) if rnn.mode == "LSTM" else first
            # has biases, 1 layer, no dropout between layers, training, one direction, batch first
            h = function(read, begin, weights, True, 1, 0.0, rnn.training, False, True)[0]  # (B, S, H / directions)
            last.append(h[rows, ends])
            states.append(h.gather(1, turned.expand_as(h)) if way else h)
        x = torch.cat(states, dim=-1)
        if layer + 1 < rnn.num_layers:
            x = nn.functional.dropout(x, rnn.dropout, rnn.training)
    return x, torch.cat(last, dim=-1)


def reverse_source(source: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Reverse the words of each row, but not its EOS and padding: (B, S), (B, S) → (B, S).

    Sutskever et al. 2014, section 3.3: this moves the first words of source and target close together.
    """
    position = torch.arange(source.shape[1], device=source.device)
    backwards = mask.sum(dim=1, keepdim=True) - 2 - position  # (B, S); < 0 from the EOS on
    return source.gather(1, torch.where(backwards >= 0, backwards, position))
