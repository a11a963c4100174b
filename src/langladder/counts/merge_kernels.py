"""Numba kernel of `langladder.counts.spilled`: rows of several matrices added up.

Shape legend: P parts, n rows, E entries of all parts together, F entries of the sum, C columns.
"""

import numpy as np

from langladder.compiled import njit

FEW = 64  # a row with more than a 64th of all columns is read out by looking at each column


@njit(nogil=True)
def add_rows(
    bounds: np.ndarray, columns: np.ndarray, values: np.ndarray, width: int, scale: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sum of P matrices of n rows, divided by `scale`.

    Args:
        bounds: (P, n + 1) int64 where the rows of each part stand in the arrays that follow.
        columns: (E,) int32.
        values: (E,) int64, none is zero.
        width: C.

    Returns:
        lengths (n,) int64 of the sum's rows, columns (F,) int32 ascending in each row, values (F,) float64.
    """
    parts, rows = bounds.shape[0], bounds.shape[1] - 1
    total = np.zeros(width, dtype=np.int64)  # dense: the row in hand
    lengths = np.empty(rows, dtype=np.int64)
    out_columns, out_values = np.empty(len(columns) + 1, dtype=np.int32), np.empty(len(columns))
    end = 0
    for row in range(rows):
        begin = end
        for part in range(parts):
            for entry in range(bounds[part, row], bounds[part, row + 1]):
                column = columns[entry]
                out_columns[end] = column
                end += total[column] == 0
                total[column] += values[entry]
        if (end - begin) * FEW < width:
            out_columns[begin:end].sort()
        else:
            end = begin
            for column in range(width):
                out_columns[end] = column
                end += total[column] != 0
        for entry in range(begin, end):
            out_values[entry] = total[out_columns[entry]] / scale
            total[out_columns[entry]] = 0
        lengths[row] = end - begin
    return lengths, out_columns[:end], out_values[:end]
