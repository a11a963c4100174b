"""Threads, memory and engine of a job.

The number of threads of a job is a setting (`threads` in params.yaml), and does not depend on the machine or the
environment: the last bits of a floating-point sum depend on the number of threads, and training amplifies small
differences. The number is part of each job's resolved file and of its fingerprint; OMP_NUM_THREADS is ignored.
Computations with the same result for any number of threads (counting word pairs, the `tokenizers` library) use all
processors, and so does the engine of data stages.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from langladder.engine.base import used
from langladder.engine.settings import DaskConfig, LocalConfig, bytes_of, open_engine
from langladder.ground.errors import InputError
from langladder.ground.schema import Config

JOB_BYTES = 2**30  # rough memory of a job
LIBRARIES = ("OMP", "MKL", "OPENBLAS", "BLIS", "NUMBA")  # each reads <library>_NUM_THREADS when it is loaded


def compute_with(threads: int) -> None:
    """Set the number of threads of the numerical libraries of this process, loaded or not yet loaded."""
    os.environ |= dict.fromkeys([f"{library}_NUM_THREADS" for library in LIBRARIES], str(threads))
    os.environ |= {"VECLIB_MAXIMUM_THREADS": str(threads), "OMP_DYNAMIC": "FALSE", "MKL_DYNAMIC": "FALSE"}
    if threads > processors():
        # OpenBLAS starts at most one thread per processor unless this is set after it is loaded
        import scipy.linalg  # noqa: F401 - SciPy's copy; NumPy's comes with it
        import sklearn  # noqa: F401

    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(threads)
    if torch := sys.modules.get("torch"):  # its own MKL is linked in, so threadpoolctl does not see it
        torch.set_num_threads(threads)
    if numba := sys.modules.get("numba"):
        numba.config.NUMBA_NUM_THREADS = threads  # its threads start with the first parallel kernel


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def jobs_at_once(threads: int) -> int:
    """How many jobs with this many threads fit the processors and memory of the machine; JOBS overrides it.

    Raises:
        InputError: JOBS is not a number.
    """
    if wanted := os.environ.get("JOBS"):
        if not wanted.isdecimal() or wanted == "0":
            raise InputError(f"JOBS={wanted!r}: must be the number of jobs to run at a time, 1 or more")
        return int(wanted)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(processors() // threads, memory // JOB_BYTES))


CLUSTER_ADDRESS = "LANGLADDER_CLUSTER"
"""Set by `pipeline.parallel` for its jobs: the address of a shared cluster, so that they do not start one each."""
NO_CLUSTER = "none"
"""As its value: the job itself is a task of the cluster; if it waited for other tasks, there could be a deadlock."""


@contextmanager
def engine(job: Config, name: str) -> Iterator[None]:
    """Set up `langladder.engine` from this job's settings; print afterwards how much memory it used.

    A job without such settings has none.

    Raises:
        InputError: the cluster is not available.
    """
    where = os.environ.get(CLUSTER_ADDRESS, "")
    config: LocalConfig | DaskConfig | None = getattr(job, "engine", None)
    memory: str | None = getattr(job, "memory", None)
    if config is None or where == NO_CLUSTER:
        yield
        return
    config = config.model_copy(update={"address": where}) if where else config
    with used(open_engine(config, memory, processors())) as opened:
        if opened.dashboard and not where:  # already printed if the jobs share a cluster
            print(f"{name}: Dask's dashboard: {opened.dashboard}")
        if opened.workers < opened.requested:
            few = f"{opened.workers} of {opened.requested} workers"
            print(f"{name}: {few}, because memory: {memory} in params.yaml does not allow more")
        yield
        peak = opened.peak()
    granted = f" of {memory}" if memory else ""
    print(f"{name}: at most {_size(peak)}{granted} in memory")
    if memory and peak > bytes_of(memory):
        print(f"{name}: warning: this is more than `memory` in params.yaml allows; use fewer workers (conf/engine)")


def _size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
