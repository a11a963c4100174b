"""Reward models: the quality of an answer, learned from preferences; evaluated by correctly ordered pairs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from langladder.evaluation.page import Page
from langladder.families.family import Evaluated, Family, Make, Trained, Values, unfit
from langladder.families.instruct import INSTRUCTIONS, dialogues

if TYPE_CHECKING:
    from langladder.families.job import Job
    from langladder.families.rungs import RewardRung


class RewardFamily(Family["RewardRung"]):
    """See `Family`."""

    name = "reward"
    listed = "rewards"
    guide = "instruction.md"
    title = "Reward models"
    experiment = "reward models"
    report_module = "langladder.faces.report.instructed"
    position = 41
    default = "reward"
    reads = ("data/clean/instructions",)
    side = "instructions"
    tokens = "data/tokens/text"
    bases = ("instruct",)
    beside: ClassVar[Mapping[str, str]] = {"data/preferences": "instruct"}
    model = "langladder.models.reward.RewardModel"
    function = "langladder.faces.mlflow.functions.RewardFunction"
    loading = """from pathlib import Path

from langladder.models.reward import RewardModel
from langladder.text.labelled.instructions import Message

model = RewardModel.load(Path("{folder}"))
model.rewards([(Message("user", "in which country is paris ?"), Message("assistant", "france"))])  # (1,)"""
    limits = "The reward estimates what the labeller prefers, and is unreliable for answers unlike the ranked ones."

    def rung(self) -> "type[RewardRung]":
        """The network, its base, its preferences, and its training."""
        from langladder.families.rungs import RewardRung

        return RewardRung

    def inputs(self, value: Values) -> dict[str, str]:
        """The preferences."""
        return {"preferences": value["reads"]}

    def base_problem(self, value: Values, base: Values) -> str | None:
        """It has the network of its base."""
        return unfit(self.rung_class(value), value, base)

    def page(self) -> type[Page]:
        """`RewardPage`."""
        from langladder.evaluation.reward import RewardPage

        return RewardPage

    def training_inputs(self, rung: "RewardRung") -> dict[str, Path]:
        """The dialogues; its rankings are among `inputs`."""
        return {"instructions": INSTRUCTIONS}

    def train(self, rung: "RewardRung", job: "Job", make: Make) -> Trained:
        """Train on rankings of answers, validate on those of the validation split."""
        from langladder.text.labelled.instructions import read_rankings

        base, read = Path("models") / rung.base, Path(rung.reads)
        train, validation = (read_rankings(read / f"{split}.parquet") for split in ("train", "validation"))
        (prompts,) = dialogues("validation")
        model, result = make(base, train, validation, prompts, settings=rung)
        best = max((row["validation_accuracy"] for row in result.curve if "validation_accuracy" in row), default=None)
        figures = result.sizes(model.number_of_parameters()) | {"validation_accuracy": best}
        figures |= {"validation_loss": result.validation_loss, "rankings": len(train)}
        return Trained(
            model, result, figures, f"{'–' if best is None else f'{best:.1%}'} of the validation pairs right"
        )

    def evaluation_inputs(self, rung: "RewardRung", job: "Job") -> dict[str, Path]:
        """The rankings."""
        return {"preferences": Path(rung.reads)}

    def evaluate(self, rung: "RewardRung", job: "Job", folder: Path) -> Evaluated:
        """Measure how often it prefers the better answer, on unseen prompts and kinds."""
        from langladder.evaluation.reward import evaluate_reward
        from langladder.models.reward import RewardModel
        from langladder.text.labelled.instructions import read_rankings

        rankings = {split: read_rankings(Path(rung.reads) / f"{split}.parquet") for split in ("test", "unseen")}
        kept = {split: ranking for split, ranking in rankings.items() if ranking}
        training, model = rung.training, RewardModel.load(folder)
        page = evaluate_reward(
            model, kept, name=rung.name, optimizer=training.optimizer, batch_size=training.batch_size
        )
        right = ", ".join(
            f"{score.accuracy:.1%} of {score.pairs:,} {split} pairs" for split, score in page.scores.items()
        )
        left_out = f"; {page.left_out:,} rankings exceed the context and are not counted" if page.left_out else ""
        few = "" if page.is_sound else "; too few pairs for a comparison"
        return Evaluated(page, f"{right} right{left_out}{few}")


FAMILY = RewardFamily()
