"""What the stages that make and judge taggers share: the family `tagger`, and those that grow from other rungs."""

from pathlib import Path
from typing import Any

from langladder.ground.schema import locate
from langladder.text.labelled.labelled import read_labels, read_tagged
from langladder.text.words.conventions import conventions_of
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import judged, work_of_reader
from pipeline.provenance.made import keep, make, watched

TAGS = Path("data/clean/tags")


def train(job: Any, out: Path, *, family: str, stage: str, base: Path | None = None) -> None:
    """Make a tagger from the training sentences, watched on the validation sentences.

    Args:
        base: folder of the rung that it grows from.
    """
    rung = getattr(job, family)
    with tracked_job(family, stage, job, {"tags": TAGS}) as work:
        tags = read_labels(TAGS)
        train, validation = (read_tagged(TAGS / f"{split}.parquet") for split in ("train", "validation"))
        kind = locate(rung.target)
        model, made = make(work, rung, job.seed, kind, tags, train, validation, settings=rung, base=base)
        model.normalisation = conventions_of(TAGS).normalisation
        figures, said = watched(model, made)
        figures |= {"train_sentences": len(train), "train_words": sum(len(one.words) for one in train)}
        keep(work, out, model, made, figures | {"tags": len(tags)}, said=said)


def judge(job: Any, out: Path, *, family: str, stage: str) -> None:
    """Let a trained tagger tag the test sentences."""
    from langladder.evaluation.tagger import evaluate_tagger
    from langladder.models.tagger import Tagger

    rung = getattr(job, family)
    name = rung.name
    folder = Path("models") / family / name
    with tracked_job(family, stage, job, {"model": folder, "tags": TAGS}) as work:
        known = {word for sentence in read_tagged(TAGS / "train.parquet") for word in sentence.words}
        model, test = Tagger.load(folder), read_tagged(TAGS / "test.parquet")
        page = evaluate_tagger(model, test, known=known, name=name)
        took = work_of_reader(model, rung, (len(one.words) for one in test))
        judged(work, out, page.model_copy(update={"work": took}), folder)
    best = "" if page.bayes_accuracy is None else f", {page.bayes_accuracy:.1%} can be known"
    print(f"{stage} {name}: {page.scores.accuracy:.1%} of {page.words:,} test words right{best}")
