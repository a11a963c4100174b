"""Reading a CTC network (Graves et al. 2006): the map B, the probability of a labelling, two ways to search.

At each frame the network gives a distribution over the labels and a blank (label 0). A path π names one of them a
frame. B merges repeats and then drops blanks, so that many paths read the same:

    B(h h e _ l l _ l o) = h e l l o        B(h h e e l l l o) = h e l o
    P(l | x) = Σ_{π : B(π) = l} ∏_t y_t(π_t)                                                        equation 3

- Greedy (best path): B of each frame's best label. The best path need not read as the best labelling.
- Prefix beam search (Graves 2006, section 3.2; here frame by frame with pruning, as Hannun et al. 2014): the W most
  probable prefixes, each with all the paths that read so far as it does. A prefix carries two sums, for paths that
  end in a blank and paths that end in its last label, because only the former may repeat that label as a new one.

All sums are of logarithms. Shapes: T frames, A + 1 labels with the blank, U labels of a labelling.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

BLANK = 0


class Labelling(NamedTuple):
    """labels, without blanks, and the natural log of the probability of the paths found for them."""

    labels: tuple[int, ...]
    log_prob: float


def collapse(path: Sequence[int]) -> tuple[int, ...]:
    """B(π): merge repeats, then drop blanks."""
    merged = [label for position, label in enumerate(path) if position == 0 or label != path[position - 1]]
    return tuple(label for label in merged if label != BLANK)


def greedy(log_probs: np.ndarray) -> Labelling:
    """Best path of (T, A + 1): B(π*) with π*_t = argmax_k y_t(k), and the log-probability of that one path."""
    path = log_probs.argmax(axis=1)
    return Labelling(collapse(path.tolist()), float(log_probs.max(axis=1).sum()))


def labelling_log_prob(log_probs: np.ndarray, labels: Sequence[int]) -> float:
    """log P(l | x) by the forward algorithm (section 4.1): log_probs (T, A + 1), U labels; −inf if T is too short.

    l' is l with a blank before, between and after its labels (2U + 1 places); α_t(s) sums the paths of t frames that
    have come as far as place s:

        α_t(s) = y_t(l'_s) · (α_{t−1}(s) + α_{t−1}(s − 1) + [l'_s is no blank and l'_s ≠ l'_{s−2}] α_{t−1}(s − 2))
        P(l | x) = α_T(2U + 1) + α_T(2U)
    """
    extended = np.full(2 * len(labels) + 1, BLANK)
    extended[1::2] = labels
    skips = np.zeros(len(extended), dtype=bool)
    skips[2:] = (extended[2:] != BLANK) & (extended[2:] != extended[:-2])
    alpha = np.full(len(extended), -np.inf)
    alpha[0] = 0.0  # before the first frame: from here the first blank and the first label can be reached
    for y in log_probs:
        shifted = np.concatenate([[-np.inf], alpha[:-1]])
        two = np.where(skips, np.concatenate([[-np.inf, -np.inf], alpha[:-2]])[: len(alpha)], -np.inf)
        alpha = y[extended] + np.logaddexp(np.logaddexp(alpha, shifted), two)
    return float(np.logaddexp.reduce(alpha[-2:]))


def prefix_beam_search(log_probs: np.ndarray, width: int, cutoff: float = 0.0) -> list[Labelling]:
    """The most probable labellings of (T, A + 1), best first, at most `width`.

    Args:
        width: W. With as many as there are prefixes the search is exhaustive and its probabilities are exact; with
            fewer they leave out paths that went through a dropped prefix.
        cutoff: labels less probable than this at a frame do not extend a prefix there; 0 = all do.
    """
    least = math.log(cutoff) if cutoff > 0 else -math.inf
    beam: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, -math.inf)}  # prefix: log p_blank, log p_label
    for y in log_probs.tolist():
        likely = [k for k in range(1, len(y)) if y[k] >= least]
        extended: dict[tuple[int, ...], tuple[float, float]] = {}
        for prefix, (blank, label) in beam.items():
            both = log_add(blank, label)
            # the prefix stays: by a blank, or by its last label once more
            stays = label + y[prefix[-1]] if prefix else -math.inf
            _add(extended, prefix, both + y[BLANK], stays)
            for k in likely:
                # it grows by k; by its own last label only over a blank
                _add(extended, (*prefix, k), -math.inf, y[k] + (blank if prefix and k == prefix[-1] else both))
        best = sorted(extended, key=lambda prefix: log_add(*extended[prefix]), reverse=True)[:width]
        beam = {prefix: extended[prefix] for prefix in best}
    return [Labelling(prefix, log_add(*sums)) for prefix, sums in beam.items()]


def _add(beam: dict[tuple[int, ...], tuple[float, float]], prefix: tuple[int, ...], blank: float, label: float) -> None:
    if blank == label == -math.inf:
        return
    before = beam.get(prefix, (-math.inf, -math.inf))
    beam[prefix] = log_add(before[0], blank), log_add(before[1], label)


def log_add(a: float, b: float) -> float:
    """log(eᵃ + eᵇ)."""
    if a < b:
        a, b = b, a
    return a if b == -math.inf else a + math.log1p(math.exp(b - a))
