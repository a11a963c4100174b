"""Vectors of eight float32 inside Numba kernels: load, store, add, multiply-add, sum; and prefetching.

Numba relies on LLVM's loop vectoriser for vector instructions. Before every short loop, the vectoriser must prove, or
test at run time, that no two rows overlap; for rows of 100 numbers, the tests take as long as the arithmetic. With
`Float8`, the code states the vectors explicitly. LLVM maps it to the processor's registers (one AVX register, two of
NEON or SSE).

    acc = zeros8()
    for d in range(0, D, 8):
        acc = multiply_add(load8(A, i, d), load8(B, j, d), acc)
    dot = sum8(acc)

No bounds are checked: i and d must be ≥ 0, and d + 8 ≤ number of columns.
"""

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic, models, register_model

from langladder.kernels.compiled import Untyped

LANES = 8
VECTOR = ir.VectorType(ir.FloatType(), LANES)
FEATURES = binding.get_host_cpu_features()
cgutils: Untyped = untyped_cgutils


class Float8(types.Type):
    """The type of eight float32 in a register."""

    def __init__(self) -> None:
        super().__init__(name="Float8")


@register_model(Float8)
class _Float8Model(models.PrimitiveModel):
    def __init__(self, manager: Untyped, kind: Untyped) -> None:
        super().__init__(manager, kind, VECTOR)  # type: ignore[no-untyped-call]


float8 = Float8()


def _built_in(function: Untyped) -> Untyped:
    """`numba.extending.intrinsic`. Kernels do not call the Python function itself, so the result has no Python type."""
    return intrinsic(function)


def _pointer(context: Untyped, builder: Untyped, kind: Untyped, array: Untyped, i: Untyped, d: Untyped) -> Untyped:
    fields = context.make_array(kind)(context, builder, array)
    pointer = cgutils.get_item_pointer(context, builder, kind, fields, [i, d], wraparound=False)
    return builder.bitcast(pointer, VECTOR.as_pointer())


@_built_in
def zeros8(typing: Untyped) -> Untyped:  # noqa: ARG001 - Numba's signature, here and below
    """Eight zeros."""
    return float8(), lambda context, builder, signature, args: ir.Constant(VECTOR, [0.0] * LANES)  # noqa: ARG005


@_built_in
def load8(typing: Untyped, array: Untyped, i: Untyped, d: Untyped) -> Untyped:  # noqa: ARG001
    """array[i, d : d + 8]."""

    def build(context: Untyped, builder: Untyped, signature: Untyped, args: Untyped) -> Untyped:
        return builder.load(_pointer(context, builder, signature.args[0], *args), align=4)

    return float8(array, types.intp, types.intp), build


@_built_in
def store8(typing: Untyped, array: Untyped, i: Untyped, d: Untyped, values: Untyped) -> Untyped:  # noqa: ARG001
    """array[i, d : d + 8] = values."""

    def build(context: Untyped, builder: Untyped, signature: Untyped, args: Untyped) -> Untyped:
        builder.store(args[3], _pointer(context, builder, signature.args[0], *args[:3]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, float8), build


@_built_in
def splat8(typing: Untyped, value: Untyped) -> Untyped:  # noqa: ARG001
    """A vector of eight times the same number."""

    def build(context: Untyped, builder: Untyped, signature: Untyped, args: Untyped) -> Untyped:  # noqa: ARG001
        lane = ir.IntType(32)
        vector = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), args[0], lane(0))
        mask = ir.Constant(ir.VectorType(lane, LANES), [0] * LANES)
        return builder.shuffle_vector(vector, ir.Constant(VECTOR, ir.Undefined), mask)

    return float8(types.float32), build


@_built_in
def add8(typing: Untyped, a: Untyped, b: Untyped) -> Untyped:  # noqa: ARG001
    """a + b."""
    return float8(float8, float8), lambda context, builder, signature, args: builder.fadd(*args)  # noqa: ARG005


@_built_in
def multiply_add(typing: Untyped, a: Untyped, b: Untyped, c: Untyped) -> Untyped:  # noqa: ARG001
    """a · b + c, with one rounding."""

    def build(context: Untyped, builder: Untyped, signature: Untyped, args: Untyped) -> Untyped:  # noqa: ARG001
        kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v8f32"), args)

    return float8(float8, float8, float8), build


@_built_in
def multiply8(typing: Untyped, a: Untyped, b: Untyped) -> Untyped:  # noqa: ARG001
    """a · b."""
    return float8(float8, float8), lambda context, builder, signature, args: builder.fmul(*args)  # noqa: ARG005


@_built_in
def reciprocal_root8(typing: Untyped, a: Untyped) -> Untyped:  # noqa: ARG001
    """1 / √a to 23 bits: the processor's estimate y and one step of Newton's method, y (1.5 − a y² / 2); or √ and ÷."""

    def build(context: Untyped, builder: Untyped, signature: Untyped, args: Untyped) -> Untyped:  # noqa: ARG001
        def call(name: str, *values: Untyped) -> Untyped:
            kind = ir.FunctionType(VECTOR, [value.type for value in values])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)

        def all8(value: float) -> Untyped:
            return ir.Constant(VECTOR, [value] * LANES)

        if FEATURES.get("avx512vl"):
            guess = call("llvm.x86.avx512.rsqrt14.ps.256", args[0], all8(0.0), ir.Constant(ir.IntType(8), 255))
        elif FEATURES.get("avx"):
            guess = call("llvm.x86.avx.rsqrt.ps.256", args[0])
        else:
            return builder.fdiv(all8(1.0), call("llvm.sqrt.v8f32", args[0]))
        half = builder.fmul(all8(-0.5), args[0])
        return builder.fmul(guess, call("llvm.fma.v8f32", half, builder.fmul(guess, guess), all8(1.5)))

    return float8(float8), build


@_built_in
def divide8(typing: Untyped, a: Untyped, b: Untyped) -> Untyped:  # noqa: ARG001
    """a / b."""
    return float8(float8, float8), lambda context, builder, signature, args: builder.fdiv(*args)  # noqa: ARG005


@_built_in
def clip8(typing: Untyped, a: Untyped, limit: Untyped) -> Untyped:  # noqa: ARG001
    """min(max(a, −limit), limit)."""

    def build(context: Untyped, builder: Untyped, signature: Untyped, args: Untyped) -> Untyped:  # noqa: ARG001
        value, high = args
        low = builder.fsub(ir.Constant(VECTOR, [0.0] * LANES), high)
        value = builder.select(builder.fcmp_ordered("<", value, high), value, high)
        return builder.select(builder.fcmp_ordered(">", value, low), value, low)

    return float8(float8, float8), build


@_built_in
def sum8(typing: Untyped, a: Untyped) -> Untyped:  # noqa: ARG001
    """The sum of the eight, as a tree: ((0+4)+(2+6)) + ((1+5)+(3+7))."""

    def build(context: Untyped, builder: Untyped, signature: Untyped, args: Untyped) -> Untyped:  # noqa: ARG001
        kind = ir.FunctionType(ir.FloatType(), [ir.FloatType(), VECTOR])
        reduce = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.fadd.v8f32")
        return builder.call(reduce, [ir.Constant(ir.FloatType(), -0.0), args[0]], fastmath=("reassoc",))

    return types.float32(float8), build


@_built_in
def store_sums4(
    typing: Untyped,  # noqa: ARG001
    array: Untyped,
    i: Untyped,  # noqa: ARG001
    d: Untyped,  # noqa: ARG001
    a: Untyped,  # noqa: ARG001
    b: Untyped,  # noqa: ARG001
    c: Untyped,  # noqa: ARG001
    e: Untyped,  # noqa: ARG001
) -> Untyped:
    """array[i, d : d + 4] = `sum8` of each of the four vectors, bit-identical, with half the instructions."""
    lane = ir.IntType(32)

    def build(context: Untyped, builder: Untyped, signature: Untyped, args: Untyped) -> Untyped:
        def folded(value: Untyped, other: Untyped, first: list[int], second: list[int]) -> Untyped:
            def chosen(lanes: list[int]) -> Untyped:
                mask = ir.Constant(ir.VectorType(lane, len(lanes)), lanes)
                return builder.shuffle_vector(value, other, mask)

            return builder.fadd(chosen(first), chosen(second))

        halves, other_halves = [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]
        ab, ce = folded(args[3], args[4], halves, other_halves), folded(args[5], args[6], halves, other_halves)
        quarters = folded(ab, ce, [0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15])  # a, b, c, e: two of each
        sums = folded(quarters, quarters, [0, 2, 4, 6], [1, 3, 5, 7])
        pointer = _pointer(context, builder, signature.args[0], *args[:3])
        builder.store(sums, builder.bitcast(pointer, sums.type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, float8, float8, float8, float8), build


PREFETCH = "llvm.prefetch.p0i8"


def _prefetching(*, write: bool) -> Untyped:
    """A function of an array and an index that prefetches `array[index]` into the cache, for reading or writing."""

    def prefetch(typing: Untyped, array: Untyped, index: Untyped) -> Untyped:  # noqa: ARG001 - Numba's signature
        def build(context: Untyped, builder: Untyped, signature: Untyped, args: Untyped) -> Untyped:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            address = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
            word = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
            instruction = builder.module.globals.get(PREFETCH) or ir.Function(builder.module, kind, PREFETCH)
            builder.call(instruction, [address, word(int(write)), word(3), word(1)])  # 3: to be kept, 1: data
            return context.get_dummy_value()

        return types.void(array, types.intp), build

    return _built_in(prefetch)


prefetch_to_write = _prefetching(write=True)
"""Prefetch memory that a kernel will soon write; this changes no values. It saves time if addresses are known in
advance and are far apart, like the rows of vectors in GloVe's training."""
