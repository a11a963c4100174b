"""Skip-gram and CBOW with negative sampling and subword input vectors: the loop over the text.

Bojanowski et al. 2017, section 3. P(w) are the parts of a word: the word itself and its character n-grams. In
skip-gram, the input is the centre word and the targets are the words of its window. In CBOW, the inputs are the words
of the window and the target is the centre:

    h = mean of z_p over the parts p of all input words
    J(o) = −log σ(u_o · h) − Σ_{k=1..K} log σ(−u_{n_k} · h),     n_k ~ noise, except the target o

The vectors u and z are updated with the gradient of each target in turn. Each part gets the full gradient with respect
to h, although the gradient of the mean would be 1/|P| of it. The fastText tool does the same, because words of many
parts would otherwise learn too slowly. All parts get the same update, so h also moves by it; the table of parts is read
and written only once per window, not once per target.

Shape legend: V words, P rows of parts (V words, then the n-gram buckets in use), D dimensions, T ids, R lines.
Functions take matrices with row numbers, never views of rows: creating a view costs more than a short loop.
"""

from typing import NamedTuple

import numpy as np

from langladder.kernels.compiled import Untyped, njit
from langladder.kernels.word2vec.drawing import AliasTable, draw_noise, subsample

BOUND = 8  # beyond ±8 the sigmoid has its value at ±8, like in the tool
STEPS = 4096


def _sigmoids() -> tuple[np.ndarray, np.ndarray]:
    """Tables of σ(x) and −log σ(x) at STEPS + 1 points from −BOUND to BOUND, float32 each."""
    x = np.linspace(-BOUND, BOUND, STEPS + 1)
    return (1 / (1 + np.exp(-x))).astype(np.float32), np.log1p(np.exp(-x)).astype(np.float32)


SIGMOID, LOSS = _sigmoids()


@njit(nogil=True, fastmath=True)
def _regress(
    h: np.ndarray, gradient: np.ndarray, output: np.ndarray, word: Untyped, label: int, rate: np.float32
) -> Untyped:
    """One step of the logistic regression σ(u_word · h) ≈ label. It updates u, adds to the step of h, and returns the
    loss."""
    dot = np.float32(0)
    for d in range(len(h)):
        dot += output[word, d] * h[d]
    dot = min(max(dot, np.float32(-BOUND)), np.float32(BOUND))
    position = int((dot + np.float32(BOUND)) * np.float32(STEPS / (2 * BOUND)) + np.float32(0.5))
    step = (np.float32(label) - SIGMOID[position]) * rate  # −lr ∂J/∂(u·h)
    for d in range(len(h)):
        u = output[word, d]
        gradient[d] += step * u
        output[word, d] = u + step * h[d]
    return LOSS[position] if label == 1 else LOSS[STEPS - position]


@njit(nogil=True, fastmath=True)
def _move(h: np.ndarray, moved: np.ndarray, gradient: np.ndarray) -> None:
    """Update h with a target's gradient, add it to the sum, and reset it for the next target."""
    for d in range(len(h)):
        h[d] += gradient[d]
        moved[d] += gradient[d]
        gradient[d] = 0


@njit(nogil=True, fastmath=True)
def _add_parts(table: np.ndarray, parts: np.ndarray, first: int, last: int, h: np.ndarray) -> None:
    """h ← h + Σ z_p."""
    for position in range(first, last):
        part = parts[position]
        for d in range(len(h)):
            h[d] += table[part, d]


@njit(nogil=True, fastmath=True)
def _move_parts(table: np.ndarray, parts: np.ndarray, first: int, last: int, step: np.ndarray) -> None:
    """z_p ← z_p + step."""
    for position in range(first, last):
        part = parts[position]
        for d in range(len(step)):
            table[part, d] += step[d]


class PartTables(NamedTuple):
    """The learnt vectors, and the parts of each word.

    Attributes:
        parts: int32 rows of `table`; word w has `parts[bounds[w] : bounds[w + 1]]`; bounds: (V + 1,) int64.
        table: (P, D) float32, z; output: (V, D) float32, u.
    """

    parts: np.ndarray
    bounds: np.ndarray
    table: np.ndarray
    output: np.ndarray


class Drawing(NamedTuple):
    """The settings of random draws.

    Attributes:
        keep: (V,) float32 probabilities to keep an occurrence; noise: the distribution of noise words.
        window: the maximum window; dynamic: whether each centre draws its window from 1 to `window`; negatives: K.
    """

    keep: np.ndarray
    noise: AliasTable
    window: int
    dynamic: bool
    negatives: int


@njit(nogil=True, fastmath=True)
def train_lines(
    ids: np.ndarray, ends: np.ndarray, tables: PartTables, drawing: Drawing, cbow: bool, rate: float, seed: int
) -> tuple[float, int]:
    """One pass over some lines; changes the tables in place.

    Args:
        ids: (T,) int32, read-only; ends: (R,) int64 ends of the lines, the last one T.

    Returns:
        Sum of J, each term computed before its update, and the number of targets.
    """
    parts, bounds, table, output = tables
    keep, noise, window, dynamic, negatives = drawing
    state = np.array([seed], dtype=np.uint64)
    words, before, after, count_of_words = subsample(ids, ends, keep, window, dynamic, state)
    drawn = np.empty(negatives, dtype=np.int64)
    dim = table.shape[1]
    h, moved, gradient = np.zeros(dim, np.float32), np.zeros(dim, np.float32), np.zeros(dim, np.float32)
    step = np.float32(rate)
    loss, targets = 0.0, 0
    for centre in range(count_of_words):
        first, last = centre - before[centre], centre + after[centre] + 1
        if last - first == 1:
            continue
        h[:] = 0
        moved[:] = 0
        count = 0
        for position in range(first, last):
            if (position == centre) != cbow:
                begin, end = bounds[words[position]], bounds[words[position] + 1]
                _add_parts(table, parts, begin, end, h)
                count += end - begin
        h *= np.float32(1 / count)
        for position in range(first, last):
            if (position == centre) == cbow:
                loss += _regress(h, gradient, output, words[position], 1, step)
                draw_noise(noise, state, drawn)
                for word in drawn:
                    if word != words[position]:
                        loss += _regress(h, gradient, output, word, 0, step)
                _move(h, moved, gradient)
                targets += 1
        for position in range(first, last):
            if (position == centre) != cbow:
                _move_parts(table, parts, bounds[words[position]], bounds[words[position] + 1], moved)
    return loss, targets


@njit()
def hash_ngrams(
    data: np.ndarray, ends: np.ndarray, min_n: int, max_n: int, buckets: int
) -> tuple[np.ndarray, np.ndarray]:
    """`fnv1a` of each n-gram, extended one character at a time from each position in each word."""
    hashes = np.empty(len(data) * (max_n - min_n + 1), dtype=np.int64)
    bounds = np.zeros(len(ends), dtype=np.int64)
    count = 0
    for word in range(len(ends) - 1):
        first, last = ends[word], ends[word + 1]
        for start in range(first, last):
            if data[start] & 0xC0 == 0x80:  # in the middle of a character
                continue
            h = np.uint32(2166136261)
            end = start
            for n in range(1, max_n + 1):
                if end == last:
                    break
                while True:  # one character: its first byte and its continuation bytes
                    byte = np.uint32(data[end])
                    h = np.uint32((h ^ (byte if byte < 128 else byte | np.uint32(0xFFFFFF00))) * np.uint32(16777619))
                    end += 1
                    if end == last or data[end] & 0xC0 != 0x80:
                        break
                if n >= min_n and not (n == 1 and (start == first or end == last)):
                    hashes[count] = h % np.uint32(buckets)
                    count += 1
        bounds[word + 1] = count
    return hashes[:count].copy(), bounds
