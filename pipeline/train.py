"""Stage: train one rung of a family; models/<family>/<rung>/, metrics, learning curve.

    python -m pipeline.train lm -cd resolved/train_lm -cn lstm      # as `dvc repro` does
    python -m pipeline.train lm lm=gpt lm.training.lr=0.001         # a single run with other settings
    python -m pipeline.train lm -m lm=lstm,gpt seed=1,2             # a Hydra sweep

With `seeds` or `folds` above 1, a job of `dvc repro` trains the rung that many times, see `settings.seeds`. The module
`langladder.families.<family>` defines how a family's rungs are trained.
"""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from langladder.families import families
from langladder.ground.artefacts import figures_to_json, write_json
from pipeline.settings.plan import Stage
from pipeline.settings.run_folder import output
from pipeline.settings.schema import FamilyJob
from pipeline.settings.seeds import fold_trainings, part_trainings, trainings
from pipeline.settings.stage import family_stage
from pipeline.tracking.job import tracked_job


@family_stage
def main(stage: Stage, job: FamilyJob, out: Path) -> None:
    family = stage.family_name
    own = output(out, "models", family, job.name)
    results = [train(stage, values, out, folder) for folder, values in trainings(job, own)]
    texts = results[0].get("train_texts")
    parts = part_trainings(job, own, texts if isinstance(texts, int) else 0)
    for folder, values in chain(fold_trainings(job, own), parts):
        train(stage, values, out, folder)


def train(stage: Stage, job: FamilyJob, out: Path, folder: Path) -> Mapping[str, object]:
    """Train the rung once, into a folder, with the rung's curve and metrics; returns its figures."""
    family = families()[stage.family_name]
    rung: Any = job.rung
    with tracked_job(stage.name, job, family.training_inputs(rung)) as work:
        trained = family.train(rung, job, work.make(rung, job.seed))
        with work.artefact(folder) as temporary:
            trained.save(temporary)
        if folder == output(out, "models", family.name, rung.name):
            work.write_curve(output(out, "curves", family.name, rung.name, ending=".csv"), trained.result.curve)
            write_json(output(out, "metrics", stage.name, rung.name, ending=".json"), figures_to_json(trained.figures))
        work.run.metrics({**trained.figures, **trained.result.cost})
        print(f"{stage.name} {rung.name}: {trained.result.cost['seconds']:.0f} s, {trained.message} → {folder}")
    return trained.figures


if __name__ == "__main__":
    main()
