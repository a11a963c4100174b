"""Models in MLflow: in its list of models, as its python function, and in its registry.

A run lists the model that it has made: settings, scores, card and path. The weights are not copied (no pickle, no
second copy). What `mlflow.pyfunc.save_model` writes beside the card makes it a Python function that is loaded from its
path, which langladder.json has (see `langladder.faces.mlflow.functions`).

For a registered model the store has a copy (`models/…`), which `models:/name@alias` loads wherever the wheel is
installed.
"""

import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from langladder.ground.artefacts import read_json, write_json
from langladder.ground.errors import InputError
from pipeline import ROOT
from pipeline.tracking import lineage, store
from pipeline.tracking.fingerprint import digest
from pipeline.tracking.lineage import provenance
from pipeline.tracking.run_facts import Job, parameters
from pipeline.tracking.store import find_runs

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


def log_model(client: "MlflowClient", run_id: str, job: Job, folder: Path) -> str:
    """List the model that a run has made, once; returns its id."""
    from mlflow.entities import LoggedModelOutput

    run = client.get_run(run_id)
    if existing := model_of(run):
        return existing
    tags = {"folder": folder.as_posix(), "fingerprint": job.fingerprint, "title": job.rung["title"]}
    name = "".join("_" if letter in "/:.%\"'" else letter for letter in job.rung["name"])  # those MLflow refuses
    experiment = run.info.experiment_id
    model = client.create_logged_model(
        experiment, name=name, source_run_id=run_id, tags=tags, params=parameters(job), model_type=job.experiment
    )
    with tempfile.TemporaryDirectory() as folder_name:
        write_description(folder, Path(folder_name) / "model", run_id=run_id, model_id=model.model_id)
        client.log_model_artifacts(model.model_id, f"{folder_name}/model")
    client.finalize_logged_model(model.model_id, "READY")
    client.log_outputs(run_id, [LoggedModelOutput(model.model_id, 0)])
    return str(model.model_id)


def model_of(run: "Run") -> str | None:
    """Id of the model that a run has made."""
    outputs = run.outputs.model_outputs if run.outputs else []
    return str(outputs[0].model_id) if outputs else None


def log_numbers(client: "MlflowClient", run_id: str, values: Mapping[str, float], model: str | None) -> None:
    """Log final numbers to a run, and to the model that it has made."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    client.log_batch(run_id, metrics=[Metric(key, value, now, 0, model_id=model) for key, value in values.items()])


def log_test_scores(client: "MlflowClient", evaluation: str, folder: Path, scores: Mapping[str, float]) -> None:
    """Add a model's scores (not the counts of the text), as `test_…`, to the run that trained it.

    The evaluation's run names the model as its input.
    An imported model has no such run; then nothing is added.
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


LOADER = "langladder.faces.mlflow"
CARDS = ("README.md", "provenance.json")


def write_description(folder: Path, out: Path, *, run_id: str, model_id: str) -> None:
    """Write the description of the model in `folder`, without a copy of it; only its cards if it cannot predict.

    Args:
        out: a folder that does not exist.

    Raises:
        InputError: the folder is damaged.
    """
    import pandas as pd
    from mlflow.models import Model, ModelSignature
    from mlflow.pyfunc import save_model

    from langladder.faces.mlflow.functions import POINTER, function_of

    kind = function_of(folder)
    if kind is None:
        out.mkdir()
    else:
        example = pd.DataFrame([kind.example(folder)])
        save_model(
            out,
            loader_module=LOADER,
            mlflow_model=Model(run_id=run_id, model_id=model_id),
            pip_requirements=[f"langladder=={version('langladder')}", f"mlflow=={version('mlflow')}"],
            signature=ModelSignature.from_dict(kind.signature()),
            input_example=(example, dict(kind.parameters)) if kind.parameters else example,
        )
        write_json(out / POINTER, _pointer(folder))
    for card in CARDS:
        if (folder / card).is_file():
            shutil.copy(folder / card, out)


def write_copy(folder: Path, out: Path) -> None:
    """Write the model itself, at the path in the description; for a best-of-n also its reward model.

    Raises:
        InputError: the reward model is missing.
    """
    from langladder.answers.chat import METHOD
    from langladder.faces.mlflow.functions import function_of

    shutil.copytree(folder, out / _pointer(folder)["model"])
    own = provenance(folder).settings.get("align") or {}
    if own.get("method") == METHOD:
        judge = Path(str(own["reads"]))
        function_of(folder.absolute().parents[2] / judge)
        shutil.copytree(folder.absolute().parents[2] / judge, out / judge)


def _pointer(folder: Path) -> dict[str, str]:
    """The last three names of a model's path are those of the DAG: models/lm/gpt."""
    file = folder / "provenance.json"
    fingerprint = read_json(file)["fingerprint"] if file.is_file() else ""
    path = (ROOT / folder).resolve()
    return {"model": "/".join(["models", *path.parts[-2:]]), "place": str(path), "fingerprint": fingerprint}


ALIAS, RESERVED = re.compile(r"[\w-]{1,255}"), re.compile(r"latest|v\d+", re.IGNORECASE)  # rules of MLflow


class Registered(NamedTuple):
    """A version of a model in the registry."""

    name: str
    version: str
    run_id: str


def register(folder: Path, name: str | None = None, alias: str | None = None) -> Registered:
    """Register the model in a folder; an existing name gets a new version.

    Args:
        name: in the registry; None: family and rung, `lm-gpt`. alias: is moved to this version.

    Raises:
        InputError: no stage made the folder, the store has no run for it, or MLflow refuses the name or alias.
    """
    about, [rung, *_] = lineage.provenance(folder), lineage.chain(folder)
    run = _run_of(folder, about.fingerprint)
    model_id, name = model_of(run), name or rung["rung"].replace("/", "-")
    if store.is_elsewhere(run.info.artifact_uri):
        raise InputError(
            f"{folder}: its run was made before the project was moved or copied, and MLflow looks for the files of the "
            f"run in {run.info.artifact_uri}; make it again here: dvc repro -f -s …"
        )
    if alias is not None and (not ALIAS.fullmatch(alias) or RESERVED.fullmatch(alias)):
        raise InputError(
            f"--alias {alias[:80]!r}: letters, digits, _ and - are allowed, but neither `latest` nor v1, v2, …"
        )
    if model_id is None:
        raise InputError(f"{folder}: run {run.info.run_id} has no model; make it again: dvc repro -f -s …")
    client = store.client()
    with store.sentences(), tempfile.TemporaryDirectory() as folder_name:
        out = Path(folder_name) / "model"
        write_description(folder, out, run_id=run.info.run_id, model_id=model_id)
        if not _has_copy(client, model_id):
            write_copy(folder, out)
        client.log_model_artifacts(model_id, str(out))
    tags = {"fingerprint": about.fingerprint, "content": digest(folder), "rung": rung["rung"], "title": rung["title"]}
    tags |= {f"input.{key}": value for key, value in about.inputs.items()}
    tags |= {f"figure.{key}": f"{value:.6g}" for key, value in sorted(run.data.metrics.items())}
    return _version(client, name, alias, run.info.run_id, model_id, tags)


def _run_of(folder: Path, fingerprint: str) -> "Run":
    runs = find_runs(fingerprint)
    if not runs:
        raise InputError(
            f"{folder}: {store.public_uri()} has no finished run with its fingerprint {fingerprint} (made on another "
            "machine, or not tracked?); make it here with `dvc repro`, or set MLFLOW_TRACKING_URI to its store"
        )
    return store.client().get_run(runs[0].info.run_id)  # a search gives no models


def _has_copy(client: "MlflowClient", model_id: str) -> bool:
    return any(file.path.rstrip("/") == "models" for file in client.list_logged_model_artifacts(model_id))


def _version(
    client: "MlflowClient", name: str, alias: str | None, run_id: str, model_id: str, tags: dict[str, str]
) -> Registered:
    import mlflow
    from mlflow.exceptions import MlflowException

    mlflow.set_tracking_uri(store.uri())  # the registry looks up the model itself
    try:
        try:
            client.get_registered_model(name)
        except MlflowException:
            client.create_registered_model(name)
        registered = client.create_model_version(
            name, f"models:/{model_id}", run_id, tags, description=tags["title"], model_id=model_id
        )
        if alias:
            client.set_registered_model_alias(name, alias, registered.version)
    except MlflowException as error:
        raise InputError(f"--name {name[:80]!r}: MLflow refuses it ({store.reason(error)})") from error
    return Registered(name, str(registered.version), run_id)
