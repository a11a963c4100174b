"""Pairs of responses, the chosen before the rejected one, as batches: functions of (seed, step).

Shape legend: P pairs, N pairs of a batch, T tokens of the longest row, R tokens of the longest response.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from langladder.data.language_modelling import pad_rows
from langladder.data.reading import ReadingBatches
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import EOS


class TokenPair(NamedTuple):
    """A prompt and two responses, ids; the prompt begins with BOS, the responses have no EOS."""

    prompt: Sequence[int]
    chosen: Sequence[int]
    rejected: Sequence[int]


class Answers(NamedTuple):
    """Responses to be read: the N chosen ones, then the N rejected ones.

    Attributes:
        tokens: (2N, T) int64; starts: (2N,), start of the response; mask: (2N, R) bool, its tokens and its EOS.
        reference: (2N,) log π_ref of the responses, summed over their tokens.
    """

    tokens: torch.Tensor
    starts: torch.Tensor
    mask: torch.Tensor
    reference: torch.Tensor


def check_pairs(pairs: Sequence[TokenPair], context: int | None) -> None:
    """Refuse pairs that are useless for training.

    Raises:
        InputError: a response is empty, both are equal, or one does not fit into the policy's context.
    """
    for number, pair in enumerate(pairs):
        if not len(pair.chosen) or not len(pair.rejected):
            raise InputError(f"pair {number}: the {'rejected' if len(pair.chosen) else 'chosen'} response is empty")
        if list(pair.chosen) == list(pair.rejected):
            raise InputError(f"pair {number}: both responses are equal, so neither can be preferred; leave it out")
        longest = len(pair.prompt) + max(len(pair.chosen), len(pair.rejected)) + 1
        if context is not None and longest > context:
            raise InputError(
                f"pair {number}: {longest} tokens with EOS exceed the policy's context of {context}; shorten it, or "
                "choose a base with a longer context"
            )


def answers(pairs: Sequence[TokenPair], reference: np.ndarray) -> Answers:
    """Pairs as one batch; reference (N, 2)."""
    both = [(pair.prompt, pair.chosen) for pair in pairs] + [(pair.prompt, pair.rejected) for pair in pairs]
    rows = [np.array([*prompt, *response, EOS], dtype=np.int64) for prompt, response in both]
    lengths = torch.tensor([len(response) + 1 for _, response in both])  # (2N,)
    return Answers(
        pad_rows(rows),
        torch.tensor([len(prompt) for prompt, _ in both]),
        torch.arange(int(lengths.max())) < lengths[:, None],
        torch.from_numpy(reference.T.ravel().astype(np.float32)),
    )


class PairBatches(ReadingBatches[Answers]):
    """Batches of pairs of about the same length.

    Args:
        train, validation: the pairs; references: (P, 2) log π_ref of the responses of each pair.
    """

    def __init__(
        self,
        train: Sequence[TokenPair],
        validation: Sequence[TokenPair],
        references: tuple[np.ndarray, np.ndarray],
        *,
        batch_size: int,
        seed: int,
    ) -> None:
        splits = (train, validation)

        def collate(training: bool, rows: np.ndarray) -> Answers:
            side = 0 if training else 1
            return answers([splits[side][row] for row in rows], references[side][rows])

        lengths = [[len(p.prompt) + max(len(p.chosen), len(p.rejected)) for p in split] for split in splits]
        super().__init__((lengths[0], lengths[1]), collate, batch_size=batch_size, seed=seed)

    def size(self, batch: Answers) -> int:
        """Pairs of a batch."""
        return len(batch.starts) // 2
