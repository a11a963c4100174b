"""Settings of rungs that learn from labels: folds of cross-validation, parts of the labels to train on.

Each fold and each part is a training in addition to the rung's own, in its folder (`pipeline.settings.seeds`). Their
evaluation is in `evaluation.folds` and `evaluation.more_labels`.
"""

from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from langladder.families.family import Rung
from langladder.ground.schema import Config

MOST_FOLDS = 50


class Part(Config):
    """One of `of` equal parts, by its number from 1: a fold of the labelled texts, or a part of those for training."""

    number: int
    of: int


PARTS = tuple(Part(number=number, of=of) for of, count in ((2, 2), (4, 3), (8, 3)) for number in range(1, count + 1))
"""The parts for a rung's learning curve, in addition to all texts; together about twice the texts."""


class FoldedRung(Rung):
    """The number of folds of a rung that learns from labels; 1: it is evaluated on the test split.

    The rung's own training does not depend on the folds; `fold` is set for the training of each fold.
    """

    folds: int = Field(default=1, ge=1, le=MOST_FOLDS, exclude=True)
    fold: Part | None = Field(default=None, exclude_if=lambda fold: fold is None)

    @field_validator("folds")
    @classmethod
    def _leave_some_to_train_on(cls, folds: int) -> int:
        return checked_folds(folds)

    @field_validator("fold", "part", mode="before", check_fields=False)
    @classmethod
    def _is_not_chosen(cls, value: object, info: ValidationInfo) -> object:
        if value is not None:
            setting = {"fold": "folds", "part": "learning_curve"}[str(info.field_name)]
            raise ValueError(f"is set for each of the {info.field_name}s automatically: set only `{setting}`")
        return value

    @model_validator(mode="after")
    def _go_alone(self) -> Self:
        training: Any = getattr(self, "training", None)
        if self.folds > 1 and self.seeds > 1:
            raise ValueError(
                f"folds={self.folds} with seeds={self.seeds}: each fold is trained once, with the seed of the job; set "
                "seeds to 1, or folds to 1"
            )
        if self.folds > 1 and getattr(training, "devices", 1) * getattr(training, "nodes", 1) > 1:
            raise ValueError(
                f"folds={self.folds} with training.devices={training.devices}, training.nodes={training.nodes}: one "
                "process trains the folds; set devices and nodes to 1, or folds to 1"
            )
        return self


class CurvedRung(FoldedRung):
    """The setting of a classifier to also train on parts of the labels (`more_labels`)."""

    learning_curve: bool = Field(default=False, exclude=True)
    part: Part | None = Field(default=None, exclude_if=lambda part: part is None)


def checked_folds(folds: int) -> int:
    """A number of folds.

    Raises:
        ValueError: 2 folds, which leave nothing to train on.
    """
    if folds == 2:
        raise ValueError(
            "one fold is for testing, one for validation, the others for training: use 1 (no folds), or 3 and more"
        )
    return folds


def fold_folder(rung: Path, number: int) -> Path:
    """The path of a fold's model in the folder of the rung."""
    return rung / "folds" / str(number)


def part_folder(rung: Path, part: Part) -> Path:
    """The path of the model for a part of the training texts, in the folder of the rung."""
    return rung / "parts" / f"{part.number}_of_{part.of}"
