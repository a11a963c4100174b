"""Memory of this process: glibc keeps freed memory, pages of mapped files are released after reading.

Training allocates and frees the same large arrays at every step. By default glibc maps a large block again each time
and unmaps it when freed, so the kernel zeroes the same pages again and again; with a large vocabulary that takes a good
part of the step. On other systems this does nothing.
"""

import ctypes
import re
import resource
import sys
from pathlib import Path

import numpy as np

# Parameters of mallopt(3), <malloc.h>.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_KEPT_BYTES = 2**30
_MADV_DONTNEED = 4  # madvise(2)


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
    accepted = [mallopt(parameter, value) == 1 for parameter, value in settings]
    return all(accepted)


def peak_bytes() -> int:
    """Peak memory of this process: of the GPU if torch uses one, else of the machine."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        return int(torch.cuda.max_memory_allocated())
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there was not enough memory: Python's, NumPy's and Arrow's own, torch's, and that of a
    library that cannot be loaded."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    if isinstance(error, OSError | ImportError) and re.search(
        r"failed to map segment|annot allocate memory", str(error)
    ):  # of a shared library
        return True
    if isinstance(error, RuntimeError) and "can't allocate memory" in str(error):  # torch on a processor
        return True
    before = error.__cause__ or error.__context__
    return before is not None and out_of_memory(before)


def held_bytes() -> int:
    """Memory that this process uses now, without memory-mapped files; 0 if unknown."""
    status = Path("/proc/self/status")
    lines = [line for line in status.read_text().splitlines() if line.startswith("RssAnon:")] if status.exists() else []
    return int(lines[0].split()[1]) * 1024 if lines else 0


def forget(array: np.ndarray) -> None:
    """Release the pages of an array that is mapped from a file; they are loaded again when they are read.

    Pages of a mapping count as memory of the process after they are read. Arrays in memory are not affected: only
    Linux distinguishes them; on other systems this does nothing.
    """
    if not sys.platform.startswith("linux") or array.nbytes < 1 << 20:
        return
    page = resource.getpagesize()
    begin = -(-array.ctypes.data // page) * page
    end = (array.ctypes.data + array.nbytes) // page * page
    for line in Path("/proc/self/maps").read_text().splitlines():
        bounds, rights, _, _, file, *_ = line.split(None, 5)
        first, last = (int(bound, 16) for bound in bounds.split("-"))
        if file != "0" and "w" not in rights and first < end and begin < last:
            start, stop = max(first, begin), min(last, end)
            ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(stop - start), _MADV_DONTNEED)
