"""Small products in registers: parity with NumPy for every number of rows, the same bits whatever a register holds."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from langladder.kernels import wide
from langladder.kernels.compiled import njit
from langladder.kernels.wide import SIZES, WIDE
from langladder.nn.short_attention import Rows, attend_rows


@njit(nogil=True)
def _multiply(G: np.ndarray, down: int, along: int, B: np.ndarray, out: np.ndarray, rows: int, two: bool) -> None:
    taken, read, put = (0, down, along), (0, 2 * WIDE, len(B) // (2 * WIDE)), (0, 2 * WIDE)
    wide.multiply(rows, 2 if two else 1, G, taken, B, read, out, put)


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("two", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_products_parity_with_numpy(rows: int, two: bool, turned: bool) -> None:
    rng = np.random.default_rng(rows)
    for depth in (0, 1, 7, 40):
        G = rng.standard_normal((depth, rows) if turned else (rows, depth)).astype(np.float32)
        B = rng.standard_normal((depth, 2 * WIDE)).astype(np.float32)
        out = np.full((rows, 2 * WIDE), 7, dtype=np.float32)
        steps = (1, rows) if turned else (depth, 1)
        _multiply(G.ravel(), *steps, B.ravel(), out.reshape(-1), rows, two)
        columns = 2 * WIDE if two else WIDE
        expected = (G.T if turned else G) @ B
        np.testing.assert_allclose(out[:, :columns], expected[:, :columns], rtol=1e-5, atol=1e-5)
        assert (out[:, columns:] == 7).all()  # what lies beside is left alone


@njit(nogil=True)
def _turn(x: np.ndarray, rows: int, out: np.ndarray) -> None:
    wide.turn(x, 0, WIDE, rows, np.float32(2), out, 0, WIDE)


@pytest.mark.parametrize("rows", [1, WIDE - 1, WIDE])
def test_turned_and_nothing_read_beyond_the_rows(rows: int) -> None:
    x = np.random.default_rng(0).standard_normal((rows, WIDE)).astype(np.float32)
    out = np.zeros((WIDE, WIDE), np.float32)
    _turn(x.reshape(-1), rows, out.reshape(-1))
    last = np.minimum(np.arange(WIDE), rows - 1)
    assert np.array_equal(out, 2 * x[last].T)


def attention() -> str:
    """What a step of attention gives, forwards and backwards, as a hash."""
    torch.manual_seed(0)
    x, lengths = torch.randn(63, 3 * 2 * 48, requires_grad=True), np.array([21, 5, 37])
    query, key, value = x.chunk(3, dim=1)
    mixed = attend_rows(query, key, value, Rows.of(lengths, lengths, 2), 0.2, causal=True)
    (gradient,) = torch.autograd.grad(mixed.square().sum(), x)
    return hashlib.sha256(mixed.detach().contiguous().numpy().tobytes() + gradient.numpy().tobytes()).hexdigest()


NARROW = """
import sys
from langladder.kernels import simd
simd.FEATURES = {**simd.FEATURES, "avx512f": False}
sys.path.insert(0, sys.argv[1])
import test_wide
print(test_wide.WIDE, test_wide.attention())
"""


def test_attention_has_the_same_bits_whatever_a_register_holds(tmp_path: Path) -> None:
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}  # code of two widths is not to be mixed
    command = [sys.executable, "-c", NARROW, str(Path(__file__).parent)]
    done = subprocess.run(command, env=os.environ | place, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["8", attention()]
