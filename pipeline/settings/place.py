"""Where a data stage runs: the engine and the memory of params.yaml, around the stage's work."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langladder.engine.base import used
from langladder.engine.choosing import bytes_of, made
from pipeline.settings.threads import processors

WHERE = "LANGLADDER_CLUSTER"
"""`pipeline.parallel` sets it for its jobs: the address of the cluster that they share, in the place of a new one."""
NOWHERE = "none"
"""As its value: the job is a task of the cluster itself; were it to wait there for others, all could wait."""


@contextmanager
def engine(job: Any, name: str) -> Iterator[None]:
    """Let `langladder.engine` be the one of this job's settings; say afterwards how much memory it took.

    A job without such settings has none.

    Raises:
        InputError: a cluster that cannot be had.
    """
    where = os.environ.get(WHERE, "")
    if getattr(job, "engine", None) is None or where == NOWHERE:
        yield
        return
    config = job.engine.model_copy(update={"address": where}) if where else job.engine
    with used(made(config, job.memory, processors())) as found:
        if found.dashboard and not where:  # where the jobs share a cluster, that has been printed
            print(f"{name}: Dask's dashboard: {found.dashboard}")
        if found.workers < found.asked:
            few = f"{found.workers} of {found.asked} workers"
            print(f"{name}: {few}, since memory: {job.memory} in params.yaml has room for no more")
        yield
        peak = found.peak()
    granted = f" of {job.memory}" if job.memory else ""
    print(f"{name}: at most {_said(peak)}{granted} in memory")
    if job.memory and peak > bytes_of(job.memory):
        print(f"{name}: warning: that is more than params.yaml: memory allows; fewer workers (conf/engine) hold less")


def _said(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
