"""Stage `evaluate_classifier`: classify the test texts and count which labels are right, and how sure it was."""

from pathlib import Path
from typing import Any

from pipeline.provenance.judged_classifier import judge
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    judge(job, out, family="classifier", stage="evaluate_classifier")


if __name__ == "__main__":
    main()
