"""Threads, memory and engine of a job.

A job computes with as many threads as its settings say, whatever the machine and the environment offer: the last bits
of a floating-point sum depend on how many threads share it, and training makes large differences of small ones. So the
number is a setting (`threads` in params.yaml): it stands in each job's resolved file and in its fingerprint, and an
outer OMP_NUM_THREADS changes nothing. What gives the same bytes with any number of threads (the counting of word pairs,
the `tokenizers` library) takes all processors; so does the engine that a data stage shares its corpus out with.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from langladder.engine.base import used
from langladder.engine.settings import DaskConfig, LocalConfig, bytes_of, open_engine
from langladder.ground.errors import InputError
from langladder.ground.schema import Config

JOB_BYTES = 2**30  # about what a job takes
LIBRARIES = ("OMP", "MKL", "OPENBLAS", "BLIS", "NUMBA")  # each reads <library>_NUM_THREADS when it is loaded


def compute_with(threads: int) -> None:
    """Let the numerical libraries of this process, loaded or still to be loaded, compute with so many threads."""
    os.environ |= dict.fromkeys([f"{library}_NUM_THREADS" for library in LIBRARIES], str(threads))
    os.environ |= {"VECLIB_MAXIMUM_THREADS": str(threads), "OMP_DYNAMIC": "FALSE", "MKL_DYNAMIC": "FALSE"}
    if threads > processors():
        # OpenBLAS starts no more threads than there are processors, unless it is told to once it is there
        import scipy.linalg  # noqa: F401 - SciPy's copy; NumPy's comes with it
        import sklearn  # noqa: F401

    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(threads)
    if torch := sys.modules.get("torch"):  # its own MKL is linked in, out of threadpoolctl's sight
        torch.set_num_threads(threads)
    if numba := sys.modules.get("numba"):
        numba.config.NUMBA_NUM_THREADS = threads  # its threads start with the first parallel kernel


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def jobs_at_once(threads: int) -> int:
    """How many jobs of so many threads the machine has processors and memory for; JOBS decides where it is set.

    Raises:
        InputError: JOBS is no number.
    """
    if wanted := os.environ.get("JOBS"):
        if not wanted.isdecimal() or wanted == "0":
            raise InputError(f"JOBS={wanted!r}: it is the number of jobs that run side by side, 1 or more")
        return int(wanted)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(processors() // threads, memory // JOB_BYTES))


CLUSTER_ADDRESS = "LANGLADDER_CLUSTER"
"""`pipeline.parallel` sets it for its jobs: the address of the cluster that they share, in the place of a new one."""
NO_CLUSTER = "none"
"""As its value: the job is a task of the cluster itself; were it to wait there for others, all could wait."""


@contextmanager
def engine(job: Config, name: str) -> Iterator[None]:
    """Let `langladder.engine` be the one of this job's settings; say afterwards how much memory it took.

    A job without such settings has none.

    Raises:
        InputError: a cluster that cannot be had.
    """
    where = os.environ.get(CLUSTER_ADDRESS, "")
    config: LocalConfig | DaskConfig | None = getattr(job, "engine", None)
    memory: str | None = getattr(job, "memory", None)
    if config is None or where == NO_CLUSTER:
        yield
        return
    config = config.model_copy(update={"address": where}) if where else config
    with used(open_engine(config, memory, processors())) as found:
        if found.dashboard and not where:  # where the jobs share a cluster, that has been printed
            print(f"{name}: Dask's dashboard: {found.dashboard}")
        if found.workers < found.requested:
            few = f"{found.workers} of {found.requested} workers"
            print(f"{name}: {few}, since memory: {memory} in params.yaml has room for no more")
        yield
        peak = found.peak()
    granted = f" of {memory}" if memory else ""
    print(f"{name}: at most {_size(peak)}{granted} in memory")
    if memory and peak > bytes_of(memory):
        print(f"{name}: warning: that is more than params.yaml: memory allows; fewer workers (conf/engine) hold less")


def _size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
