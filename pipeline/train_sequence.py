"""Stage `train_sequence`: make a sequence task's data, train its network; models/sequence/<rung>/, metrics, curve."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.schema import locate
from pipeline.provenance.curves import shown
from pipeline.provenance.job import tracked_job
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    rung = job.sequence
    with tracked_job("sequence", "train_sequence", job, {}) as work:
        task = locate(rung.target)(rung.data, rung.model, seed=job.seed)
        logger = work.run.lightning_logger()
        made, model = task.train(rung.training, work=work.checkpoints, logger=logger)
        place = out / "models" / "sequence" / rung.name
        with work.artefact(place) as folder:
            task.save(model, folder)
        work.write_curve(out / "curves" / "sequence" / f"{rung.name}.csv", made.curve)
        splits = {f"{split}_examples": len(examples) for split, examples in task.data().items()}
        figures = {"parameters": model.number_of_parameters(), "validation_loss": made.validation_loss} | splits
        write_json(out / "metrics" / "train_sequence" / f"{rung.name}.json", figures)
        work.run.metrics(figures | made.cost)
    loss = shown(made.validation_loss)
    print(f"train_sequence {rung.name}: {made.cost['seconds']:.0f} s, validation loss {loss} → {place}")


if __name__ == "__main__":
    main()
