"""A rung that is trained with several seeds: `seeds: 3` in params.yaml, or in the rung's own file.

The stages that train and evaluate it stay one job each, and go through its trainings. The first one, of the job's seed,
is the rung: what grows from it, what is asked and handed on. The others, of the next numbers, lie in its folder and are
judged as it is, so that the tables say what another seed would have changed:

    models/lm/gpt/              seed
    models/lm/gpt/seeds/2/      seed + 1

A rung that grows from one with as many seeds grows from the one of its number, else all from the first. What it reads
beside its base (a reward model, preferences) is the first's.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

J = TypeVar("J")


def trainings(job: J, family: str) -> Iterator[tuple[int, J]]:
    """The number of each training, from 1, and the job as if it were of that training alone."""
    whole: Any = job
    rung = getattr(whole, family)
    yield 1, job
    for number in range(2, getattr(rung, "seeds", 1) + 1):
        update: dict[str, object] = {family: rung.model_copy(update=_base(rung, number))}
        if hasattr(whole, "seed"):
            update["seed"] = whole.seed + number - 1
        yield number, whole.model_copy(update=update)


def folder_of(rung: Path, number: int) -> Path:
    """Where the model of a training is, in the folder of the rung."""
    return rung if number == 1 else rung / "seeds" / str(number)


def _base(rung: Any, number: int) -> dict[str, object]:
    base = getattr(rung, "base", None)
    if base is None or not folder_of(Path("models") / base, number).is_dir():
        return {}
    return {"base": folder_of(Path(base), number).as_posix()}
