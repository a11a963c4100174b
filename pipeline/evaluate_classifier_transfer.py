"""Stage `evaluate_classifier_transfer`: judge a classifier that began with another rung as the others are."""

from pathlib import Path
from typing import Any

from pipeline.provenance.judged_classifier import judge
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    judge(job, out, family="classifier_transfer", stage="evaluate_classifier_transfer")


if __name__ == "__main__":
    main()
