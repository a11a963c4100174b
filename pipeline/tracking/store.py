"""MLflow's tracking store: where it is, whether it can be used, and the experiment of each family.

Problems are reported in one sentence before any computation; a store that fails later does not stop a training (see
`tracking`).

Artifacts are in `mlartifacts/` beside the checkout's mlflow.db. MLflow keeps their absolute location with the
experiment and cannot change it: in a project that was moved or copied a new experiment begins, the old one is renamed.
"""

import fcntl
import logging
import os
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from langladder.families import families
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from pipeline.tracking import processes
from pipeline.tracking.fingerprint import home

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

# By default MLflow tries a server 7 times for 120 s; a starting job should fail at once.
BOUNDS = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}
BOUNDS["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"  # two lines a run, with the server's password
# Tag for the UI: without it, the UI opens an experiment with the empty pages of prompts and traces.
KIND = {"mlflow.experimentKind": "custom_model_development"}
ALLOWED = "sqlite:////absolute/path.db, http://host:port or another of MLflow's stores"


def uri() -> str:
    """The tracking store: MLFLOW_TRACKING_URI where set, else mlflow.db of this checkout."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home() / 'mlflow.db'}"


def client() -> "MlflowClient":
    """A client of the store, to read it; it gives up after a minute without an answer.

    Raises:
        InputError: MLFLOW_TRACKING_URI is not the address of a store, or the database cannot be read.
    """
    _check(uri())
    with sentences():
        created = _client()
        end_dead_runs(created)
        return created


def experiments() -> list[str]:
    """The experiments of all families, each once."""
    return list(dict.fromkeys(family.experiment for family in families().values()))


def prepare(names: Iterable[str] = ()) -> "tuple[MlflowClient, dict[str, str]]":
    """A client of the store, and the ids of experiments; both are created if missing.

    An experiment is created with its first run, so that none is empty. (`Default` is MLflow's own.)

    Raises:
        InputError: the store cannot be used.
    """
    _check(uri())
    with sentences(), alone():
        created = _client()
        end_dead_runs(created)
        return created, {name: _experiment(created, name) for name in names}


def used() -> dict[str, str]:
    """The families' experiments in the store: name → id.

    Raises:
        InputError: the store cannot be used.
    """
    reader = client()
    with sentences():
        there = {experiment.name: str(experiment.experiment_id) for experiment in reader.search_experiments()}
    return {name: there[name] for name in experiments() if name in there}


def _client() -> "MlflowClient":
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.WARNING)  # it logs every table that it makes
    for name, value in BOUNDS.items():
        os.environ.setdefault(name, value)
    return MlflowClient(tracking_uri=uri())


def _experiment(client: "MlflowClient", name: str) -> str:
    experiment = client.get_experiment_by_name(name)
    location = f"{_artifacts()}/{quote(name)}" if uri().startswith("sqlite:///") else None
    if experiment is not None and is_elsewhere(experiment.artifact_location):
        earlier = f"{name} ({experiment.experiment_id}: {experiment.artifact_location.removesuffix(f'/{quote(name)}')})"
        client.rename_experiment(experiment.experiment_id, earlier)
        print(
            f"note: the project was moved or copied, but MLflow looks for the files of earlier runs where they were "
            f"made; the experiment {name!r} begins anew here, and the earlier one is now {earlier!r}",
            file=sys.stderr,
        )
        experiment = None
    if experiment is None:
        return str(client.create_experiment(name, location, tags=KIND))
    if experiment.lifecycle_stage == "deleted":
        restore = f"experiments restore --experiment-id {experiment.experiment_id}"
        raise InputError(
            f"{public_uri()}: the experiment {name!r} is in MLflow's bin; bring it back with `{command(restore)}`, or "
            f"empty the bin with `{command('gc')}`"
        )
    if not KIND.keys() & experiment.tags.keys():
        for key, value in KIND.items():
            client.set_experiment_tag(experiment.experiment_id, key, value)
    return str(experiment.experiment_id)


def own_database() -> Path | None:
    """The database of this checkout, if it is the store; else None."""
    scheme, _, path = uri().partition("://")
    file = Path(path.removeprefix("/").partition("?")[0])
    own = (home() / "mlflow.db").resolve()
    return own if scheme == "sqlite" and file.resolve() == own else None


def _artifacts() -> str:
    """Address of the folder of all artifacts: beside this checkout's database, which may be a link to another's."""
    return ((own_database() or home() / "mlflow.db").parent / "mlartifacts").as_uri()


def is_elsewhere(location: str) -> bool:
    """Whether artifacts that this project wrote are not beside its own store: it was moved or copied since.

    A location that the user has chosen (`s3://…`) is none of these.
    """
    return own_database() is not None and "/mlartifacts/" in location and not location.startswith(f"{_artifacts()}/")


def end_dead_runs(client: "MlflowClient") -> None:
    """Set runs to KILLED whose process has died here without ending them. Processes on other machines are unknown.

    One of them would otherwise run for ever: a job does not run again where DVC has taken its outputs from its cache.
    """
    where = f"attributes.status = 'RUNNING' and tags.process LIKE '%{processes.namespace()}%'"
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    for run in client.search_runs(experiments, where) if experiments else ():
        if processes.is_dead(run.data.tags["process"]):
            client.set_terminated(run.info.run_id, "KILLED")


@contextmanager
def alone() -> Iterator[None]:
    """Lock the creation of the database: several first writers would break it."""
    (home() / ".dvc").mkdir(exist_ok=True)
    with (home() / ".dvc" / "mlflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def sentences() -> Iterator[None]:
    """Turn errors of MLflow and its database into one sentence."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, SQLAlchemyError, OSError) as error:
        problem = f"the tracking store cannot be used ({reason(error)}); {_advice(str(error))}"
        raise InputError(f"{public_uri()}: {problem}") from error


def public_uri() -> str:
    """The store for messages: without a password."""
    scheme, separator, rest = uri().partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}" if separator else scheme


def command(words: str) -> str:
    """A command of MLflow on this store, to type: `gc`. In a shell that names a store already, it uses that."""
    named = "" if "MLFLOW_TRACKING_URI" in os.environ else f"MLFLOW_TRACKING_URI={shlex.quote(uri())} "
    return f"{named}mlflow {words}"


def reason(error: Exception) -> str:
    """An error's first line, short, without a password."""
    text = next(iter(str(error).splitlines()), "") or type(error).__name__
    secret = uri().partition("://")[2].rpartition("@")[0]
    text = text.replace(secret, "…") if secret else text
    if "Caused by" in text:  # of requests: the reason is at the end
        text = text[text.rindex("Caused by") :].rstrip(")")
    return text if len(text) <= 160 else text[:160] + "…"


def _advice(error: str) -> str:
    if "MLFLOW_TRACKING_URI" in os.environ and not uri().startswith("sqlite:"):
        return f"it is set in MLFLOW_TRACKING_URI; allowed: {ALLOWED}; if unset, runs go to mlflow.db here"
    other = "or set MLFLOW_TRACKING_URI to another store"
    if "locked" in error:
        return f"another process keeps it locked: end that process and start again, {other}"
    if "not a database" in error or "malformed" in error:
        return f"it is damaged: move it away (a new one is made; the runs so far are in the old one), {other}"
    if "full" in error or "I/O" in error:
        return f"make room on its disk, {other}"
    if "readonly" in error or "unable to open" in error:
        return f"make the file and its folder writable, {other}"
    return f"fix or move it, {other}"


def _check(where: str) -> None:
    """Refuse an invalid address."""
    scheme, separator, _ = where.partition("://")
    if not separator or scheme == "file":
        raise InputError(f"MLFLOW_TRACKING_URI: {where!r} is not allowed: {ALLOWED}; unset, runs go to mlflow.db")


PAGE = 1000  # runs per query


def find_runs(fingerprint: str) -> "list[Run]":
    """Finished MLflow runs with a fingerprint: the most complete first, and of equally complete ones the newest.

    Several runs have the same fingerprint if a job was forced to run again, or also runs in a sweep; their results are
    the same. Scores on the test text (`test_…`) are added later and do not show completeness.

    Raises:
        InputError: the store cannot be used.
    """
    return sorted(_finished(f" and tags.fingerprint = '{fingerprint}'"), key=_numbers, reverse=True)


def finished_runs() -> "list[Run]":
    """Every finished run, the newest first, in one search for many jobs.

    Raises:
        InputError: the store cannot be used.
    """
    return _finished()


def by_fingerprint(runs: "Iterable[Run]") -> "dict[str, list[Run]]":
    """Fingerprint → the result of `find_runs` for it, from runs with the newest first."""
    results: dict[str, list[Run]] = {}
    for run in runs:
        results.setdefault(run.data.tags.get("fingerprint", ""), []).append(run)
    return {fingerprint: sorted(same, key=_numbers, reverse=True) for fingerprint, same in results.items()}


def in_bin(fingerprint: str) -> str:
    """The command that brings a run with a fingerprint back from MLflow's bin; "" if none is there.

    Raises:
        InputError: the store cannot be used.
    """
    for run in _finished(f" and tags.fingerprint = '{fingerprint}'", deleted=True):
        experiment = client().get_experiment(run.info.experiment_id)
        if experiment.lifecycle_stage == "deleted":
            return command(f"experiments restore --experiment-id {experiment.experiment_id}")
        if run.info.lifecycle_stage == "deleted":
            return command(f"runs restore --run-id {run.info.run_id}")
    return ""


def _finished(further: str = "", *, deleted: bool = False) -> "list[Run]":
    from mlflow.entities import ViewType

    reader, kind = client(), ViewType.ALL if deleted else ViewType.ACTIVE_ONLY
    runs: list[Run] = []
    with sentences():
        experiments = [experiment.experiment_id for experiment in reader.search_experiments(view_type=kind)]
        page, more = None, bool(experiments)
        while more:
            page = reader.search_runs(
                experiments,
                f"attributes.status = 'FINISHED'{further}",
                run_view_type=kind,
                max_results=PAGE,
                order_by=["attributes.start_time DESC"],
                page_token=page.token if page else None,
            )
            runs += page
            more = bool(page.token)
    return runs


def _numbers(run: "Run") -> int:
    return sum(not key.startswith("test_") for key in run.data.metrics)


def stored_file(run_id: str, name: str) -> Any:
    """The content of a JSON file kept beside a run; None if the run has none."""
    reader = client()
    with sentences():
        if name not in {file.path for file in reader.list_artifacts(run_id)}:
            return None
        with tempfile.TemporaryDirectory() as folder:
            return read_json(Path(reader.download_artifacts(run_id, name, folder)))


def provenances(root: Path) -> dict[str, Path]:
    """Fingerprint → artefact folder, of every artefact under models/, multirun/ and outputs/."""
    folders = [root / "models", root / "multirun", root / "outputs"]
    files = [file for folder in folders for file in sorted(folder.rglob("provenance.json"))]
    return {read_json(file)["fingerprint"]: file.parent for file in reversed(files)}
