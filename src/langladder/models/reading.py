"""How texts reach the networks that read them whole, and how a rung of reading is made.

All makers of classifiers are called as

    model, made = maker(kind, labels, train, validation, settings=…, run=…, …)

    kind         the class that the rung names
    labels       their names, in the order of their ids
    train        labelled examples
    validation   the same, to watch
    settings     what the rung's file says: `model`, and for networks `input` and `training`
    run          as in `models.making`
    tokenizer    path of the text's tokenizer, for subwords
    base         folder of the rung that it grows from: of its word vectors, instead of those that `settings.input`
                 names, or of the network whose weights it takes

Shape legend: B rows, T positions.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from langladder.nn.tree_lstm import CompiledTree, Forest, join
from langladder.text.tokenize.specials import PAD


class Encoded(NamedTuple):
    """One example: ids (T,) int32, and its tree where the network reads trees."""

    ids: np.ndarray
    tree: CompiledTree | None = None


class Reading(NamedTuple):
    """A batch: tokens (B, T) int64, right-padded with PAD; lengths (B,) int64; the rows' trees, or none."""

    tokens: torch.Tensor
    lengths: torch.Tensor
    forest: Forest | None = None

    @property
    def mask(self) -> torch.Tensor:
        """(B, T) bool, true where there is a token."""
        return self.tokens != PAD


def collate(rows: Sequence[Encoded]) -> Reading:
    """Examples as one padded batch."""
    lengths = torch.tensor([len(row.ids) for row in rows])
    tokens = np.full((len(rows), int(lengths.max())), PAD, dtype=np.int64)
    for place, row in enumerate(rows):
        tokens[place, : len(row.ids)] = row.ids
    trees = [row.tree for row in rows if row.tree is not None]
    return Reading(torch.from_numpy(tokens), lengths, join(trees) if trees else None)
