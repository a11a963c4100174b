"""When a network trains through kernels of this project, and how they see a tensor.

Kernels serve float32 and bfloat16 on a CPU, where a gradient is asked for. All else (GPUs, float64, scoring, exports)
goes through torch, to the same result but for rounding.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import torch
from torch import Tensor


def trains_by_kernel(*tensors: Tensor) -> bool:
    """Whether all are numbers that a kernel can read, and a gradient of one of them is asked for."""
    return (
        torch.is_grad_enabled()
        and any(x.requires_grad for x in tensors)
        and all(x.device.type == "cpu" and x.dtype in (torch.float32, torch.bfloat16) for x in tensors)
        and not torch.compiler.is_compiling()
        and not torch.jit.is_tracing()
        and type(tensors[0]) in (Tensor, torch.nn.Parameter)
    )


def in_shares(rows: int, call: Callable[[int, int], None]) -> None:
    """Call with the bounds of as many shares of the rows as torch has threads, each in one; kernels hold no lock."""
    threads = min(torch.get_num_threads(), rows)
    if threads <= 1:
        call(0, rows)
        return
    bounds = [(rows * i // threads, rows * (i + 1) // threads) for i in range(threads)]
    list(_pool(threads).map(lambda share: call(*share), bounds))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="kernels")


def bits(x: Tensor) -> Any:
    """A contiguous tensor as a flat array: float32 as it is, bfloat16 as the int16 that holds its bits."""
    flat = x.detach().view(-1)
    return (flat.view(torch.int16) if x.dtype == torch.bfloat16 else flat).numpy()
