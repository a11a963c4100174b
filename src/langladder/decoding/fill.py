"""Filling the gaps of a sentence: the most probable tokens for each `<mask>`, given the rest.

Several gaps are filled independently, with the other gaps still masked, because an encoder has no joint probability of
several words.
"""

from typing import NamedTuple

import numpy as np
import torch

from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT
from langladder.models.encoders.encoder import Masked
from langladder.text.tokenize.specials import RESERVED
from langladder.text.tokenize.tokenizers import Tokenizer

GAP = RESERVED[2]


class Filling(NamedTuple):
    """A token for a gap, as text, and its probability."""

    text: str
    probability: float


def fill(model: BERT, tokenizer: Tokenizer, sentence: str, *, best: int = 5) -> list[list[Filling]]:
    """For each gap of the sentence its likeliest tokens, the likeliest first.

    Raises:
        InputError: there is no gap, or the sentence is longer than the encoder's context.
    """
    ids = gapped(tokenizer, sentence)
    tokens = torch.from_numpy(model.framed(ids)[0])[None]  # (1, T)
    if tokens.shape[1] > model.context:
        raise InputError(f"{sentence[:60]!r}: {tokens.shape[1]} tokens exceed the encoder's context of {model.context}")
    positions = (tokens[0] == model.mask).nonzero()[:, 0]
    none = torch.zeros(0, dtype=torch.int64)
    batch = Masked(tokens, torch.zeros_like(tokens), positions, torch.zeros_like(positions), none)
    scores = model.masked_log_probs(batch)
    scores[:, [token for token in range(model.vocab_size) if token not in _text(tokenizer)]] = -torch.inf
    top = scores.topk(min(best, len(_text(tokenizer))), dim=1)
    return [
        [Filling(tokenizer.piece(token).strip(), p) for token, p in zip(ids, ps, strict=True)]
        for ids, ps in zip(top.indices.tolist(), top.values.exp().tolist(), strict=True)
    ]


def gapped(tokenizer: Tokenizer, sentence: str) -> np.ndarray:
    """The ids of a sentence in which each `<mask>` represents a token: a separate word, or the end of a word.

    Raises:
        InputError: there is no `<mask>`.
    """
    parts = sentence.split(GAP)
    if len(parts) < 2:
        raise InputError(f"{sentence[:60]!r}: has no {GAP}; write it in place of a missing word")
    # a space before a gap is part of the token that fills it, if tokens include their spaces
    ids = [
        tokenizer.encode(part.rstrip() if position < len(parts) - 1 else part) for position, part in enumerate(parts)
    ]
    mask = np.array([tokenizer.special_id(GAP)], dtype=np.int32)
    joined = [piece for part in ids for piece in (part, mask)][:-1]
    return np.concatenate(joined)


def _text(tokenizer: Tokenizer) -> set[int]:
    return set(tokenizer.ordinary)
