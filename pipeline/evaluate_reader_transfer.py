"""Stage `evaluate_reader_transfer`: judge a reader that grew from another rung as the others are."""

from pathlib import Path
from typing import Any

from pipeline.provenance.made_reader import judge
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    judge(job, out, family="reader_transfer", stage="evaluate_reader_transfer")


if __name__ == "__main__":
    main()
