"""Stage `train_reward`: learn from rankings which answer is better; models/reward/<rung>/, metrics, curve."""

from pathlib import Path
from typing import Any

from langladder.text.labelled.instructions import read_rankings
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made import keep, make
from pipeline.provenance.made_instructed import INSTRUCTIONS, dialogues
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    rung = job.reward
    with tracked_job("reward", "train_reward", job, {"instructions": INSTRUCTIONS}) as work:
        base, read = Path("models") / rung.base, Path(rung.reads)
        train, validation = (read_rankings(read / f"{split}.parquet") for split in ("train", "validation"))
        (shown,) = dialogues("validation")
        model, made = make(work, rung, job.seed, base, train, validation, shown, settings=rung)
        best = max((row["validation_accuracy"] for row in made.curve if "validation_accuracy" in row), default=None)
        figures = {"parameters": model.number_of_parameters(), "validation_accuracy": best}
        figures |= {"validation_loss": made.validation_loss, "rankings": len(train)}
        said = f"{'–' if best is None else f'{best:.1%}'} of the validation pairs right"
        keep(work, out, model, made, figures, said=said)


if __name__ == "__main__":
    main()
