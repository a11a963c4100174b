"""Stage `evaluate_tune`: score a tuned language model on the test text."""

from pathlib import Path
from typing import Any

from pipeline.provenance.judged_lm import judge
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    judge(job, out, family="tune", stage="evaluate_tune")


if __name__ == "__main__":
    main()
