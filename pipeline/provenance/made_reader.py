"""What the stages that make and judge readers share: the family `reader`, and those that grow from other rungs."""

from pathlib import Path
from typing import Any

from langladder.ground.schema import locate
from langladder.text.labelled.questions import read_questions
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import judged, work_of_reader
from pipeline.provenance.made import keep, make, watched

QUESTIONS = Path("data/raw/questions")


def train(job: Any, out: Path, *, family: str, stage: str, base: Path | None = None) -> None:
    """Make a reader from the training questions, watched on the validation questions.

    Args:
        base: folder of the rung that it grows from.
    """
    rung = getattr(job, family)
    with tracked_job(family, stage, job, {"questions": QUESTIONS}) as work:
        train, validation = (read_questions(QUESTIONS / f"{split}.parquet") for split in ("train", "validation"))
        kind = locate(rung.target)
        model, made = make(work, rung, job.seed, kind, train, validation, settings=rung, base=base)
        figures, said = watched(model, made)
        figures |= {"train_questions": len(train), "threshold": model.threshold}
        keep(work, out, model, made, figures, said=said)


def judge(job: Any, out: Path, *, family: str, stage: str) -> None:
    """Let a trained reader answer the test questions."""
    from langladder.evaluation.reader import evaluate_reader
    from langladder.models.reader import Reader

    rung = getattr(job, family)
    name = rung.name
    folder, questions = Path("models") / family / name, QUESTIONS / "test.parquet"
    with tracked_job(family, stage, job, {"model": folder, "questions": questions}) as work:
        model: Any = Reader.load(folder)
        test = read_questions(questions)
        page = evaluate_reader(model, test, name=name)
        lengths = (row.length for one in test for row in model.encode(one))
        took = work_of_reader(model, rung, lengths)
        judged(work, out, page.model_copy(update={"work": took}), folder)
    found = page.scores
    print(f"{stage} {name}: {found.exact:.1%} of {found.questions:,} test questions right, F₁ {100 * found.f1:.1f}")
