"""Stage `evaluate_instruct`: let a model answer held-out instructions and judge its answers."""

from pathlib import Path
from typing import Any

from pipeline.provenance.judged_instructed import judge
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    judge(job, out, family="instruct", stage="evaluate_instruct")


if __name__ == "__main__":
    main()
