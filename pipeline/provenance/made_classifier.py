"""What the stages that make classifiers share: the family `classifier`, and those that grow from other rungs."""

from pathlib import Path
from typing import Any

from langladder.ground.schema import locate
from langladder.models.classifier import label_ids
from langladder.text.labelled.labelled import read_labelled, read_labels
from langladder.text.words.conventions import conventions_of
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made import keep, make, watched

LABELS = Path("data/clean/labels")
TOKENIZER = Path("data/tokens/text/tokenizer.json")


def train(job: Any, out: Path, *, family: str, stage: str, base: Path | None = None) -> None:
    """Make a classifier from the training texts, watched on the validation texts.

    Args:
        base: folder of the rung that it grows from.
    """
    rung = getattr(job, family)
    inputs = {"labels": LABELS} | ({} if base is None else {"tokenizer": TOKENIZER})  # whatever a transfer may read
    with tracked_job(family, stage, job, inputs) as work:
        labels = read_labels(LABELS)
        train, validation = (read_labelled(LABELS / f"{split}.parquet") for split in ("train", "validation"))
        more = {"tokenizer": TOKENIZER, "base": base}
        kind = locate(rung.target)
        model, made = make(work, rung, job.seed, kind, labels, train, validation, settings=rung, **more)
        gold = label_ids(validation, labels)
        right = float((model.log_probs(validation).argmax(axis=1) == gold).mean()) if len(gold) else None
        model.normalisation = conventions_of(LABELS).normalisation
        figures, _ = watched(model, made)
        figures |= {"validation_accuracy": right, "train_texts": len(train), "labels": len(labels)}
        said = f"{'–' if right is None else f'{right:.1%}'} of the validation texts right"
        keep(work, out, model, made, figures, said=said)
