"""The vector of a word, computed from the vectors of its letters with a convolution or an LSTM.

    cnn    c_i = tanh(W [e_{i−1} ; e_i ; e_{i+1}] + b),   c = max_i c_i     (dos Santos & Zadrozny 2014; Ma & Hovy 2016)
    lstm   c = [→h_C ; ←h_1]                                                  (Lample et al. 2016, section 4.1)

Each distinct word of a batch is read only once.

Shape legend: U words, C letters, E width of a letter's vector, H width of the result.
"""

from typing import Literal

import torch
from torch import nn

from langladder.nn.initialisation import begin_by_remembering
from langladder.nn.recurrent import read_rows
from langladder.text.tokenize.specials import PAD

Letters = Literal["cnn", "lstm"]


class WordForm(nn.Module):
    """Letters → vector. H must be even for the LSTM, because each direction has H/2."""

    def __init__(self, kind: Letters, *, characters: int, dim: int, width: int) -> None:
        super().__init__()
        self.kind = kind
        self.embedding = nn.Embedding(characters, dim, padding_idx=PAD)
        if kind == "cnn":
            self.filters = nn.Linear(3 * dim, width)
        else:
            self.rnn = nn.LSTM(dim, width // 2, batch_first=True, bidirectional=True)
            begin_by_remembering(self.rnn)

    def forward(self, letters: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """letters (U, C) int64, counts (U,) → (U, H)."""
        e = self.embedding(letters)  # (U, C, E)
        if self.kind == "lstm":
            _, (h, _) = read_rows(self.rnn, e, counts)  # (2, U, H / 2)
            return torch.cat([h[0], h[1]], dim=1)
        beside = nn.functional.pad(e, (0, 0, 1, 1))  # (U, C + 2, E)
        c = self.filters(torch.cat([beside[:, :-2], e, beside[:, 2:]], dim=2))  # (U, C, H)
        # max_i tanh(c_i) = tanh(max_i c_i)
        inside = torch.arange(letters.shape[1], device=counts.device) < counts[:, None]  # (U, C)
        return torch.tanh(c.masked_fill(~inside[..., None], -torch.inf).amax(dim=1))
