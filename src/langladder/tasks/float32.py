"""Which library multiplies matrices in float32 on this processor.

torch hands such products to Intel's MKL, which uses half of a register (AVX2) on AMD's processors with AVX-512. oneDNN,
which torch has as well, uses all of it: 250 GFLOP/s instead of 119 on a core of an EPYC (Zen 5). torch takes it for
float32 where it may round to bfloat16 ("medium" precision). oneDNN makes no use of that leave except on matrix tiles
(AMX): elsewhere rounding would cost time, and it multiplies in float32. That is asked, not taken on trust (`_exact`).

oneDNN compiles a product for each shape it meets, .2 ms each, and keeps as many as CACHE says: batches whose shapes
hardly come again (trees, texts of any length) stay with MKL.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

CACHE = "16384"
"""Compiled products that are kept, instead of 1,024."""


@contextmanager
def quick_products(*, shapes_recur: bool) -> Iterator[None]:
    """Float32 products inside by oneDNN, where that is quicker and as exact.

    Args:
        shapes_recur: whether the shapes of training batches come again and again.
    """
    before = torch.get_float32_matmul_precision()
    if not shapes_recur or before != "highest" or not _gains(torch.cpu.get_capabilities()):
        yield
        return
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", CACHE)  # read with the first product
    torch.set_float32_matmul_precision("medium")
    try:
        if not _exact():
            torch.set_float32_matmul_precision(before)
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _gains(processor: Mapping[str, Any]) -> bool:
    """Whether MKL leaves half of the registers (AMD), and torch has oneDNN multiply float32, without AMX's rounding."""
    by_amd = str(processor.get("cpu_name")).startswith("AMD")
    return by_amd and bool(processor.get("avx512_bf16")) and not processor.get("amx_tile")


@cache
def _exact() -> bool:
    """Whether products keep what bfloat16 would round away: each term is (1 + 2⁻¹²)², there 1."""
    x, wanted = torch.full((64, 64), 1 + 2.0**-12), 64 * (1 + 2.0**-12) ** 2
    return all(bool(((product / wanted - 1).abs() < 1e-6).all()) for product in (x @ x, x.mT @ x, x @ x.mT))
