"""Small products in registers, inside Numba kernels: a few rows of coefficients by rows of float32 that lie anywhere.

    out[i] = Σ_k G[i, k] B[k]

A few rows of sums, two registers each (or one), stay where they are while k goes on, and every load of B serves all
rows. A register holds WIDE numbers, which is what the processor has: 16 with AVX-512, else 8. Sums are taken in the
order of k whatever WIDE is, so that all processors give the same bits.

Arrays are flat; `first` says where a matrix begins, `step` how far apart its rows are. No bounds are checked.
"""

# ruff: noqa: ARG001 - Numba tells an intrinsic's arguments by their names in its signature

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic

from langladder.kernels.simd import FEATURES

WIDE = 16 if FEATURES.get("avx512f") else 8
SIZES = (8, 4, 2, 1) if WIDE == 16 else (4, 2, 1)  # rows at once: times 2 registers, half of the processor's at most
TALL = SIZES[0]
VECTOR = ir.VectorType(ir.FloatType(), WIDE)
LONG = ir.IntType(64)
cgutils: Any = untyped_cgutils


def _data(context: Any, builder: Any, signature: Any, args: Any, number: int) -> Any:
    return context.make_array(signature.args[number])(context, builder, args[number]).data


def _vector(builder: Any, data: Any, place: Any) -> Any:
    return builder.bitcast(builder.gep(data, [place]), VECTOR.as_pointer())


def _all(builder: Any, value: Any) -> Any:
    lane = ir.IntType(32)
    one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), value, lane(0))
    return builder.shuffle_vector(
        one, ir.Constant(VECTOR, ir.Undefined), ir.Constant(ir.VectorType(lane, WIDE), [0] * WIDE)
    )


def _some(builder: Any, data: tuple[Any, Any, Any], args: Any, rows: int, registers: int) -> None:
    """See `multiply`, for these many rows and registers: their sums stay in registers while k goes on."""
    (coefficients, matrix, result), (_, _, _, taken, _, read, _, put) = data, args
    (g, gi, gk), (b, step, depth) = ([builder.extract_value(three, i) for i in range(3)] for three in (taken, read))
    o, to = (builder.extract_value(put, i) for i in range(2))
    nothing = ir.Constant(VECTOR, [0.0] * WIDE)
    sums = [[cgutils.alloca_once(builder, VECTOR) for _ in range(registers)] for _ in range(rows)]
    for place in (place for row in sums for place in row):
        builder.store(nothing, place)
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    fma = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{WIDE}f32")
    with cgutils.for_range(builder, depth) as loop:
        begin = builder.add(b, builder.mul(loop.index, step))
        row = [
            builder.load(_vector(builder, matrix, builder.add(begin, LONG(c * WIDE))), align=4)
            for c in range(registers)
        ]
        for i in range(rows):
            place = builder.add(builder.add(g, builder.mul(gi, LONG(i))), builder.mul(gk, loop.index))
            times = _all(builder, builder.load(builder.gep(coefficients, [place])))
            for c in range(registers):
                builder.store(builder.call(fma, [times, row[c], builder.load(sums[i][c])]), sums[i][c])
    for i in range(rows):
        for c in range(registers):
            place = builder.add(builder.add(o, builder.mul(to, LONG(i))), LONG(c * WIDE))
            builder.store(builder.load(sums[i][c]), _vector(builder, result, place), align=4)


def _multiply(
    typing: Any,
    rows: Any,
    registers: Any,
    G: Any,
    taken: Any,
    B: Any,
    read: Any,
    out: Any,
    put: Any,
) -> Any:
    """out[o + i · to + …] ← Σ_{k < depth} G[g + i · gi + k · gk] B[b + k · step + …].

    Args:
        rows: one of SIZES. registers: 1 or 2, of the columns.
        taken: g, gi, gk. read: b, step, depth. put: o, to.
    """

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = tuple(_data(context, builder, signature, args, i) for i in (2, 4, 6))
        end = builder.append_basic_block("made")
        which = builder.switch(builder.add(builder.mul(args[0], LONG(2)), args[1]), end)
        for size in SIZES:
            for columns in (1, 2):
                block = builder.append_basic_block(f"of{size}x{columns}")
                which.add_case(LONG(2 * size + columns), block)
                builder.position_at_end(block)
                _some(builder, data, args, size, columns)
                builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    three, two = (types.UniTuple(types.intp, count) for count in (3, 2))  # type: ignore[no-untyped-call]
    return types.void(types.intp, types.intp, G, three, B, three, out, two), build


def _turn(typing: Any, x: Any, first: Any, step: Any, rows: Any, factor: Any, out: Any, o: Any, to: Any) -> Any:
    """out[o + j · to + i] ← factor · x[first + i · step + j] for i, j < WIDE; for i ≥ rows, of the last row."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, target = (_data(context, builder, signature, args, i) for i in (0, 5))
        _, first, step, count, factor, _, o, to = args
        last = builder.sub(count, LONG(1))
        times, lanes = _all(builder, factor), tuple(range(WIDE))
        rows = []
        for i in lanes:
            there = builder.select(builder.icmp_signed("<", LONG(i), count), LONG(i), last)
            begin = builder.add(first, builder.mul(step, there))
            rows.append(builder.fmul(times, builder.load(_vector(builder, source, begin), align=4)))
        mask = ir.VectorType(ir.IntType(32), WIDE)
        distance = 1
        while distance < WIDE:  # squares of this size change places across the diagonal of those twice as large
            upper = [lane if not lane & distance else WIDE + lane - distance for lane in lanes]
            lower = [lane + distance if not lane & distance else WIDE + lane for lane in lanes]
            for i in (i for i in lanes if not i & distance):
                a, b = rows[i], rows[i + distance]
                rows[i] = builder.shuffle_vector(a, b, ir.Constant(mask, upper))
                rows[i + distance] = builder.shuffle_vector(a, b, ir.Constant(mask, lower))
            distance *= 2
        for j in lanes:
            builder.store(rows[j], _vector(builder, target, builder.add(o, builder.mul(to, LONG(j)))), align=4)
        return context.get_dummy_value()

    whole = types.intp
    return types.void(x, whole, whole, whole, types.float32, out, whole, whole), build


# What is called in a kernel is not the Python function, so it has no Python type.
multiply: Any = intrinsic(_multiply)
turn: Any = intrinsic(_turn)
