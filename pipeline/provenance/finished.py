"""What has finished once is not run again in a sweep, unless it is asked for (`again=true`)."""

from collections.abc import Mapping
from contextvars import ContextVar

skip_finished: ContextVar[bool] = ContextVar("skip_finished", default=False)
"""Whether this job is passed over if the very same has finished before."""


class Finished(Exception):  # noqa: N818 - no error
    """The very same job has finished before; says where what it made is.

    Attributes:
        figures: its final numbers, as its run has them.
    """

    def __init__(self, said: str, figures: Mapping[str, float]) -> None:
        super().__init__(said)
        self.figures = figures


class Trained(Exception):  # noqa: N818 - no error
    """Several processes have trained; what is left is the first one's work, and this is another."""
