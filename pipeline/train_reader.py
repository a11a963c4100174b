"""Stage `train_reader`: train one reader of paragraphs; models/reader/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

from pipeline.provenance.made_reader import train
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    train(job, out, family="reader", stage="train_reader")


if __name__ == "__main__":
    main()
