"""Numba kernels for counting: pairs of words, and n-grams as a trie.

Shape legend: T words of text, R lines, P positions of a part of the text, V words of the vocabulary, m window, E
entries of a matrix, G n-grams.
"""

import numpy as np

from langladder.kernels.compiled import njit
from langladder.text.tokenize.specials import BOS

FEW = 64  # a row with entries in more than 1/64 of all columns is sorted by a scan of the columns


@njit(nogil=True)
def count_rows(
    text: np.ndarray,
    positions: np.ndarray,
    starts: np.ndarray,
    units: np.ndarray,
    before: int,
    behind: int,
    first: int,
    last: int,
    lengths: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
) -> int:
    """Count the neighbours of the words `first` … `last − 1`; returns the number of entries.

    Args:
        text: int32 word ids, with −1 before, between and after lines.
        positions: (P,) int64 positions in `text`, sorted by the word at the position.
        starts: (V + 1,) int64, start of each word's positions.
        units: (m,) int64, the count of a pair at each distance.
        before, behind: words of the window before and after the centre.
        lengths: filled with the number of entries of each row.
        columns, values: filled with the entries, columns ascending in each row; `columns` has one extra slot.
    """
    row = np.zeros(len(starts) - 1, dtype=np.int64)  # counts of the neighbours of one word, dense
    end = 0
    for word in range(first, last):
        begin = end
        for slot in range(starts[word], starts[word + 1]):
            for d in range(before):
                other = text[positions[slot] - 1 - d]
                if other < 0:
                    break
                columns[end] = other
                end += row[other] == 0
                row[other] += units[d]
            for d in range(behind):
                other = text[positions[slot] + 1 + d]
                if other < 0:
                    break
                columns[end] = other
                end += row[other] == 0
                row[other] += units[d]
        _sort_columns(row, columns[begin:end])
        for entry in range(begin, end):
            values[entry] = row[columns[entry]]
            row[columns[entry]] = 0
        lengths[word - first] = end - begin
    return end


@njit(nogil=True)
def _sort_columns(row: np.ndarray, columns: np.ndarray) -> None:
    """Sort the columns of the non-zero entries of a dense row."""
    if len(columns) * FEW < len(row):
        columns.sort()
        return
    rows = 0
    for column in range(len(row)):
        if row[column]:
            columns[rows] = column
            rows += 1


@njit()
def extension(words: np.ndarray, starts: np.ndarray, ngram: int, word: int) -> int:
    """The number of the n-gram `ngram` followed by `word`; −1 if it is not in the text."""
    low, end = starts[ngram], starts[ngram + 1]
    width = end - low
    while width > 1:  # without a branch: `low` stays, or moves to the middle
        half = width // 2
        low = low + half if words[low + half] <= word else low
        width -= half
    return low if low < end and words[low] == word else -1


@njit()
def numbers(words: np.ndarray, starts: np.ndarray, ngrams: np.ndarray) -> np.ndarray:
    """The number of each n-gram, (M, n) word ids → (M,); −1 if it is not in the text."""
    results = np.empty(len(ngrams), dtype=np.int64)
    for i in range(len(ngrams)):
        number = int(ngrams[i, 0])
        for n in range(1, ngrams.shape[1]):
            if number >= 0:
                number = extension(words, starts, number, ngrams[i, n])
        results[i] = number
    return results


@njit(nogil=True)
def lengthen(
    ids: np.ndarray,
    by_word: np.ndarray,
    scratch: np.ndarray,
    base: int,
    end: int,
    ending: np.ndarray,
    longer: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    suffixes: np.ndarray,
    starts: np.ndarray,
) -> int:
    """Number the n-grams that are one word longer than n-grams base … end − 1; returns the number after the last one.

    The positions, which are in the order of their words, are sorted by their histories with a stable counting sort.
    They are then in the order of the trie, with equal n-grams next to each other.

    Args:
        ids: (T,) int32 words.
        by_word: (P,) int32 positions of all words but BOS, sorted by word.
        scratch: (P,) int32, working memory.
        ending: (T,) int32 numbers of the n-grams of order n that end at each position; −1 where none does.
        longer: (T,) int32, filled with the same for order n + 1.
        words, counts, suffixes: filled from `end` on, for each of the new n-grams.
        starts: filled from `base` + 1 on, for each of the old n-grams except the first, whose extensions begin at
            `end`.
    """
    bounds = np.zeros(end - base + 1, dtype=np.int32)  # start of each history's positions in `scratch` …
    for t in range(1, len(ids)):
        if ids[t] != BOS and ending[t - 1] >= 0:
            bounds[ending[t - 1] - base + 1] += 1
    for history in range(end - base):
        bounds[history + 1] += bounds[history]
    for t in by_word:
        if ending[t - 1] >= 0:
            history = ending[t - 1] - base
            scratch[bounds[history]] = t
            bounds[history] += 1  # … and, from here on, their end

    longer[:] = -1
    new, i = end - 1, 0
    for history in range(end - base):
        before = -1
        while i < bounds[history]:
            t = scratch[i]
            if ids[t] != before:
                before = ids[t]
                new += 1
                words[new] = before
                counts[new] = 0
                suffixes[new] = ending[t]  # (w_2 … w_{n+1}) ends at the same position as (w_1 … w_{n+1})
            counts[new] += 1
            longer[t] = new
            i += 1
        starts[base + history + 1] = new + 1
    return new + 1
