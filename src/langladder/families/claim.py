"""Claims of the literature, each tested on small networks of its own."""

from pathlib import Path
from typing import TYPE_CHECKING

from langladder.evaluation.page import Page
from langladder.families.family import Family, Values
from langladder.ground.schema import locate

if TYPE_CHECKING:
    from langladder.experiments.experiment import Data, Experiment, ExperimentConfig
    from langladder.families.job import Job
    from langladder.families.rungs import ClaimRung


class ClaimFamily(Family["ClaimRung"]):
    """See `Family`. A claim leaves findings, and no model."""

    name = "claim"
    listed = "claims"
    title = "Claims, measured"
    guide = "claims.md"
    experiment = "claims"
    report_module = "langladder.faces.report.claims"
    position = 60
    objective = None
    default = "gradient_flow"
    trained = False

    def rung(self) -> "type[ClaimRung]":
        """The settings are those of the experiment."""
        from langladder.families.rungs import ClaimRung

        return ClaimRung

    def inputs(self, value: Values) -> dict[str, str]:
        """The corpora that it reads."""
        claim: type[Experiment[ExperimentConfig]] = locate(value["_target_"])
        return {name: f"data/{name}" for name in claim.reads}

    def data(self, claim: "ClaimRung", job: "Job") -> "tuple[Data, dict[str, Path]]":
        """The data of a claim, with their files and folders; the class of each experiment declares what it reads."""
        from langladder.experiments.experiment import Data

        return Data(bleu_tokenize=job.bleu_tokenize or "auto"), {}

    def page(self) -> type[Page]:
        """`ClaimPage`."""
        from langladder.experiments.page import ClaimPage

        return ClaimPage


FAMILY = ClaimFamily()
