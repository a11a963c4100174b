"""What the stages that make and judge instructed, rewarded and aligned models share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from langladder.corpora.instructions.judge import judgements, rewards_of_answers
from langladder.models.base import LanguageModel
from langladder.text.labelled.instructions import Dialogue, read_dialogues
from langladder.text.storage.tables import CONVENTIONS
from pipeline.provenance.job import TrackedJob
from pipeline.provenance.made import copies_of, keep, watched

INSTRUCTIONS = Path("data/clean/instructions")
TOKENS = Path("data/tokens/text")


def dialogues(*splits: str) -> list[list[Dialogue]]:
    """The cleaned dialogues of splits."""
    return [read_dialogues(INSTRUCTIONS / f"{split}.parquet") for split in splits]


def known(*sides: list[Dialogue]) -> bool:
    """Whether a gold judge knows what was asked, everywhere."""
    return all(one.asked is not None for side in sides for one in side)


def gold_rewards(*sides: list[Dialogue]) -> Callable[..., list[float]] | None:
    """Who rewards answers to these prompts, or None."""
    return rewards_of_answers if known(*sides) else None


def gold_judgements(*sides: list[Dialogue]) -> Callable[..., Any] | None:
    """Who judges dialogues, part by part, or None."""
    return judgements if known(*sides) else None


def keep_instructed(work: TrackedJob, out: Path, base: Path, model: LanguageModel, made: Any) -> None:
    """Write the model with its base's tokenizer, its curve and what validation measured last."""
    figures, said = watched(model, made)
    last: dict[str, Any] = next((row for row in reversed(made.curve) if "validation_loss" in row), {})
    figures |= {name: value for name, value in last.items() if name.startswith("validation_")} | figures
    files = [base / name for name in ("tokenizer.json", CONVENTIONS) if (base / name).is_file()]
    keep(work, out, model, made, figures, said=said, beside=copies_of(*files))
