"""Look-ups of n-grams in a trie, for back-off models, and the interpolation of orders.

The plain form of `scores` is `models.ngrams.backoff.BackoffLanguageModel.next_log_probs`, which reads the same trie
word by word. The plain form of `interpolate` is the function of the same name in `models.ngrams.ngram`.
"""

import numpy as np

from langladder.kernels.compiled import njit
from langladder.text.tokenize.specials import BOS, PAD

LANES = 16  # number of interleaved look-ups


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

    It processes the row order by order, with LANES interleaved look-ups, so that they do not wait for memory one by
    one.
    """
    rows, length = tokens.shape
    table = np.zeros((rows, length), dtype=np.float32)
    ending = np.empty(length, dtype=np.int64)  # the n-gram of the current order that ends at each token, or −1
    low, width = np.zeros(LANES, dtype=np.int64), np.zeros(LANES, dtype=np.int64)  # current range of each search
    wanted = np.zeros(LANES, dtype=np.int32)
    for b in range(rows):
        row, row_scores = tokens[b], table[b]
        for t in range(length):
            ending[t] = row[t]
            if row[t] not in (PAD, BOS):
                row_scores[t] = log_probs[row[t]]
        for _ in range(1, order):
            for last in range(length, 1, -LANES):  # right to left, so that `ending[t]` is read before it changes
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
                        else:  # a known history that this word never follows
                            row_scores[t] += log_backoffs[history]
            ending[0] = -1
    return table


@njit()
def _search(words: np.ndarray, low: np.ndarray, width: np.ndarray, wanted: np.ndarray) -> None:
    """Binary search in each lane: `low` moves to the last of `width` ascending words that is ≤ `wanted`; `width`
    becomes 1."""
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
    """Fill the `probs` of the words after each history, and the `gammas` of the histories."""
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
