"""Prompts: tasks given in words to the trained language models of the ladder, with no examples, one or several.

`prompted` in params.yaml says to whom: all of `lms`, or all of `tunes` too, which DVC then waits for.
"""

from collections.abc import Mapping
from typing import Any

from langladder.families.experiment import ExperimentFamily

READ = {"labels": "clean/labels", "text": "clean/text"}  # kind of source → the data that it reads


class PromptFamily(ExperimentFamily):
    """See `Family`. A task leaves findings, as a claim does."""

    name = "prompt"
    listed = "prompts"
    title = "Prompts"
    experiment = "prompts"
    place = 62
    default = "knowledge"
    reads = ("data/tokens/text",)
    looks_into = ("lm",)

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """Where its items come from; microworld's are drawn."""
        source = value["settings"]["source"]
        if source["kind"] == "file":
            return {"prompts": source["folder"]}
        return {name: f"data/{name}" for name in [READ.get(source["kind"])] if name}


FAMILY = PromptFamily()
