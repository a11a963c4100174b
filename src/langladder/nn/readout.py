"""From a decoder's vectors at a step to the input of the softmax (a "deep output", Pascanu et al. 2014).

    tanh      o = tanh(W_o [a ; b ; …] + b_o)                       Luong et al. 2015, equation 5
    maxout    o_i = max(u_2i, u_2i+1),  u = W_o [a ; b ; …] + b_o   Goodfellow et al. 2013; Bahdanau et al. 2015, A.2.2

Which two units form a pair is only a matter of numbering; here unit i is paired with unit i + E.

Shape legend: E width of the result.
"""

from typing import Literal

import torch
from torch import nn

ReadoutKind = Literal["tanh", "maxout"]


class Readout(nn.Linear):
    """One layer over the concatenation of its inputs.

    Args:
        kind: see the module docstring.
        input_width: total width of all parts. width: E.
    """

    def __init__(self, kind: ReadoutKind, *, input_width: int, width: int) -> None:
        super().__init__(input_width, 2 * width if kind == "maxout" else width)
        self.kind = kind

    def forward(self, *parts: torch.Tensor) -> torch.Tensor:
        """Parts (…, ·) → (…, E)."""
        units = super().forward(torch.cat(parts, dim=-1))
        if self.kind == "maxout":
            return torch.maximum(*units.chunk(2, dim=-1))
        return torch.tanh(units)
