"""Aligned models: instructed models that learn from rewards or preferences; judged as their bases are."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, create_model

from langladder.families.instruct import Answering, InstructFamily
from langladder.ground.errors import InputError
from langladder.ground.schema import Config, locate

TRAINED = {
    "ppo": "PPOTraining",
    "grpo": "GRPOTraining",
    "expert_iteration": "ExpertIterationTraining",
    "dpo": "DPOTraining",
}
"""Method → its settings, in `langladder.tasks.policy.settings`."""
SELECTED = "best_of_n"
PREFERENCES = "data/preferences"
GOLD = "data/clean/instructions"


class AlignFamily(InstructFamily):
    """See `Family`. Judged and shown as instructed models are."""

    name = "align"
    listed = "aligns"
    title = "Models aligned by rewards or preferences"
    experiment = "alignment"
    place = 42
    default = "ppo"
    reads = ("data/clean/instructions", "data/tokens/text")
    bases = ("instruct", "align")
    beside: ClassVar[Mapping[str, str]] = {"models/reward": "reward", PREFERENCES: "instruct", GOLD: ""}
    limits = "The model says what its reward asks for, which may be another thing than what a reader wants."

    def settings(self, value: Mapping[str, Any]) -> type[Config]:
        """The base; the method, and what it reads: a reward model, preferences, or the gold judge's instructions.

        Raises:
            InputError: there is no such method, or it does not learn from what it reads.
        """
        method, reads = value.get("method"), str(value.get("reads"))
        if method not in (*TRAINED, SELECTED):
            raise InputError(f"align.method: {method!r} is none of {', '.join((*TRAINED, SELECTED))}")
        if (method == "dpo") != reads.startswith(f"{PREFERENCES}/"):
            wanted = f"{PREFERENCES}/sft" if method == "dpo" else f"models/reward/reward or {GOLD}"
            raise InputError(f"align.reads: {reads!r}, and {method} reads such as {wanted}; change it in params.yaml")
        parts: dict[str, Any] = {"base": (str, ...), "reads": (str, ...), "method": (str, ...)}
        if method == SELECTED:
            parts["n"] = (int, Field(ge=1, le=4096))
            parts["max_new_tokens"] = (int, Field(default=32, ge=1, le=4096))
        else:
            parts["training"] = (locate(f"langladder.tasks.policy.settings.{TRAINED[method]}"), ...)
        return create_model("align_rung", __base__=Answering, **parts)

    def maker(self, value: Mapping[str, Any]) -> str | None:
        """The same for all methods."""
        del value
        return "langladder.tasks.policy.making.make"

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """What it learns from."""
        return {"reads": value["reads"]}

    def grows(self, value: Mapping[str, Any], base: Mapping[str, Any]) -> str | None:
        """Every base of these families is an InstructedGPT."""
        del value, base
        return None


FAMILY = AlignFamily()
