"""Numba's `njit`, with a cache that belongs to the kernels as they are now.

Numba keeps compiled functions in a cache keyed by the file of each function, not by the files of what it calls: after
an edit of a helper the kernels that call it would stay the old ones. Here the cache is a folder named by a hash over
the source of this room, so that an edit of one kernel compiles all of them anew. Constants that a kernel reads belong
into this room, or into `text/tokenize/specials.py`.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Untyped = Any
"""A value, type or function of Numba's or LLVM's, which have no types for Python's checkers."""
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
    """Load what the first kernel of a process waits for, .8 s of processor time: Numba's tables of functions."""
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def njit(**options: Untyped) -> Callable[[Function], Function]:
    """`numba.njit` with these options, kept in that cache."""
    config.CACHE_DIR = str(CACHE)  # each time: Numba reads its settings anew where the environment has changed
    return cast(Callable[[Function], Function], numba.njit(cache=True, **options))
