"""Stage `evaluate_tagger_transfer`: judge a tagger that began with word vectors as the others are."""

from pathlib import Path
from typing import Any

from pipeline.provenance.made_tagger import judge
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    judge(job, out, family="tagger_transfer", stage="evaluate_tagger_transfer")


if __name__ == "__main__":
    main()
