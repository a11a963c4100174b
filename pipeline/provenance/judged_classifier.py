"""What the stages that judge classifiers share."""

from pathlib import Path
from typing import Any

from langladder.evaluation.classifier import evaluate_classifier
from langladder.models.classifier import Classifier
from langladder.text.labelled.labelled import read_labelled
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import judged, work_of_reader
from pipeline.provenance.made_classifier import LABELS


def judge(job: Any, out: Path, *, family: str, stage: str) -> None:
    """Let a trained classifier label the test texts."""
    rung = getattr(job, family)
    name = rung.name
    folder, test = Path("models") / family / name, LABELS / "test.parquet"
    with tracked_job(family, stage, job, {"model": folder, "test": test}) as work:
        model: Any = Classifier.load(folder)
        examples = read_labelled(test)
        page = evaluate_classifier(model, examples, name=name)
        took = work_of_reader(model, rung, (len(model.encode(one).ids) for one in examples))
        judged(work, out, page.model_copy(update={"work": took}), folder)
    best = "" if page.bayes_accuracy is None else f", {page.bayes_accuracy:.1%} can be known"
    print(f"{stage} {name}: {page.scores.accuracy:.1%} of {page.texts:,} test texts right{best}")
