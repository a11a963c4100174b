"""Probes: claims that are tested on the trained language models of the ladder."""

from pathlib import Path
from typing import TYPE_CHECKING

from langladder.families.claim import ClaimFamily
from langladder.families.family import Values

if TYPE_CHECKING:
    from langladder.experiments.experiment import Data
    from langladder.families.job import Job
    from langladder.families.rungs import ClaimRung


class ProbeFamily(ClaimFamily):
    """See `Family`."""

    name = "probe"
    listed = "probes"
    guide = "claims.md"
    position = 61
    default = "agreement"
    reads = ("data/tokens/text",)
    looks_into = ("lm",)

    def inputs(self, value: Values) -> dict[str, str]:
        """No inputs of its own: all probes read the models and the text."""
        return {}

    def data(self, claim: "ClaimRung", job: "Job") -> "tuple[Data, dict[str, Path]]":
        """All language models of the ladder, the text, and pairs of a grammatical and an ungrammatical sentence."""
        from langladder.experiments.experiment import Data

        models = {name: Path("models/lm") / name for name in job.lms}
        titles = {name: title_of(folder) for name, folder in models.items()}
        data = Data(models=models, titles=titles, agreement=Path(job.agreement))
        inputs = {"text": data.text, "agreement": data.agreement}
        return data, inputs | {f"model {name}": folder for name, folder in models.items()}


def title_of(folder: Path) -> str:
    """The title of the model in a folder, for the report."""
    from langladder.ground.artefacts import read_json

    return str(read_json(folder / "provenance.json")["settings"][folder.parent.name]["title"])


FAMILY = ProbeFamily()
