"""What evaluation says of a rung: a page a family, written as JSON by its stage and read by the report.

A page holds what was measured and nothing for people alone: titles and years are the report's, so that a changed one
measures nothing again. Shares stand in 0..1 unless a name says per cent; None: not measured.
"""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

Interval = tuple[float, float]
"""The 95 % interval of a figure, (low, high)."""


class Measured(BaseModel):
    """Base of all that is measured: frozen; keys that it does not know (of another version) are left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Work(Measured):
    """What a network takes on any machine, see `evaluation.work`.

    Attributes:
        flops: operations of a forward pass, for each position (a token, a frame).
        training_bytes: of weights, gradients, the optimiser's state and what the backward pass needs.
    """

    flops: float
    training_bytes: int


class Page(Measured):
    """What every page has: the rung's name, and the approach of its class, under which the report groups rungs."""

    detail: ClassVar[dict[str, Any]] = {}  # what reports/ladder.json leaves out, as pydantic's `exclude`

    name: str
    approach: str = ""

    def figures(self) -> dict[str, Any]:
        """The flat figures of the page, for metrics/ and the run; what is infinite is so."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any]:
        """The page without its detail, as JSON can hold it."""
        return self.model_dump(mode="json", exclude=self.detail)


def by_search(scores: Measured) -> dict[str, Any]:
    """{"sentences", "greedy_<score>", "beam_<score>"} of the scores of each search; without what was not measured."""
    found: dict[str, Any] = {}
    for name, value in scores.model_dump().items():
        several = {f"{name}_{score}": figure for score, figure in value.items()} if isinstance(value, dict) else {}
        found |= several or {name: value}
    return {name: value for name, value in found.items() if value is not None}
