"""Reward models: how good an answer is, learnt from preferences; judged by the pairs that they order rightly."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import create_model

from langladder.evaluation.page import Page
from langladder.families.family import Family, Rung
from langladder.families.grown import unfit
from langladder.ground.schema import Config, locate


class RewardFamily(Family):
    """See `Family`."""

    name = "reward"
    listed = "rewards"
    title = "Reward models"
    experiment = "reward models"
    report_module = "langladder.faces.report.rewards"
    place = 41
    default = "reward"
    reads = ("data/clean/instructions",)
    side = "instructions"
    tokens = "data/tokens/text"
    bases = ("instruct",)
    beside: ClassVar[Mapping[str, str]] = {"data/preferences": "instruct"}
    loading = """from pathlib import Path

from langladder.models.reward import RewardModel
from langladder.text.labelled.instructions import Message

model = RewardModel.load(Path("{folder}"))
model.rewards([(Message("user", "what is the capital of france ?"), Message("assistant", "paris"))])  # (1,)"""
    limits = "The reward is a guess at what the labeller prefers, and wrong where a policy strays from what was ranked."

    def settings(self, value: Mapping[str, Any]) -> type[Config]:
        """The network; its base, and the preferences that it learns; how it is trained."""
        parts: dict[str, Any] = {
            "model": (self.rung_class(value).Config, ...),
            "base": (str, ...),
            "reads": (str, ...),
            "training": (locate("langladder.tasks.settings.RewardTraining"), ...),
        }
        return create_model("reward_rung", __base__=Rung, **parts)

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """The preferences."""
        return {"preferences": value["reads"]}

    def grows(self, value: Mapping[str, Any], base: Mapping[str, Any]) -> str | None:
        """Its network is that of its base."""
        return unfit(self.rung_class(value), value, base)

    def page(self) -> type[Page]:
        """`RewardPage`."""
        from langladder.evaluation.reward import RewardPage

        return RewardPage


FAMILY = RewardFamily()
