"""What the stages that judge classifiers share."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.evaluation.classification import evaluate_classifier
from langladder.infinity import to_plain
from langladder.models.classifier import Classifier
from langladder.text.labelled import read_labelled
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made_classifier import LABELS


def judge(job: Any, out: Path, *, family: str, stage: str) -> None:
    """Let a trained classifier label the test texts."""
    name = getattr(job, family).name
    folder, test = Path("models") / family / name, LABELS / "test.parquet"
    with tracked_job(family, stage, job, {"model": folder, "test": test}) as work:
        page = evaluate_classifier(Classifier.load(folder), read_labelled(test), name=name)
        write_json(out / "reports" / "rungs" / family / f"{name}.json", page.model_dump(mode="json"))
        write_json(out / "metrics" / family / f"{name}.json", to_plain(page.figures()))
        work.run.test_scores(folder, page.figures())
    best = "" if page.bayes_accuracy is None else f", {page.bayes_accuracy:.1%} can be known"
    print(f"{stage} {name}: {page.scores.accuracy:.1%} of {page.texts:,} test texts right{best}")
