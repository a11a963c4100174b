"""Stage `transfer_tagger`: train a tagger that begins with another rung's word vectors or weights."""

from pathlib import Path
from typing import Any

from pipeline.provenance.made_tagger import train
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    base = Path("models") / job.tagger_transfer.base
    train(job, out, family="tagger_transfer", stage="transfer_tagger", base=base)


if __name__ == "__main__":
    main()
