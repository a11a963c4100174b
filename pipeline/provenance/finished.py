"""What has finished once is not run again in a sweep, unless it is asked for (`again=true`)."""

from contextvars import ContextVar

skip_finished: ContextVar[bool] = ContextVar("skip_finished", default=False)
"""Whether this job is passed over if the very same has finished before."""


class Finished(Exception):  # noqa: N818 - no error
    """The very same job has finished before; says where what it made is."""
