"""Spans of a paragraph: windows over a long one, the tokens that cover an answer, the best spans by their two ends.

Shape legend: N tokens of the paragraph, L longest span, W tokens of a window.
"""

from typing import NamedTuple

import numpy as np

BELOW = -np.inf


class Span(NamedTuple):
    """Tokens first … last of a paragraph, both inside, and their score."""

    first: int
    last: int
    score: float


def windows(length: int, room: int, stride: int) -> list[tuple[int, int]]:
    """(from, to) of the windows over a paragraph, at most `room` tokens each, `stride` apart (Devlin et al. 2019).

    >>> windows(10, 6, 3)
    [(0, 6), (3, 9), (6, 10)]
    """
    found, start = [], 0
    while start + room < length:
        found.append((start, start + room))
        start += min(stride, room)
    return [*found, (start, length)]


def covering(places: np.ndarray, start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token that have characters of start … end − 1; None where no token has any.

    Args:
        places: (N, 2) characters of each token, from and to.
    """
    (inside,) = np.nonzero((places[:, 0] < end) & (places[:, 1] > start) & (places[:, 1] > places[:, 0]))
    return (int(inside[0]), int(inside[-1])) if len(inside) else None


def span_table(length: int, longest: int) -> np.ndarray:
    """(N, L) scores of spans by first token and length − 1; none yet."""
    return np.full((length, max(1, min(longest, length))), BELOW)


def add_window(table: np.ndarray, first: int, starts: np.ndarray, ends: np.ndarray) -> None:
    """Put the spans of a window into the table, in place; of one that two windows have, the better score stays.

    Args:
        table: (N, L). first: the window's first token. starts, ends: (W,) S·T_i and E·T_j.
    """
    W = len(starts)
    for more in range(min(table.shape[1], W)):
        # s_ij = S·T_i + E·T_j,  j = i + more
        scores = starts[: W - more] + ends[more:]  # (W − more,)
        rows = table[first : first + W - more, more]
        np.maximum(rows, scores, out=rows)


def best_spans(table: np.ndarray, count: int) -> list[Span]:
    """The spans of highest score, the best first; of equal ones that which begins first."""
    flat = table.ravel()
    count = min(count, int(np.isfinite(flat).sum()))
    if not count:
        return []
    best = np.argpartition(-flat, count - 1)[:count]
    best = best[np.lexsort((best, -flat[best]))]
    rows, more = np.divmod(best, table.shape[1])
    return [Span(int(i), int(i + m), float(flat[at])) for i, m, at in zip(rows, more, best, strict=True)]


def total(table: np.ndarray, none: float) -> float:
    """ln of the sum of e to the scores of all spans, and of there being no answer."""
    values = np.append(table[np.isfinite(table)], none)
    top = float(values.max())
    return top + float(np.log(np.exp(values - top).sum()))
