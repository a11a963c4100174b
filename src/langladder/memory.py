"""Tell glibc to keep freed memory: training makes and drops the same large arrays at every step.

By default glibc maps a large block afresh each time and gives it back when freed, so the kernel zeroes the same pages
again and again; with a large vocabulary that costs a good part of the step. On other systems this does nothing.
"""

import ctypes
import resource
import sys

# Parameters of mallopt(3), <malloc.h>.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_KEPT_BYTES = 2**30


def keep_freed_memory() -> bool:
    """Serve blocks up to 1 GiB from the heap and keep up to 1 GiB there when freed. True if the system took it."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library than glibc
        return False
    settings = (
        (_M_MMAP_THRESHOLD, _KEPT_BYTES),
        (_M_TRIM_THRESHOLD, _KEPT_BYTES),
        (_M_TOP_PAD, 64 * 2**20),
    )
    taken = [mallopt(parameter, value) == 1 for parameter, value in settings]
    return all(taken)


def peak_bytes() -> int:
    """Most memory this process has held so far: of the GPU where torch uses one, else of the machine."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        return int(torch.cuda.max_memory_allocated())
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
