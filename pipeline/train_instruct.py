"""Stage `train_instruct`: a language model learns from demonstrations to answer; models/instruct/<rung>/."""

from pathlib import Path
from typing import Any

from pipeline.provenance.job import tracked_job
from pipeline.provenance.made import make
from pipeline.provenance.made_instructed import INSTRUCTIONS, dialogues, gold_rewards, keep_instructed
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    rung = job.instruct
    with tracked_job("instruct", "train_instruct", job, {"instructions": INSTRUCTIONS}) as work:
        base = Path("models") / rung.base
        train, validation = dialogues("train", "validation")
        more = {"settings": rung, "judge": gold_rewards(train, validation)}
        model, made = make(work, rung, job.seed, base, train, validation, **more)
        keep_instructed(work, out, base, model, made)


if __name__ == "__main__":
    main()
