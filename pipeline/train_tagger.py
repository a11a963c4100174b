"""Stage `train_tagger`: train one tagger; models/tagger/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

from pipeline.provenance.made_tagger import train
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    train(job, out, family="tagger", stage="train_tagger")


if __name__ == "__main__":
    main()
