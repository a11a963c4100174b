"""A rung that is trained several times: with `seeds: 3` or in `folds: 10`, in params.yaml or in the rung's own file.

The stages that train and evaluate it are still one job each, which loops over its trainings. The first training, with
the job's seed, is the rung itself: other rungs start from it, users load it. The others, with the next seeds, are in
its folder. They are evaluated in the same way, so that the tables show the effect of the seed:

    models/lm/gpt/              seed
    models/lm/gpt/seeds/2/      seed + 1

With folds (of classifiers and taggers) the rung itself is trained on the training split, as without folds. Its folder
also has the models of the folds, all with the job's seed, which are evaluated together (`evaluation.folds`):

    models/classifier/logistic/            the training split
    models/classifier/logistic/folds/3/    all but fold 3, the test, and fold 4, the validation

With `learning_curve` (of classifiers) it also has models trained on parts of the training texts:

    models/classifier/logistic/parts/2_of_4/

If a rung and its base have the same number of seeds, each training starts from the base's training of the same number;
else all start from the first. Other inputs (a reward model, preferences) are always those of the first training.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from langladder.evaluation.more_labels import FEWEST
from langladder.families.folds import PARTS, Part, fold_folder, part_folder
from pipeline.settings.schema import FamilyJob

J = TypeVar("J", bound=FamilyJob)


def trainings(job: J, folder: Path) -> Iterator[tuple[Path, J]]:
    """The folder of each seed's training, and the job for that training alone; the rung's own comes first.

    Args:
        folder: of the rung.
    """
    rung: Any = job.rung
    yield folder, job
    for number in range(2, getattr(rung, "seeds", 1) + 1):
        update: dict[str, object] = {"rung": rung.model_copy(update=_base(rung, number))}
        if "seed" in job.model_fields_set:
            update["seed"] = job.seed + number - 1
        yield folder_of(folder, number), job.model_copy(update=update)


def fold_trainings(job: J, folder: Path) -> Iterator[tuple[Path, J]]:
    """The same for each fold."""
    rung: Any = job.rung
    folds = getattr(rung, "folds", 1)
    for number in range(1, folds + 1) if folds > 1 else ():
        own = rung.model_copy(update={"fold": Part(number=number, of=folds), "folds": 1})
        yield fold_folder(folder, number), job.model_copy(update={"rung": own})


def part_trainings(job: J, folder: Path, texts: int) -> Iterator[tuple[Path, J]]:
    """The same for each part of the training texts; none if there are too few texts.

    Args:
        texts: how many there are.
    """
    rung: Any = job.rung
    for part in PARTS if getattr(rung, "learning_curve", False) and texts >= FEWEST else ():
        own = rung.model_copy(update={"part": part, "folds": 1, "learning_curve": False})
        yield part_folder(folder, part), job.model_copy(update={"rung": own})


def folder_of(rung: Path, number: int) -> Path:
    """The path of a seed's model in the folder of the rung."""
    return rung if number == 1 else rung / "seeds" / str(number)


def _base(rung: Any, number: int) -> dict[str, object]:
    base = getattr(rung, "base", None)
    if base is None or not folder_of(Path("models") / base, number).is_dir():
        return {}
    return {"base": folder_of(Path(base), number).as_posix()}
