"""Limits on length, and the book of what cleaning changed and dropped."""

from collections import Counter
from typing import Any, Self

from pydantic import Field, model_validator

from langladder.schema import Config
from langladder.text.clean.steps import Step
from langladder.text.words.words import split_words

EXAMPLES = 3
EXAMPLE_CHARACTERS = 120


class LimitsConfig(Config):
    """Lines outside these bounds are dropped; null: no bound. Words are counted as in the data report."""

    min_characters: int = Field(default=1, ge=1)
    max_characters: int | None = Field(default=None, ge=1)
    min_words: int = Field(default=1, ge=1)
    max_words: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _bounds_leave_room(self) -> Self:
        for unit in ("characters", "words"):
            low, high = getattr(self, f"min_{unit}"), getattr(self, f"max_{unit}")
            if high is not None and high < low:
                raise ValueError(f"max_{unit}: {high} is below min_{unit}: {low}; no line would be left")
        return self


def outside(line: str, limits: LimitsConfig) -> str | None:
    """Why a cleaned line goes: `empty`, `too_short`, `too_long`, or None."""
    if not line:
        return "empty"
    if len(line) < limits.min_characters:
        return "too_short"
    if limits.max_characters is not None and len(line) > limits.max_characters:
        return "too_long"
    if limits.min_words > 1 or limits.max_words is not None:
        words = len(split_words(line, "auto"))
        if words < limits.min_words:
            return "too_short"
        if limits.max_words is not None and words > limits.max_words:
            return "too_long"
    return None


class Book:
    """Counts, with a few examples, of changes by step and of drops by reason."""

    def __init__(self) -> None:
        self.read = 0
        self.changed: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}

    def apply(self, steps: list[tuple[str, Step]], line: str) -> str:
        """Run the steps on one line, noting which of them changed it."""
        for name, step in steps:
            after = step(line)
            if after != line:
                self.changed[name] += 1
                line = after
        return line

    def drop(self, reason: str, text: str) -> None:
        """Note one dropped line, pair or document."""
        self.dropped[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(text[:EXAMPLE_CHARACTERS])

    def add(self, other: "Book") -> None:
        """What another notes of the text that follows."""
        self.read += other.read
        self.changed.update(other.changed)
        self.dropped.update(other.dropped)
        for reason, examples in other.examples.items():
            mine = self.examples.setdefault(reason, [])
            mine += examples[: EXAMPLES - len(mine)]

    def report(self) -> dict[str, Any]:
        """Figures ready for JSON."""
        dropped = {
            reason: {"count": count, "examples": self.examples[reason]}
            for reason, count in sorted(self.dropped.items())
        }
        return {"read": self.read, "changed_by_step": dict(sorted(self.changed.items())), "dropped": dropped}
