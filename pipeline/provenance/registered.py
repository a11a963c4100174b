"""MLflow's registry: a model of this checkout under a name and a version, with a copy of its files.

A run lists the model that it has made and says how it is loaded (`logged_models`); the weights stay where they are. To
register a model is to hand it on: now the store has a copy, which `models:/name@alias` loads wherever the wheel is.
"""

import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from langladder.ground.errors import InputError
from pipeline.provenance import lineage, store
from pipeline.provenance.fingerprint import digest
from pipeline.provenance.found_runs import find_runs
from pipeline.provenance.logged_models import model_of
from pipeline.provenance.python_function import write_copy, write_description

ALIAS, RESERVED = re.compile(r"[\w-]{1,255}"), re.compile(r"latest|v\d+", re.IGNORECASE)  # as MLflow has them


class Registered(NamedTuple):
    """A version of a model in the registry."""

    name: str
    version: str
    run_id: str


def register(folder: Path, name: str | None = None, alias: str | None = None) -> Registered:
    """Register the model in a folder; a name that is taken gets a new version.

    Args:
        name: in the registry; None: family and rung, `lm-gpt`. alias: is moved to this version.

    Raises:
        InputError: no stage made the folder, the store has no run that did, or MLflow takes the name or alias not.
    """
    about, [rung, *_] = lineage.provenance(folder), lineage.chain(folder)
    run = _run_of(folder, about.fingerprint)
    model_id, name = model_of(run), name or rung["rung"].replace("/", "-")
    if alias is not None and (not ALIAS.fullmatch(alias) or RESERVED.fullmatch(alias)):
        raise InputError(
            f"--alias {alias[:80]!r}: letters, digits, _ and - are allowed, but neither `latest` nor v1, v2, …"
        )
    if model_id is None:
        raise InputError(f"{folder}: run {run.info.run_id} has listed no model; make it again: dvc repro -f -s …")
    client = store.client()
    with store.sentences(), tempfile.TemporaryDirectory() as place:
        out = Path(place)
        write_description(folder, out, run_id=run.info.run_id, model_id=model_id)
        if not _has_copy(client, model_id):
            write_copy(folder, out)
        client.log_model_artifacts(model_id, str(out))
    tags = {"fingerprint": about.fingerprint, "content": digest(folder), "rung": rung["rung"], "title": rung["title"]}
    tags |= {f"input.{key}": value for key, value in about.inputs.items()}
    tags |= {f"figure.{key}": f"{value:.6g}" for key, value in sorted(run.data.metrics.items())}
    return _version(client, name, alias, run.info.run_id, model_id, tags)


def _run_of(folder: Path, fingerprint: str) -> Any:
    runs = find_runs(fingerprint)
    if not runs:
        raise InputError(
            f"{folder}: {store.shown()} has no finished run with its fingerprint {fingerprint} (made on another "
            "machine, or not tracked?); make it here with `dvc repro`, or set MLFLOW_TRACKING_URI to its store"
        )
    return store.client().get_run(runs[0].info.run_id)  # a search gives no models


def _has_copy(client: Any, model_id: str) -> bool:
    return any(file.path.rstrip("/") == "models" for file in client.list_logged_model_artifacts(model_id))


def _version(client: Any, name: str, alias: str | None, run_id: str, model_id: str, tags: dict[str, str]) -> Registered:
    import mlflow
    from mlflow.exceptions import MlflowException

    mlflow.set_tracking_uri(store.uri())  # the registry looks the model up by itself
    try:
        try:
            client.get_registered_model(name)
        except MlflowException:
            client.create_registered_model(name)
        made = client.create_model_version(
            name, f"models:/{model_id}", run_id, tags, description=tags["title"], model_id=model_id
        )
        if alias:
            client.set_registered_model_alias(name, alias, made.version)
    except MlflowException as error:
        raise InputError(f"--name {name[:80]!r}: MLflow refuses it ({store.reason(error)})") from error
    return Registered(name, str(made.version), run_id)
