"""Stage `train_align`: an instructed model learns from rewards or preferences; models/align/<rung>/, metrics, curve."""

from pathlib import Path
from typing import Any

from langladder.models.reward import RewardModel
from langladder.tasks.policy.making import Teaching
from langladder.text.labelled.instructions import read_rankings
from langladder.text.storage.corpus_ids import TokenStream
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made import make
from pipeline.provenance.made_instructed import INSTRUCTIONS, TOKENS, dialogues, gold_rewards, keep_instructed
from pipeline.settings.stage import stage

SPLITS = ("train", "validation")


@stage
def main(job: Any, out: Path) -> None:
    rung = job.align
    with tracked_job("align", "train_align", job, {"instructions": INSTRUCTIONS, "tokens": TOKENS}) as work:
        base, read = Path("models") / rung.base, Path(rung.reads)
        train, validation = dialogues(*SPLITS)
        text = TokenStream.open(TOKENS / "train.arrow")
        teaching = Teaching(train, validation, gold_rewards(train, validation), text)
        if read.parts[0] == "models":
            teaching = teaching._replace(reward_model=RewardModel.load(read))
        elif rung.method == "dpo":
            ranked = [read_rankings(read / f"{split}.parquet") for split in SPLITS]
            teaching = teaching._replace(preferences=(ranked[0], ranked[1]))
        model, made = make(work, rung, job.seed, base, teaching, settings=rung)
        keep_instructed(work, out, base, model, made)


if __name__ == "__main__":
    main()
