"""Models that follow instructions, and those that reward them, as python functions."""

from pathlib import Path
from typing import Any, ClassVar, Self

from langladder.decoding.chosen_answers import Chooser
from langladder.decoding.conversation import Conversation
from langladder.faces.http.choosers import chooser_of
from langladder.faces.mlflow.kind import Column, Kind, Rows
from langladder.faces.mlflow.texts import sampling
from langladder.models.instructed import InstructedGPT, read_instructed
from langladder.models.reward import RewardModel
from langladder.text.labelled.instructions import ASSISTANT, USER, Message
from langladder.text.labelled.templates import ChatTemplate

INSTRUCTION = "what is the capital of france ?"


class Talking(Kind):
    """What a model answers to an instruction: each row is a dialogue of its own."""

    reads = (Column("text"), Column("system", required=False))
    gives = (Column("answer"),)
    asks: ClassVar[dict[str, Any]] = {"max_tokens": 40, "temperature": 0.0, "seed": 0}

    def __init__(self, model: InstructedGPT, template: ChatTemplate, chooser: Chooser | None) -> None:
        self.model, self.template, self.chooser = model, template, chooser

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Kind.load`. A best-of-n needs the reward model that chooses, where its provenance has it."""
        model, tokenizer = read_instructed(folder)
        return cls(model, ChatTemplate(tokenizer), chooser_of(folder, tokenizer, None, None))

    @classmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """See `Kind.example`."""
        del folder
        return {"text": INSTRUCTION}

    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """See `Kind.answer`."""
        config, found = sampling(asked), []
        for row in rows:
            talk = Conversation(
                self.model, self.template, config, system=row["system"] or "", forgets=True, chooser=self.chooser
            )
            found.append({"answer": talk.say(row["text"].strip())})
        return found


class Rewarding(Kind):
    """How much a reward model likes an answer to an instruction."""

    reads = (Column("text"), Column("answer"))
    gives = (Column("reward", "double"),)

    def __init__(self, model: RewardModel) -> None:
        self.model = model

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Kind.load`."""
        return cls(RewardModel.load(folder))

    @classmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """See `Kind.example`."""
        del folder
        return {"text": INSTRUCTION, "answer": "paris"}

    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """See `Kind.answer`."""
        del asked
        dialogues = [(Message(USER, row["text"]), Message(ASSISTANT, row["answer"])) for row in rows]
        return [{"reward": float(reward)} for reward in self.model.rewards(dialogues)]
