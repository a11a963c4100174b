"""Aligned models: instructed models that learn from rewards or preferences; evaluated like their bases."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from langladder.families.family import Evaluated, Listed, Make, Trained, Values
from langladder.families.instruct import (
    INSTRUCTIONS,
    InstructFamily,
    answering,
    dialogues,
    evaluate_answers,
    gold_rewards,
)
from langladder.families.lm import TOKENS
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.families.job import Job
    from langladder.families.rungs import AlignRung, SelectionRung

SELECTED = "best_of_n"
PREFERENCES = "data/preferences"
GOLD = "data/clean/instructions"


class AlignFamily(InstructFamily["AlignRung | SelectionRung"]):
    """See `Family`. Evaluated and shown like instructed models."""

    name = "align"
    listed = "aligns"
    title = "Models aligned by rewards or preferences"
    guide = "instruction.md"
    experiment = "alignment"
    position = 42
    default = "ppo"
    reads = ("data/clean/instructions", "data/tokens/text")
    bases = ("instruct", "align")
    beside: ClassVar[Mapping[str, str]] = {"models/reward": "reward", PREFERENCES: "instruct", GOLD: ""}
    limits = "The model writes what its reward prefers, which can differ from what a reader wants."

    def settings(self, value: Values) -> type[Listed]:
        """The base; the method, and its input: a reward model, preferences, or the gold judge's instructions.

        Raises:
            InputError: there is no such method, or it cannot learn from its input.
        """
        from langladder.families.rungs import POLICIES, AlignRung, SelectionRung

        method, reads = value.get("method"), str(value.get("reads"))
        if method not in (*POLICIES, SELECTED):
            raise InputError(f"align.method: {method!r} is not one of {', '.join((*POLICIES, SELECTED))}")
        if (method == "dpo") != reads.startswith(f"{PREFERENCES}/"):
            wanted = f"{PREFERENCES}/sft" if method == "dpo" else f"models/reward/reward or {GOLD}"
            raise InputError(
                f"align.reads: {reads!r}, but {method} needs input such as {wanted}; change it in params.yaml"
            )
        return SelectionRung if method == SELECTED else AlignRung

    def maker(self, value: Values) -> str | None:
        """The same for all methods."""
        return "langladder.tasks.policy.training.make"

    def inputs(self, value: Values) -> dict[str, str]:
        """What it learns from."""
        return {"reads": value["reads"]}

    def base_problem(self, value: Values, base: Values) -> str | None:
        """Every base of these families is an InstructedGPT."""
        return None

    def training_inputs(self, rung: "AlignRung | SelectionRung") -> dict[str, Path]:
        """The dialogues, and the plain text."""
        return {"instructions": INSTRUCTIONS, "tokens": TOKENS}

    def train(self, rung: "AlignRung | SelectionRung", job: "Job", make: Make) -> Trained:
        """Train with a reward model, with preferences, or with the gold judge."""
        from langladder.models.reward import RewardModel
        from langladder.tasks.policy.training import Teaching
        from langladder.text.labelled.instructions import read_rankings
        from langladder.text.storage.token_streams import TokenStream

        base, read = Path("models") / rung.base, Path(rung.reads)
        train, validation = dialogues("train", "validation")
        text = TokenStream.open(TOKENS / "train.arrow")
        teaching = Teaching(train, validation, gold_rewards(train, validation), text)
        if read.parts[0] == "models":
            teaching = teaching._replace(reward_model=RewardModel.load(read))
        elif rung.method == "dpo":
            ranked = [read_rankings(read / f"{split}.parquet") for split in ("train", "validation")]
            teaching = teaching._replace(preferences=(ranked[0], ranked[1]))
        return answering(base, *make(base, teaching, settings=rung))

    def evaluation_inputs(self, rung: "AlignRung | SelectionRung", job: "Job") -> dict[str, Path]:
        """The inputs of an instructed model; its base, and the source of its rewards or preferences."""
        also_read = {"reads": Path(rung.reads), "base": Path("models") / rung.base}
        return super().evaluation_inputs(rung, job) | also_read

    def evaluate(self, rung: "AlignRung | SelectionRung", job: "Job", folder: Path) -> Evaluated:
        """Evaluate like an instructed model; also with the reward model, and the distance from its base."""
        return evaluate_answers(rung, folder, Path("models") / rung.base, Path(rung.reads))


FAMILY = AlignFamily()
