"""Stage `train_classifier`: fit or train one classifier; models/classifier/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

from pipeline.provenance.made_classifier import train
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    train(job, out, family="classifier", stage="train_classifier")


if __name__ == "__main__":
    main()
