"""Numba's `njit`, with a cache that is valid for the current source of the kernels only.

Numba caches a compiled function by its own file, not by the files of the functions that it calls. After an edit of a
helper, Numba would still use old code of the kernels that call it. Here the cache is a folder named by a hash of all
source files of this package, so that any edit recompiles all kernels. Constants that a kernel reads must be in this
package, or in `text/tokenize/specials.py`.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Untyped = Any
"""A value, type or function of Numba or LLVM, which have no type annotations."""
Function = TypeVar("Function", bound=Callable[..., Any])
PACKAGE = Path(__file__).parent


def version(package: Path = PACKAGE) -> str:
    """Hash (16 hex digits) of all kernels, and of the constants that they read."""
    digest = hashlib.sha256()
    for file in (*sorted(package.rglob("*.py")), package.parent / "text" / "tokenize" / "specials.py"):
        digest.update(file.relative_to(package.parent).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


config: Untyped = numba.config
CACHE = Path(config.CACHE_DIR or PACKAGE / "__pycache__") / f"kernels-{version()}"


def prepare() -> None:
    """Load Numba's tables of functions in advance; this takes .8 s of CPU time before the first kernel of a process."""
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def njit(**options: Untyped) -> Callable[[Function], Function]:
    """`numba.njit` with these options, with this cache; without a cache if no folder for it can be written to."""

    def compiled(function: Function) -> Function:
        config.CACHE_DIR = str(CACHE)  # each time, because Numba re-reads its settings if the environment has changed
        try:
            return cast(Function, numba.njit(cache=True, **options)(function))
        except RuntimeError:  # "no locator available": neither this folder nor that of the user's caches
            return cast(Function, numba.njit(**options)(function))

    return compiled
