"""Stage `evaluate_reader`: answer the test questions and count which answers are right."""

from pathlib import Path
from typing import Any

from pipeline.provenance.made_reader import judge
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    judge(job, out, family="reader", stage="evaluate_reader")


if __name__ == "__main__":
    main()
