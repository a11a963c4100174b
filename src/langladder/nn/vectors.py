"""When a network trains through kernels of this project, and how they see a tensor.

Kernels serve float32 and bfloat16 on a CPU, where a gradient is asked for. All else (GPUs, float64, scoring, exports)
goes through torch, to the same result but for rounding.
"""

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
        and torch._C._get_tracing_state() is None
        and type(tensors[0]) in (Tensor, torch.nn.Parameter)
    )


def bits(x: Tensor) -> Any:
    """A contiguous tensor as a flat array: float32 as it is, bfloat16 as the int16 that holds its bits."""
    flat = x.detach().view(-1)
    return (flat.view(torch.int16) if x.dtype == torch.bfloat16 else flat).numpy()
