"""The parent of a sweep's runs: MLflow's pages group them below it; `python -m pipeline.train lm -m …` makes one.

The first job of a sweep creates the parent run, in the experiment of its family; jobs can run in several processes or
machines. When a job ends, the parent gets the best figure so far and its run. A sweep is identified by its folder below
multirun/.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from hydra.core.hydra_config import HydraConfig

from langladder.families import families
from pipeline.settings.sweeps import swept
from pipeline.tracking import store
from pipeline.tracking.run_facts import Job

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

PARENT = "mlflow.parentRunId"
MOST = 1000  # runs of a sweep that are compared


def parent_of(client: "MlflowClient", experiment: str, job: Job) -> str | None:
    """The parent run of this job's run, created if missing; None outside of a sweep."""
    if not swept():
        return None
    folder = Path(HydraConfig.get().sweep.dir)
    with store.alone():
        name = f"{folder.parent.name}/{folder.name}".replace("'", "")  # quotes end a value in MLflow's search
        if runs := client.search_runs([experiment], f"tags.sweep = '{name}'"):
            client.update_run(runs[0].info.run_id, status="RUNNING")
            return str(runs[0].info.run_id)
        note = f"A sweep of `{job.stage}` in `{folder}`: one child run per job, Hydra's overrides as tags `override.…`."
        own = {"sweep": name, "mlflow.runName": f"sweep {job.stage} {folder.name}", "mlflow.note.content": note}
        return str(client.create_run(experiment, tags=own).info.run_id)


def job_ended(client: "MlflowClient", parent: str, job: Job) -> None:
    """Update the parent: its state, the number of runs, the best figure and its run."""
    experiment = client.get_run(parent).info.experiment_id
    runs = client.search_runs([experiment], f"tags.`{PARENT}` = '{parent}'", max_results=MOST)
    client.log_metric(parent, "runs", len(runs))
    if best := _best(runs, families()[job.family].objective):
        run, name, value = best
        client.log_metric(parent, name, value)
        client.set_tag(parent, "best", run.data.tags.get("overrides", ""))
        client.set_tag(parent, "best_run", run.info.run_id)
    states = {run.info.status for run in runs}
    state = next((name for name in ("RUNNING", "FAILED", "KILLED") if name in states), "FINISHED")
    if state == "RUNNING":
        client.update_run(parent, status=state)
    else:
        client.set_terminated(parent, state)


def _best(runs: "list[Run]", objective: str | None) -> "tuple[Run, str, float] | None":
    """The run whose figure is the smallest, as searches choose it; None if no run has the figure."""
    scores = [
        (run, name, run.data.metrics[name])
        for run in runs
        for name in [f"best_{objective}" if f"best_{objective}" in run.data.metrics else str(objective)]
        if run.info.status == "FINISHED" and name in run.data.metrics
    ]
    return min(scores, key=lambda score: score[2], default=None)
