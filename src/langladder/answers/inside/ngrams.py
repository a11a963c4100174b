"""Inside an n-gram model: the computation of one probability, from single words to the longest history.

    P(w | h) = p(h w)            where the tables have the n-gram h w
             = b(h) P(w | h′)    else, h′ being h without its first word (b = 1 where they do not have h)

Interpolated models (Kneser-Ney, absolute discounting, Witten-Bell) keep p(h w) as a sum, which is taken apart again:

    p(h w) = (a(h w) − D) / Σ_x a(h x) + γ(h) P(w | h′),   γ(h) = b(h)

The tables hold probabilities and no counts. Counts are made from the training tokens, where these are at hand; D
follows from them. For Kneser-Ney a(h w) is the count at the highest order, and of n-grams that open with BOS; below it
is the number of different words that come before h w.
"""

import math
from typing import NamedTuple

import numpy as np

from langladder.models.ngrams.absolute_discounting import AbsoluteDiscounting
from langladder.models.ngrams.backoff import BackoffLanguageModel, Entry
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.ngrams.witten_bell import WittenBell
from langladder.text.tokenize.specials import BOS

INTERPOLATED = (KneserNey, AbsoluteDiscounting, WittenBell)
MOST_COUNTED = 5_000_000  # training tokens that are searched for counts: a tenth of a second for each million


class Counts(NamedTuple):
    """Counts in the training text.

    Attributes:
        history: count of h before any word. ngram: count of h w. used: a(h w), the model's count. total: Σ_x a(h x).
            before: whether `used` is the number of distinct words before h w.
    """

    history: int
    ngram: int
    used: int
    total: int
    before: bool


class Step(NamedTuple):
    """One length of the history.

    Attributes:
        history: its ids. followers: different words after it, in the tables.
        seen: whether the tables have h w; known: whether they have h.
        probability: P(w | h) with this history; below: with the next shorter one (None: there is none).
        backoff: b(h) = γ(h), 1 where the tables do not have h.
        share: p(h w) − γ(h) P(w | h′), what this history itself gives; None where that is not how the model works.
        discount: D; None where no counts are at hand.
    """

    history: tuple[int, ...]
    followers: int
    seen: bool
    known: bool
    probability: float
    below: float | None
    backoff: float
    share: float | None
    counts: Counts | None
    discount: float | None


def steps(model: BackoffLanguageModel, prefix: list[int], token: int, ids: np.ndarray | None = None) -> list[Step]:
    """How the probability of a token after a prefix comes about, the empty history first; the last is the answer.

    Args:
        ids: the training tokens, (N,); None: they are not at hand.
    """
    if ids is not None and len(ids) > MOST_COUNTED:
        ids = None
    result: list[Step] = []
    for entry in model.entries(np.array(prefix), token):
        result.append(_step(model, entry, token, result[-1].probability if result else None, ids))
    return result


def _step(model: BackoffLanguageModel, entry: Entry, token: int, below: float | None, ids: np.ndarray | None) -> Step:
    seen, known = entry.log_prob is not None, entry.log_backoff is not None
    backoff = math.exp(entry.log_backoff) if entry.log_backoff is not None else 1.0
    probability = math.exp(entry.log_prob) if entry.log_prob is not None else backoff * (below or 0.0)
    share = None
    if isinstance(model, INTERPOLATED) and seen and below is not None:
        share = max(0.0, probability - backoff * below)
    counts = None if ids is None else _counts(model, ids, entry.history, token)
    discount = None
    if counts is not None and share is not None and counts.total:
        discount = counts.used - share * counts.total
    return Step(entry.history, entry.followers, seen, known, probability, below, backoff, share, counts, discount)


def _counts(model: BackoffLanguageModel, ids: np.ndarray, history: tuple[int, ...], token: int) -> Counts:
    """The counts of h w, and of h with any next word."""
    length = len(history)
    after = _starts(ids, history) + length  # of the words after h
    after = after[after < len(ids)]
    after = after[ids[after] != BOS]
    ngram = after[ids[after] == token] - length
    before = isinstance(model, KneserNey) and length < model.order - 1 and history[:1] != (BOS,)
    if not before:
        return Counts(len(after), len(ngram), len(ngram), len(after), False)
    used = len(np.unique(ids[ngram[ngram > 0] - 1]))
    first = after[after > length] - length - 1
    pairs = ids[first].astype(np.int64) * (model.vocab_size + 1) + ids[first + length + 1]
    return Counts(len(after), len(ngram), used, len(np.unique(pairs)), True)


def _starts(ids: np.ndarray, ngram: tuple[int, ...]) -> np.ndarray:
    """Where an n-gram begins; of the empty one every place."""
    if not ngram:
        return np.arange(len(ids))
    starts = np.flatnonzero(ids[: len(ids) - len(ngram) + 1] == ngram[0])
    for position, word in enumerate(ngram[1:], start=1):
        starts = starts[ids[starts + position] == word]
    return starts
