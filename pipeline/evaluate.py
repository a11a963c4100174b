"""Stage: evaluate one rung of a family on the test data; reports/rungs/<family>/<rung>.json, metrics.

If the family has a table of predictions, the prediction for each test item is in <rung>.parquet and <rung>.csv beside
it. With several seeds it is that of the first seed; with folds, that of the model that did not see the item.

    python -m pipeline.evaluate lm -cd resolved/evaluate_lm -cn lstm

The module `langladder.families.<family>` defines how a family's rungs are evaluated.
"""

from pathlib import Path
from typing import Any

from langladder.evaluation.page import Excluded, Page
from langladder.evaluation.predictions import write_predictions
from langladder.evaluation.seeds import joined
from langladder.families import families
from langladder.families.family import Evaluated
from langladder.ground.artefacts import figures_to_json, write_json
from pipeline.settings.plan import Stage
from pipeline.settings.run_folder import output
from pipeline.settings.schema import FamilyJob
from pipeline.settings.seeds import trainings
from pipeline.settings.stage import family_stage
from pipeline.tracking.job import tracked_job


@family_stage
def main(stage: Stage, job: FamilyJob, out: Path) -> None:
    own = Path("models") / stage.family_name / job.name
    results = [evaluate(stage, values, folder) for folder, values in trainings(job, own)]
    page, table = joined([result.page for result in results]), results[0].predictions
    write_page(out, stage.family_name, stage.name, page)
    if table is not None:
        stem = output(out, "reports/rungs", stage.family_name, page.name)
        for ending in ("parquet", "csv"):
            write_predictions(stem.with_name(f"{stem.name}.{ending}"), table)


def evaluate(stage: Stage, job: FamilyJob, folder: Path) -> Evaluated:
    """Evaluate one training of the rung, in a folder."""
    family = families()[stage.family_name]
    rung: Any = job.rung
    with tracked_job(stage.name, job, {"model": folder} | family.evaluation_inputs(rung, job)) as work:
        page = family.evaluate(rung, job, folder)
        work.run.test_scores(folder, page.page.figures() if page.scores is None else page.scores)
        work.run.metrics(page.costs)
    print(f"{stage.name} {rung.name}{'' if folder.name == rung.name else f', training {folder.name}'}: {page.message}")
    return page


def write_page(out: Path, family: str, stage: str, page: Page, *, without: Excluded | None = None) -> None:
    """Write the page of an evaluation, which the report reads, and its figures.

    Args:
        stage: the name of the folder for the figures; those of the training are in the folder of the training's stage.
        without: parts of the page that are not written, as for pydantic's `exclude`.
    """
    plain = page.model_dump(mode="json", exclude=without)
    write_json(output(out, "reports/rungs", family, page.name, ending=".json"), plain)
    write_json(output(out, "metrics", stage, page.name, ending=".json"), figures_to_json(page.figures()))


if __name__ == "__main__":
    main()
