"""Stage `transfer_classifier`: train a classifier that begins with another rung's word vectors or weights."""

from pathlib import Path
from typing import Any

from pipeline.provenance.made_classifier import train
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    base = Path("models") / job.classifier_transfer.base
    train(job, out, family="classifier_transfer", stage="transfer_classifier", base=base)


if __name__ == "__main__":
    main()
