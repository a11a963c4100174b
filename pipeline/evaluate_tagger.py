"""Stage `evaluate_tagger`: tag the test sentences and count which tags are right."""

from pathlib import Path
from typing import Any

from pipeline.provenance.made_tagger import judge
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    judge(job, out, family="tagger", stage="evaluate_tagger")


if __name__ == "__main__":
    main()
