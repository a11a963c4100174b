"""What evaluation says of a rung: a page a family, written as JSON by its stage and read by the report.

A page holds what was measured and nothing for people alone: titles and years are the report's, so that a changed one
measures nothing again. Shares stand in 0..1 unless a name says per cent; None: not measured.
"""

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict

from langladder.evaluation.metrics import LAST, Metric, figures

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

    flops: Annotated[
        float,
        Metric(
            "operations/{position}",
            "multiplications and additions of a forward pass for each {position}, at the length it is trained on; "
            "training takes about three times as many",
            unit="compact",
            better="lower",
            after=LAST,
            logged=False,
        ),
    ]
    training_bytes: Annotated[
        int,
        Metric(
            "training memory",
            "of weights, gradients, the optimiser's state and what the backward pass needs of a batch, in fp32; "
            "an estimate for any machine, without libraries and data",
            unit="bytes",
            better="lower",
            after=LAST,
            logged=False,
        ),
    ]


class Page(Measured):
    """What every page has: the rung's name, and the approach of its class, under which the report groups rungs.

    A field of a page with a `Metric` is a figure: a column of the report, a row of the model card, a metric of the run.
    """

    detail: ClassVar[dict[str, Any]] = {}  # what reports/ladder.json leaves out, as pydantic's `exclude`

    name: str
    approach: str = ""

    position: ClassVar[str] = "token"  # what a network reads one after the other, see `Work.flops`
    trained_on: ClassVar[str] = ""  # what training reads so many of in a second; none: there is no column for it

    def figures(self) -> dict[str, Any]:
        """The flat figures of the page, for metrics/ and the run: its declared metrics; what is infinite is so."""
        return figures(self)

    def summary(self) -> dict[str, Any]:
        """The page without its detail, as JSON can hold it."""
        return self.model_dump(mode="json", exclude=self.detail)
