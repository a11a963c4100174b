"""Claims of the literature, each tested on small networks of its own."""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import create_model

from langladder.evaluation.page import Page
from langladder.families.family import Family, Listed, Values
from langladder.ground.schema import Config, locate

if TYPE_CHECKING:
    from langladder.experiments.experiment import Data, Experiment, ExperimentConfig
    from langladder.families.job import Job


class Claim(Listed):
    """The file of a claim."""

    claim: str
    paper: str | None = None  # the source: authors, year, section; several separated by `;`
    settings: Config


class ClaimFamily(Family[Claim]):
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

    def settings(self, value: Values) -> type[Config]:
        """The settings are those of the experiment."""
        claim = self.rung_class(value)
        return create_model(f"{self.name}_claim", __base__=Claim, settings=(claim.Config, ...))

    def inputs(self, value: Values) -> dict[str, str]:
        """The corpora that it reads."""
        claim: type[Experiment[ExperimentConfig]] = locate(value["_target_"])
        return {name: f"data/{name}" for name in claim.reads}

    def data(self, claim: "Claim", job: "Job") -> "tuple[Data, dict[str, Path]]":
        """The data of a claim, with their files and folders; the class of each experiment declares what it reads."""
        from langladder.experiments.experiment import Data

        return Data(bleu_tokenize=job.bleu_tokenize or "auto"), {}

    def page(self) -> type[Page]:
        """`ClaimPage`."""
        from langladder.experiments.page import ClaimPage

        return ClaimPage


FAMILY = ClaimFamily()
