"""Masked tokens (Devlin et al. 2019, section 3.1, task 1, and appendix A.1), drawn again at every step.

Of each row's n tokens without specials, max(1, round(share · n)) must be predicted. Of these

    hidden (80 %)     become `<mask>`
    random (10 %)     become any token of the vocabulary
    the rest (10 %)   stay, so that the network cannot trust its input

The share can fall linearly from `share` to `last` (Ankner et al. 2024, section 2: many gaps train
faster, few gaps are like the later use of the network).

With whole words (the authors' later models) words are drawn until their tokens reach that number, and all tokens of a
word are to be predicted; each of them is hidden, exchanged or kept independently.

Shape legend: B rows, T positions, N tokens that may be masked, M masked ones, W words, V vocabulary.
"""

from typing import NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.ground.schema import Config
from langladder.text.tokenize.specials import BOS, EOS, NAMES, PAD, RESERVED
from langladder.text.tokenize.tokenizers import WordStarts


class Masking(Config):
    """The choice of tokens to predict, and of their replacements."""

    share: float = Field(default=0.15, gt=0, lt=1)  # of a row's tokens
    hidden: float = Field(default=0.8, ge=0, le=1)  # of these: replaced by `<mask>`
    random: float = Field(default=0.1, ge=0, le=1)  # of these: replaced by a random token
    whole_words: bool = False
    last: float | None = Field(default=None, gt=0, lt=1)  # share at the last step; null: constant

    def at(self, done: float) -> Self:
        """The masking at a point of the training, 0 … 1."""
        if self.last is None:
            return self
        # share_t = share + (last − share) t
        return self.model_copy(update={"share": self.share + (self.last - self.share) * done, "last": None})

    @model_validator(mode="after")
    def _shares_fit(self) -> Self:
        if self.hidden + self.random > 1:
            raise ValueError(f"hidden={self.hidden} and random={self.random}: their sum must be at most 1")
        return self


class Gaps(NamedTuple):
    """tokens (B, T) int64, the input; positions (M,) int64 among the B·T, ascending; targets (M,) int64."""

    tokens: np.ndarray
    positions: np.ndarray
    targets: np.ndarray


def mask_tokens(
    tokens: np.ndarray, masking: Masking, vocab_size: int, random: np.random.Generator, words: WordStarts | None = None
) -> Gaps:
    """Draw gaps.

    Args:
        tokens: (B, T) int64, rows with their specials, right-padded.
        vocab_size: V, with `<sep>`, `<cls>`, `<mask>` as its last three.
        words: which tokens begin words, for whole words.
    """
    rows, length = tokens.shape
    flat = tokens.flatten()
    candidates = np.flatnonzero(maskable(flat, vocab_size))  # (N,)
    row = candidates // length
    count = np.bincount(row, minlength=rows)  # (B,) tokens of each row
    wanted = np.maximum(1, np.round(masking.share * count)).astype(np.int64)
    word = _words(flat, candidates, words) if masking.whole_words and words is not None else np.arange(len(candidates))
    key = random.random(word[-1] + 1 if len(word) else 0)[word]  # (N,): one draw per word
    order = np.lexsort((key, row))
    rank = np.empty(len(candidates), dtype=np.int64)
    rank[order] = np.arange(len(candidates)) - np.repeat(np.cumsum(count) - count, count)
    drawn = np.zeros(word[-1] + 1 if len(word) else 0, dtype=bool)
    drawn[word[rank < wanted[row]]] = True
    positions = candidates[drawn[word]]  # (M,)
    targets = flat[positions]
    read = flat.copy()
    chance = random.random(len(positions))
    read[positions[chance < masking.hidden]] = vocab_size - 1
    swapped = positions[(chance >= masking.hidden) & (chance < masking.hidden + masking.random)]
    read[swapped] = random.integers(len(NAMES), vocab_size - len(RESERVED), len(swapped))
    return Gaps(read.reshape(rows, length), positions, targets)


def maskable(tokens: np.ndarray, vocab_size: int) -> np.ndarray:
    """True for tokens of text: all except PAD, BOS, EOS and the three reserved ones."""
    special = (tokens == PAD) | (tokens == BOS) | (tokens == EOS)
    ordinary: np.ndarray = ~special & (tokens < vocab_size - len(RESERVED))
    return ordinary


def _words(flat: np.ndarray, candidates: np.ndarray, words: WordStarts) -> np.ndarray:
    """The word number, 0 … W − 1, of each of the N tokens. A token after a special token also begins a word."""
    before = flat[candidates - 1]  # a row begins with <cls>, so there is always one
    gap_before = np.diff(candidates, prepend=-1) > 1
    begins = words.opens[flat[candidates]] | words.closes[before] | gap_before
    begins[:1] = True
    numbers: np.ndarray = np.cumsum(begins) - 1
    return numbers
