"""Functions that kernels apply entry by entry, written so that LLVM turns a loop over them into vector instructions.

    e^x = 2^n e^r,   n = round(x log₂ e),   r = x − n ln 2,   |r| ≤ ½ ln 2        (Cody & Waite 1980)

e^r is a polynomial of degree 7 (coefficients of the Cephes library), 2^n is put together from its bits, and n ln 2 is
subtracted in two parts, so that r keeps its digits. The largest relative error is 1.2e-7, about one unit in the last
place. The C library's exponential would be called once an entry, which takes ten times as long.

Kernels read and write float32, or bfloat16 as the int16 that holds its bits: NumPy has no such type.
"""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic

from langladder.kernels.compiled import njit

cgutils: Any = untyped_cgutils
FLOAT, INT, SHORT = ir.FloatType(), ir.IntType(32), ir.IntType(16)
SUMS = {"contract", "reassoc", "nsz"}
"""Fast-math flags of kernels that add up: sums may be taken in any order. NaN and infinity stay what they are."""

LOWEST, LOG2_E = np.float32(-87.3), np.float32(1.44269504088896341)
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
C2, C3, C4 = np.float32(5.0000001201e-1), np.float32(1.6666665459e-1), np.float32(4.1665795894e-2)
C5, C6, C7 = np.float32(8.3334519073e-3), np.float32(1.3981999507e-3), np.float32(1.9875691500e-4)
ONE, TWO, HIGHEST = np.float32(1), np.float32(2), np.float32(88)


def _built_in(function: Any) -> Any:
    """`numba.extending.intrinsic`: what is called in a kernel is not the Python function, so it has no Python type."""
    return intrinsic(function)


def _call(builder: Any, name: str, args: Any, **flags: Any) -> Any:
    kind = ir.FunctionType(FLOAT, [FLOAT] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args, **flags)


@_built_in
def nearest(typing: Any, x: Any) -> Any:  # noqa: ARG001 - Numba's signature, here and below
    """The integer next to x, as float32."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return _call(builder, "llvm.rint.f32", args)

    return types.float32(types.float32), build


@_built_in
def power_of_two(typing: Any, n: Any) -> Any:  # noqa: ARG001
    """2^n of a whole number n from −126 to 127: n + 127 where a float32 has its exponent."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        exponent = builder.add(builder.fptosi(args[0], INT), INT(127))
        return builder.bitcast(builder.shl(exponent, INT(23)), FLOAT)

    return types.float32(types.float32), build


@_built_in
def larger(typing: Any, a: Any, b: Any) -> Any:  # noqa: ARG001
    """max(a, b); where one is not a number, any of the two."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return _call(builder, "llvm.maxnum.f32", args, fastmath=("nnan", "nsz"))

    return types.float32(types.float32, types.float32), build


@_built_in
def read(typing: Any, x: Any) -> Any:  # noqa: ARG001
    """An entry of an array as float32: itself, or the bfloat16 whose bits it holds."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        if signature.args[0] == types.float32:
            return args[0]
        return builder.bitcast(builder.shl(builder.zext(args[0], INT), INT(16)), FLOAT)

    return types.float32(x), build


@_built_in
def written(typing: Any, array: Any, x: Any) -> Any:  # noqa: ARG001
    """x as an entry of `array`: itself, or the bits of the nearest bfloat16 (ties to even)."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        if signature.args[0].dtype == types.float32:
            return args[1]
        bits = builder.bitcast(args[1], INT)
        odd = builder.and_(builder.lshr(bits, INT(16)), INT(1))
        rounded = builder.lshr(builder.add(bits, builder.add(odd, INT(0x7FFF))), INT(16))
        number = builder.fcmp_ordered("ord", args[1], args[1])
        return builder.trunc(builder.select(number, rounded, INT(0x7FC0)), SHORT)

    return array.dtype(array, types.float32), build


@njit(nogil=True)
def copy(x: Any, out: Any) -> None:
    """out ← x, flat. Numba takes a second to compile `out[:] = x`, for the message of an error that cannot happen."""
    for i in range(len(x)):
        out[i] = x[i]


@njit(fastmath={"contract"}, error_model="numpy")
def exponential(x: Any) -> Any:
    """e^x for x ≤ 88; what lies below −87.3 counts as −87.3. NaN stays NaN."""
    x = LOWEST if x < LOWEST else x
    n = nearest(x * LOG2_E)
    r = x - n * LN2_HIGH
    r = r - n * LN2_LOW
    p = C7 * r + C6
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + C2
    return (p * (r * r) + (r + ONE)) * power_of_two(n)


@njit(fastmath={"contract"}, error_model="numpy")
def sigmoid(x: Any) -> Any:
    """1 / (1 + e^−x)."""
    x = -x
    x = HIGHEST if x > HIGHEST else x
    return ONE / (ONE + exponential(x))


@njit(fastmath={"contract"}, error_model="numpy")
def tanh(x: Any) -> Any:
    """2 σ(2x) − 1."""
    return TWO * sigmoid(TWO * x) - ONE
