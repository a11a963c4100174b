"""Prompts: tasks in words for the trained language models of the ladder, with no, one or several examples.

`prompted` in params.yaml chooses the models: all `lms`, or also all `tunes`, which are then dependencies in DVC.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from langladder.families.claim import ClaimFamily
from langladder.families.family import Values
from langladder.families.probe import title_of

if TYPE_CHECKING:
    from langladder.experiments.experiment import Data
    from langladder.families.job import Job
    from langladder.families.rungs import ClaimRung

READ = {"labels": "clean/labels", "text": "clean/text"}  # kind of source → the data that it reads


class PromptFamily(ClaimFamily):
    """See `Family`. A task has findings, like a claim."""

    name = "prompt"
    listed = "prompts"
    guide = "prompting.md"
    title = "Prompts"
    experiment = "prompts"
    position = 62
    default = "knowledge"
    reads = ("data/tokens/text",)
    looks_into = ("lm",)

    def inputs(self, value: Values) -> dict[str, str]:
        """The source of its items; microworld's are drawn."""
        source = value["settings"]["source"]
        if source["kind"] == "file":
            return {"prompts": source["folder"]}
        return {name: f"data/{name}" for name in [READ.get(source["kind"])] if name}

    def data(self, claim: "ClaimRung", job: "Job") -> "tuple[Data, dict[str, Path]]":
        """All language models that are prompted, the text, and the task's items."""
        from langladder.experiments.experiment import Data

        models = prompted(job.lms, job.tunes)
        data = Data(models=models, titles={name: title_of(folder) for name, folder in models.items()})
        inputs = {"text": data.text} | {f"model {name}": folder for name, folder in models.items()}
        own = self.inputs(claim.model_dump(mode="json"))
        return data, inputs | {name: Path(path) for name, path in own.items()}


def prompted(lms: Sequence[str], tunes: Sequence[str]) -> dict[str, Path]:
    """The name of each model in the figures, and its folder; a tuned model can have the name of its base."""
    models = {name: Path("models/lm") / name for name in lms}
    return models | {f"tune/{name}" if name in models else name: Path("models/tune") / name for name in tunes}


FAMILY = PromptFamily()
