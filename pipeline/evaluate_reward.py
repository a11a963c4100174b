"""Stage `evaluate_reward`: how often a reward model prefers the better answer, on prompts and kinds it has not seen."""

from pathlib import Path
from typing import Any

from langladder.evaluation.reward import evaluate_reward
from langladder.models.reward import RewardModel
from langladder.text.labelled.instructions import read_rankings
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import judged
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    rung = job.reward
    folder, read = Path("models/reward") / rung.name, Path(rung.reads)
    with tracked_job("reward", "evaluate_reward", job, {"model": folder, "preferences": read}) as work:
        sides = {split: read_rankings(read / f"{split}.parquet") for split in ("test", "unseen")}
        kept = {split: side for split, side in sides.items() if side}
        how = {"optimizer": rung.training.optimizer, "batch_size": rung.training.batch_size}
        page = evaluate_reward(RewardModel.load(folder), kept, name=rung.name, **how)
        judged(work, out, page, folder)
    said = ", ".join(f"{one.accuracy:.1%} of {one.pairs:,} {split} pairs" for split, one in page.scores.items())
    print(f"evaluate_reward {rung.name}: {said} right")


if __name__ == "__main__":
    main()
