"""What the file of a rung says that learns from labels: folds of cross-validation, parts of the labels to learn from.

Each fold and each part is a training beside the rung's own, in its folder (`pipeline.settings.seeds`). What is judged
by them: `evaluation.folds`, `evaluation.more_labels`.
"""

from pathlib import Path
from typing import Any, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from langladder.families.family import Rung
from langladder.ground.schema import Config

MOST_FOLDS = 50


class Part(Config):
    """One of `of` equal parts, by its number from 1: a fold of the labelled texts, or a part of those for training."""

    number: int
    of: int


PARTS = tuple(Part(number=number, of=of) for of, count in ((2, 2), (4, 3), (8, 3)) for number in range(1, count + 1))
"""On which a rung is trained beside the whole for its learning curve: together about twice the texts."""


class FoldedRung(Rung):
    """What the file of a rung says that learns from labels: in how many folds it is judged; 1: on the test split.

    The trainings of the folds stand beside the rung's own, which knows nothing of them; `fold` is set for each of them.
    """

    folds: int = Field(default=1, ge=1, le=MOST_FOLDS, exclude=True)
    fold: Part | None = None

    @model_serializer(mode="wrap")
    def _plain(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """No other training knows of folds and parts."""
        return {key: value for key, value in plain(self).items() if key not in ("fold", "part") or value is not None}

    @field_validator("folds")
    @classmethod
    def _leave_some_to_train_on(cls, folds: int) -> int:
        return checked_folds(folds)

    @field_validator("fold", "part", mode="before", check_fields=False)
    @classmethod
    def _is_not_chosen(cls, value: object, info: ValidationInfo) -> object:
        if value is not None:
            setting = {"fold": "folds", "part": "learning_curve"}[str(info.field_name)]
            raise ValueError(f"is set for each of the {info.field_name}s: set `{setting}` alone")
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
    """What the file of a classifier says: whether it is trained on parts of the labels, too (`more_labels`)."""

    learning_curve: bool = Field(default=False, exclude=True)
    part: Part | None = None


def checked_folds(folds: int) -> int:
    """A number of folds.

    Raises:
        ValueError: 2 of them, of which none is left to train on.
    """
    if folds == 2:
        raise ValueError(
            "one fold is the test, another the validation, the rest is trained on: 1 (none), or 3 and more"
        )
    return folds


def fold_folder(rung: Path, number: int) -> Path:
    """Where the model of a fold is, in the folder of the rung."""
    return rung / "folds" / str(number)


def part_folder(rung: Path, part: Part) -> Path:
    """Where the model of a part of the training texts is, in the folder of the rung."""
    return rung / "parts" / f"{part.number}_of_{part.of}"
