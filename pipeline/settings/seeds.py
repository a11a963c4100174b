"""A rung that is trained several times: with `seeds: 3` or in `folds: 10`, in params.yaml or in the rung's own file.

The stages that train and evaluate it stay one job each, and go through its trainings. The first one, of the job's seed,
is the rung: what grows from it, what is asked and handed on. The others, of the next numbers, lie in its folder and are
judged as it is, so that the tables say what another seed would have changed:

    models/lm/gpt/              seed
    models/lm/gpt/seeds/2/      seed + 1

In folds (of classifiers and taggers) the rung itself is trained on the training split as ever; beside it stand the
models of the folds, all with the job's seed, which are judged together (`evaluation.folds`):

    models/classifier/logistic/            the training split
    models/classifier/logistic/folds/3/    all but fold 3, the test, and fold 4, the validation

With `learning_curve` (of classifiers) models of parts of the training texts stand there, too:

    models/classifier/logistic/parts/2_of_4/

A rung that grows from one with as many seeds grows from the one of its number, else all from the first. What it reads
beside its base (a reward model, preferences) is the first's.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from langladder.evaluation.more_labels import FEWEST
from langladder.families.folds import PARTS, Part, fold_folder, part_folder

J = TypeVar("J")


def trainings(job: J, family: str, folder: Path) -> Iterator[tuple[Path, J]]:
    """The folder of each seed's training, and the job as if it were of that training alone; the rung's own is first.

    Args:
        folder: of the rung.
    """
    whole: Any = job
    rung = getattr(whole, family)
    yield folder, job
    for number in range(2, getattr(rung, "seeds", 1) + 1):
        update: dict[str, object] = {family: rung.model_copy(update=_base(rung, number))}
        if hasattr(whole, "seed"):
            update["seed"] = whole.seed + number - 1
        yield folder_of(folder, number), whole.model_copy(update=update)


def fold_trainings(job: J, family: str, folder: Path) -> Iterator[tuple[Path, J]]:
    """The same of each fold."""
    whole: Any = job
    rung = getattr(whole, family)
    folds = getattr(rung, "folds", 1)
    for number in range(1, folds + 1) if folds > 1 else ():
        own = rung.model_copy(update={"fold": Part(number=number, of=folds), "folds": 1})
        yield fold_folder(folder, number), whole.model_copy(update={family: own})


def part_trainings(job: J, family: str, folder: Path, texts: int) -> Iterator[tuple[Path, J]]:
    """The same of each part of the training texts; none where these are too few to say anything by.

    Args:
        texts: how many there are.
    """
    whole: Any = job
    rung = getattr(whole, family)
    for part in PARTS if getattr(rung, "learning_curve", False) and texts >= FEWEST else ():
        own = rung.model_copy(update={"part": part, "folds": 1, "learning_curve": False})
        yield part_folder(folder, part), whole.model_copy(update={family: own})


def folder_of(rung: Path, number: int) -> Path:
    """Where the model of a seed is, in the folder of the rung."""
    return rung if number == 1 else rung / "seeds" / str(number)


def _base(rung: Any, number: int) -> dict[str, object]:
    base = getattr(rung, "base", None)
    if base is None or not folder_of(Path("models") / base, number).is_dir():
        return {}
    return {"base": folder_of(Path(base), number).as_posix()}
