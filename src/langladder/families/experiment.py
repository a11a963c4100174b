"""Experiments: claims of the literature, each measured on small networks of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import create_model

from langladder.evaluation.page import Page
from langladder.families.family import Family, Listed
from langladder.ground.schema import Config

if TYPE_CHECKING:
    from langladder.experiments.experiment import Data


class Claim(Listed):
    """What the file of a claim says."""

    claim: str
    settings: Config


class ExperimentFamily(Family):
    """See `Family`. A claim leaves findings, and no model."""

    name = "experiment"
    listed = "experiments"
    title = "Claims, measured"
    experiment = "experiments"
    report_module = "langladder.faces.report.claims"
    place = 60
    objective = None
    default = "gradient_flow"
    trained = False

    def settings(self, value: Mapping[str, Any]) -> type[Config]:
        """The settings are the experiment's own."""
        claim = self.rung_class(value)
        return create_model(f"{self.name}_claim", __base__=Claim, settings=(claim.Config, ...))

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """The corpora that it says it reads."""
        return {name: f"data/{name}" for name in self.rung_class(value).reads}

    def data(self, claim: Any, job: Any) -> "tuple[Data, dict[str, Path]]":
        """What a claim is measured on, and the files and folders of it; each experiment reads what its class names."""
        from langladder.experiments.experiment import Data

        return Data(bleu_tokenize=job.bleu_tokenize), {}

    def page(self) -> type[Page]:
        """`ClaimPage`."""
        from langladder.experiments.page import ClaimPage

        return ClaimPage


FAMILY = ExperimentFamily()
