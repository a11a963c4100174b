"""Recurrent encoder: a source becomes one annotation per word and one final state per layer.

    one direction      h_j = f(x_j, h_{j−1})                              annotation h_j, final state h_S
    two directions     h_j = [→h_j ; ←h_j]                                annotation h_j (Schuster & Paliwal 1997)
                       bridge   h_0 = tanh(W_h [→h_S ; ←h_1] + b_h),   c_0 = W_c [→c_S ; ←c_1] + b_c

Each of two directions has half the width, so that annotations and states are as wide as those of one direction, and
a decoder of that width can take over from either. The bridge turns what both ends remember into what a decoder
starts from, every layer by itself. Rows are packed: no padding is ever read, in neither direction.

Shape legend: B rows, S positions, I input width, H width, L layers.
"""

from typing import Any, Literal

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from langladder.nn.recurrent import RecurrentState


class RecurrentEncoder(nn.Module):
    """Stacked LSTM or GRU over padded rows.

    Args:
        cell: which. input_width: I. width: H, even with two directions. layers: L.
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
    """Run fused layers over packed rows, so that no padding is read, in neither direction.

    x (B, S, I), lengths (B,) → states (B, S, H), 0 at padding; final (h,) or (h, c), (L · directions, B, H) each.
    """
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    output, final = rnn(packed)
    states, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])
    return states, final if isinstance(final, tuple) else (final,)


_FUNCTIONS: dict[str, Any] = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN_TANH": torch.rnn_tanh}


def read_padded(rnn: nn.RNNBase, x: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same without packing, which doubles the time of an LSTM on a CPU: for rows of about one length.

    Padding stands at the end of a row, so no state before it has read it. The other direction reads each row from its
    last word on, `[x_n … x_1, padding]`, and its states are turned back.

    x (B, S, I), lengths (B,) → states (B, S, H), at padding of no meaning; last h of the top layer's directions (B, H).
    """
    function = _FUNCTIONS[rnn.mode]
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    place = torch.arange(x.shape[1], device=x.device)
    turned = torch.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)[..., None]  # (B, S, 1)
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
    """The words of each row backwards, its EOS and its padding where they were: (B, S), (B, S) → (B, S).

    Sutskever et al. 2014, section 3.3: the first words of source and target come close to each other.
    """
    position = torch.arange(source.shape[1], device=source.device)
    backwards = mask.sum(dim=1, keepdim=True) - 2 - position  # (B, S); < 0 from the EOS on
    return source.gather(1, torch.where(backwards >= 0, backwards, position))
