"""Look-ups of n-grams in a trie, for models that back off, and their interpolation.

The plain form of `scores` is `models.ngrams.backoff.BackoffLanguageModel.next_log_probs`, word by word over the same
trie; that of `interpolate` is the equation of the function of that name in `models.ngrams.ngram`.
"""

import numpy as np

from langladder.kernels.compiled import njit
from langladder.text.tokenize.specials import BOS, PAD

LANES = 16  # look-ups in step


@njit()
def scores(
    tokens: np.ndarray,
    order: int,
    words: np.ndarray,
    starts: np.ndarray,
    log_probs: np.ndarray,
    log_backoffs: np.ndarray,
) -> np.ndarray:
    """log P of every token, (B, T) → (B, T) float32; 0 for BOS and PAD.

    Order by order for the whole row, and LANES tokens in step: look-ups do not wait for each other, nor for the memory.
    """
    rows, length = tokens.shape
    found = np.zeros((rows, length), dtype=np.float32)
    ending = np.empty(length, dtype=np.int64)  # the n-gram of the order in hand that ends at each token, or −1
    low, width = np.zeros(LANES, dtype=np.int64), np.zeros(LANES, dtype=np.int64)  # where each search still looks
    wanted = np.zeros(LANES, dtype=np.int32)
    for b in range(rows):
        row, row_scores = tokens[b], found[b]
        for t in range(length):
            ending[t] = row[t]
            if row[t] not in (PAD, BOS):
                row_scores[t] = log_probs[row[t]]
        for _ in range(1, order):
            for last in range(length, 1, -LANES):  # from the right: `ending[t]` is used up before it changes
                first = max(1, last - LANES)
                for t in range(first, last):
                    lane, history = t - first, ending[t - 1]
                    low[lane], width[lane], wanted[lane] = 0, 0, row[t]
                    if history >= 0 and row[t] not in (PAD, BOS) and starts[history] < starts[history + 1]:
                        low[lane], width[lane] = starts[history], starts[history + 1] - starts[history]
                _search(words, low, width, wanted)
                for t in range(last - 1, first - 1, -1):
                    lane, history = t - first, ending[t - 1]
                    ending[t] = -1
                    if history >= 0 and row[t] not in (PAD, BOS):
                        if width[lane] == 1 and words[low[lane]] == row[t]:
                            ending[t] = low[lane]
                            row_scores[t] = log_probs[low[lane]]
                        else:  # a history that was seen, but never before this word
                            row_scores[t] += log_backoffs[history]
            ending[0] = -1
    return found


@njit()
def _search(words: np.ndarray, low: np.ndarray, width: np.ndarray, wanted: np.ndarray) -> None:
    """In each lane: `low` moves to the last of `width` ascending words that is not above `wanted`; `width` to 1."""
    most = width.max()
    while most > 1:
        for lane in range(LANES):
            half = width[lane] // 2
            low[lane] = low[lane] + half if words[low[lane] + half] <= wanted[lane] else low[lane]
            width[lane] -= half
        most -= most // 2


@njit(nogil=True)
def interpolate(
    starts: np.ndarray,
    counts: np.ndarray,
    kept: np.ndarray,
    discount: np.ndarray,
    lower: np.ndarray,
    probs: np.ndarray,
    gammas: np.ndarray,
) -> None:
    """Fill `probs` after, and `gammas` of, each of the histories."""
    for history in range(len(gammas)):
        total, freed = 0.0, 0.0
        for ngram in range(starts[history], starts[history + 1]):
            total += counts[ngram]
            freed += discount[ngram] if kept[ngram] else counts[ngram]
        if total > 0:  # else the text ends after h
            gammas[history] = freed / total
        for ngram in range(starts[history], starts[history + 1]):
            own = counts[ngram] - discount[ngram] if kept[ngram] else 0.0
            probs[ngram] = own / total + gammas[history] * lower[ngram]
