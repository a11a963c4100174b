"""Instructed models: a GPT learns from demonstrations to answer; judged by the reward of its answers."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, create_model

from langladder.evaluation.page import Page
from langladder.families.family import Family, Listed
from langladder.ground.schema import Config, locate

LOADING = """from langladder.decoding.answers import answers
from langladder.decoding.sampling import SamplingConfig
from langladder.models.instructed import read_instructed
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.labelled.instructions import Message

model, tokenizer = read_instructed("{folder}")
prompt = (Message("user", "what is the capital of france ?"),)
answers(model, ChatTemplate(tokenizer), [prompt], SamplingConfig(strategy="greedy", max_tokens=40))"""


class Answering(Listed):
    """What the file of a rung says whose network is that of its base."""

    target: None = Field(default=None, alias="_target_")  # type: ignore[assignment]  # it is the base's


class InstructFamily(Family):
    """See `Family`."""

    name = "instruct"
    listed = "instructs"
    title = "Models that follow instructions"
    experiment = "instructions"
    report_module = "langladder.faces.report.instructed"
    place = 40
    default = "sft"
    reads: ClassVar[tuple[str, ...]] = ("data/clean/instructions",)
    side = "instructions"
    tokens = "data/tokens/text"
    bases: ClassVar[tuple[str, ...]] = ("lm", "tune", "instruct")
    loading = LOADING
    limits = "The model answers instructions such as it was shown, by what its training text says, right or wrong."

    def settings(self, value: Mapping[str, Any]) -> type[Config]:
        """The base; dropout; how it is trained."""
        del value
        parts: dict[str, Any] = {
            "base": (str, ...),
            "dropout": (float | None, Field(default=None, ge=0, lt=1)),
            "training": (locate("langladder.tasks.settings.InstructionTraining"), ...),
        }
        return create_model(f"{self.name}_rung", __base__=Answering, **parts)

    def maker(self, value: Mapping[str, Any]) -> str | None:
        """The same for all."""
        del value
        return "langladder.tasks.instruction.make"

    def grows(self, value: Mapping[str, Any], base: Mapping[str, Any]) -> str | None:
        """A base must be a GPT; one without a network of its own has it from its base."""
        del value
        from langladder.models.gpt import GPT

        if "_target_" not in base or issubclass(kind := locate(base["_target_"]), GPT):
            return None
        return f"it is a {kind.__name__}, and what follows instructions grows from a GPT of the families lm and tune"

    def page(self) -> type[Page]:
        """`InstructedPage`."""
        from langladder.evaluation.instructed import InstructedPage

        return InstructedPage


FAMILY = InstructFamily()
