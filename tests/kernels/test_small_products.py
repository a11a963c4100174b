"""The products and combinations that kernels share, and the sums of eight they are made of."""

import numpy as np
import pytest

from langladder.kernels.compiled import njit
from langladder.kernels.simd import load8, store_sums4, sum8
from langladder.kernels.small_products import combinations, products


@njit(nogil=True)
def _both_sums(rows: np.ndarray, item: np.ndarray, four: np.ndarray) -> None:
    for i in range(4):
        item[0, i] = sum8(load8(rows, i, 0))
    store_sums4(four, 0, 0, load8(rows, 0, 0), load8(rows, 1, 0), load8(rows, 2, 0), load8(rows, 3, 0))


def test_four_sums_are_sum8_to_the_bit() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows = (rng.standard_normal((4, 8)) * 10.0 ** rng.integers(-3, 4, (4, 8))).astype(np.float32)
        item, four = np.zeros((1, 4), np.float32), np.zeros((1, 4), np.float32)
        _both_sums(rows, item, four)
        assert item.tobytes() == four.tobytes()
        a, b = rows[:, :4], rows[:, 4:]
        halves = a + b  # ((0+4)+(2+6)) + ((1+5)+(3+7))
        assert np.array_equal(four[0], (halves[:, 0] + halves[:, 2]) + (halves[:, 1] + halves[:, 3]))


@pytest.mark.parametrize("width", [8, 32, 104])
def test_products_and_combinations_parity_with_numpy(width: int) -> None:
    rng = np.random.default_rng(width)
    A, B = (rng.standard_normal((rows, width)).astype(np.float32) for rows in (6, 11))
    scores = np.zeros((6, 8), np.float32)
    products(A, 6, B, 3, 8, scores, 0)
    np.testing.assert_allclose(scores, A @ B[3:].T, rtol=1e-5, atol=1e-5)
    for G in (scores, np.asfortranarray(scores)):
        out = np.full((6, width), np.nan, dtype=np.float32)  # what was there before does not count
        combinations(G, 6, 3, 7, B, out)
        np.testing.assert_allclose(out, scores[:, :7] @ B[3:10], rtol=1e-4, atol=1e-4)
