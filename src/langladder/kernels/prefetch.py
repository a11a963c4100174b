"""What a Numba kernel will need soon, asked for early: the processor waits for nothing, and nothing changes.

Worth it where addresses are known in advance and lie far apart, as the rows of vectors that GloVe trains do. No bounds
are checked: what lies outside an array is asked for in vain.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

INSTRUCTION = "llvm.prefetch.p0i8"


def _asking(*, write: bool) -> Any:
    """A function of an array and an index that asks for `array[index]`, to be kept, to be read or written."""

    def prefetch(typing: Any, array: Any, index: Any) -> Any:  # noqa: ARG001 - Numba's signature
        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            address = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
            word = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
            instruction = builder.module.globals.get(INSTRUCTION) or ir.Function(builder.module, kind, INSTRUCTION)
            builder.call(instruction, [address, word(int(write)), word(3), word(1)])  # 3: to be kept, 1: data
            return context.get_dummy_value()

        return types.void(array, types.intp), build

    return intrinsic(prefetch)


prefetch_to_write = _asking(write=True)
