"""The model that a job has made, in MLflow's list of models: its settings, its scores, its card, and where it lies.

The weights stay where they are (no pickle, no second copy): the model's tags name the folder, and its MLmodel file
makes it a python function that is loaded from there. `pipeline.runs register` adds the copy that can be handed on.
"""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langladder.ground.artefacts import read_json
from pipeline.provenance.found_runs import find_runs
from pipeline.provenance.python_function import write_description
from pipeline.provenance.run_facts import Job, parameters


def log_model(client: Any, run_id: str, job: Job, folder: Path) -> str:
    """List the model that a run has made, once; returns its id."""
    from mlflow.entities import LoggedModelOutput

    found = client.get_run(run_id)
    if made := model_of(found):
        return made
    tags = {"folder": folder.as_posix(), "fingerprint": job.fingerprint, "title": job.rung["title"]}
    name = "".join("_" if letter in "/:.%\"'" else letter for letter in job.rung["name"])  # those MLflow refuses
    experiment = found.info.experiment_id
    model = client.create_logged_model(
        experiment, name=name, source_run_id=run_id, tags=tags, params=parameters(job), model_type=job.experiment
    )
    with tempfile.TemporaryDirectory() as place:
        write_description(folder, Path(place), run_id=run_id, model_id=model.model_id)
        client.log_model_artifacts(model.model_id, place)
    client.finalize_logged_model(model.model_id, "READY")
    client.log_outputs(run_id, [LoggedModelOutput(model.model_id, 0)])
    return str(model.model_id)


def model_of(run: Any) -> str | None:
    """Id of the model that a run has made."""
    outputs = run.outputs.model_outputs if run.outputs else []
    return str(outputs[0].model_id) if outputs else None


def log_numbers(client: Any, run_id: str, values: Mapping[str, float], model: str | None) -> None:
    """Log final numbers to a run, and to the model that it has made."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    client.log_batch(run_id, metrics=[Metric(key, value, now, 0, model_id=model) for key, value in values.items()])


def log_test_scores(client: Any, evaluation: str, folder: Path, scores: Mapping[str, float]) -> None:
    """Add a model's scores (not the counts of the text), as `test_…`, to the run that trained it.

    The evaluation's run names the model as its input.
    A model that was trained elsewhere has no such run here; then nothing is added.
    """
    from mlflow.entities import LoggedModelInput

    runs = find_runs(read_json(folder / "provenance.json")["fingerprint"])
    if not runs:
        return
    trained = client.get_run(runs[0].info.run_id)  # a search gives no models
    named = {f"test_{key}": value for key, value in scores.items()}
    new = {key: value for key, value in named.items() if trained.data.metrics.get(key) != value}
    model = model_of(trained)
    log_numbers(client, trained.info.run_id, new, model)
    if model:
        client.log_inputs(evaluation, models=[LoggedModelInput(model)])
