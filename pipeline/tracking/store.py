"""MLflow's tracking store: where it is, whether it can be used, and the experiment of each family.

Problems are reported in one sentence before any computation; a store that fails later does not stop a training (see
`tracking`).

Artifacts are in `mlartifacts/` beside the checkout's mlflow.db. MLflow makes every local location absolute, so in a
project that was moved or copied they are updated to the folder beside the database when the store is opened.
"""

import fcntl
import logging
import os
import shlex
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
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

PATIENCE = 20.0  # seconds to wait for a database that another process has locked
# By default MLflow tries a server 7 times for 120 s; a starting job should fail at once.
BOUNDS = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}
BOUNDS["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"  # two lines a run, with the server's password
# Tag for the UI: without it, the UI opens an experiment with the empty pages of prompts and traces.
KIND = {"mlflow.experimentKind": "custom_model_development"}
LOCATIONS = {  # columns of MLflow's tables that hold an artifact's location
    "experiments": ["artifact_location"],
    "runs": ["artifact_uri"],
    "logged_models": ["artifact_location"],
    "model_versions": ["source", "storage_location"],
}
ALLOWED = "sqlite:////absolute/path.db, http://host:port or another of MLflow's stores"


def uri() -> str:
    """The tracking store: MLFLOW_TRACKING_URI where set, else mlflow.db of this checkout."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home() / 'mlflow.db'}"


def client() -> "MlflowClient":
    """A client of the store, to read it; it gives up after a minute without an answer.

    Raises:
        InputError: MLFLOW_TRACKING_URI is not the address of a store, or the database cannot be read.
    """
    _check(uri(), write=False)
    update_locations()
    end_dead_runs()
    with sentences():
        return _client()


def experiments() -> list[str]:
    """The experiments of all families, each once."""
    return list(dict.fromkeys(family.experiment for family in families().values()))


def prepare(names: Iterable[str] = ()) -> "tuple[MlflowClient, dict[str, str]]":
    """A client of the store, and the ids of experiments; both are created if missing.

    An experiment is created with its first run, so that none is empty. (`Default` is MLflow's own.)

    Raises:
        InputError: the store cannot be used.
    """
    _check(uri(), write=True)
    update_locations()
    with sentences(), alone():
        created = _client()
        created.search_experiments(max_results=1)  # makes the tables
        return created, {name: _experiment(created, name) for name in names}


def used() -> dict[str, str]:
    """The families' experiments in the store: name → id.

    Raises:
        InputError: the store cannot be used.
    """
    reader = client()
    with sentences():
        there = {one.name: str(one.experiment_id) for one in reader.search_experiments()}
    return {name: there[name] for name in experiments() if name in there}


def _client() -> "MlflowClient":
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.WARNING)  # it logs every table that it makes
    for name, value in BOUNDS.items():
        os.environ.setdefault(name, value)
    return MlflowClient(tracking_uri=uri())


def _experiment(client: "MlflowClient", name: str) -> str:
    found = client.get_experiment_by_name(name)
    if found is None:
        location = f"{_artifacts()}/{quote(name)}" if uri().startswith("sqlite:///") else None
        return str(client.create_experiment(name, location, tags=KIND))
    if found.lifecycle_stage == "deleted":
        restore = f"experiments restore --experiment-id {found.experiment_id}"
        raise InputError(
            f"{public_uri()}: the experiment {name!r} is in MLflow's bin; bring it back with `{command(restore)}`, or "
            f"empty the bin with `{command('gc')}`"
        )
    if not KIND.keys() & found.tags.keys():
        for key, value in KIND.items():
            client.set_experiment_tag(found.experiment_id, key, value)
    return str(found.experiment_id)


def own_database() -> Path | None:
    """The database of this checkout, if it is the store; else None."""
    scheme, _, path = uri().partition("://")
    file = Path(path.removeprefix("/").partition("?")[0])
    own = (home() / "mlflow.db").resolve()
    return own if scheme == "sqlite" and file.resolve() == own else None


def _artifacts() -> str:
    """Address of the folder of all artifacts: beside this checkout's database, which may be a link to another's."""
    return ((own_database() or home() / "mlflow.db").parent / "mlartifacts").as_uri()


def update_locations() -> None:
    """After the checkout was moved or copied, set all locations of artifacts to the folder beside its database.

    A read-only database is not changed; `_check` reports it to jobs that need to write.
    """
    file = own_database()
    if file is None or not file.is_file():
        return
    here = _artifacts()
    with (
        suppress(OSError, sqlite3.Error),
        closing(sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)) as database,
    ):
        before = _other_roots(database, here)
        if not before:
            return
        with alone():
            database.execute("BEGIN IMMEDIATE")
            for root in before:
                _replace(database, root, here)
            database.execute("COMMIT")


def end_dead_runs() -> None:
    """Set runs of this checkout's database to KILLED if their process has died here without ending them.

    A job ends the dead runs of its experiment (`tracking`). This is for runs of jobs that do not run again, because DVC
    has taken their outputs from its cache.
    """
    file = own_database()
    if file is None or not file.is_file():
        return
    running = "SELECT r.run_uuid, t.value FROM runs r JOIN tags t USING (run_uuid) WHERE r.status = ? AND t.key = ?"
    with suppress(OSError, sqlite3.Error, InputError):
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
            found = database.execute(running, ["RUNNING", "process"]).fetchall()
        if dead := [run for run, process in found if processes.is_dead(process)]:
            with sentences():
                created = _client()  # which takes a second or two
                for run in dead:
                    created.set_terminated(run, "KILLED")


def _replace(database: sqlite3.Connection, root: str, here: str) -> None:
    for table, columns in LOCATIONS.items():
        there = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}  # older stores lack some
        for column in there.intersection(columns):
            database.execute(
                f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE substr({column}, 1, ?) = ?",
                [here, len(root) + 1, len(root) + 1, f"{root}/"],
            )


def _other_roots(database: sqlite3.Connection, here: str) -> set[str]:
    """The former locations of the experiments' artifacts: `…/mlartifacts`, except `here`."""
    found = dict(database.execute("SELECT name, artifact_location FROM experiments"))
    ends = {name: f"/{quote(name)}" for name in experiments()}
    roots = {str(found[name]).removesuffix(end) for name, end in ends.items() if str(found.get(name)).endswith(end)}
    return {root for root in roots if root.endswith("/mlartifacts") and root != here}


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
        raise InputError(f"{public_uri()}: the tracking store cannot be used ({reason(error)}); {_advice()}") from error


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


def _advice() -> str:
    if "MLFLOW_TRACKING_URI" not in os.environ:
        return "fix or move it, or set MLFLOW_TRACKING_URI to another store"
    return f"it is set in MLFLOW_TRACKING_URI; allowed: {ALLOWED}; if unset, runs go to mlflow.db here"


def _check(where: str, *, write: bool) -> None:
    """Refuse an invalid address, and a database that cannot be used."""
    scheme, separator, path = where.partition("://")
    if not separator or scheme == "file":
        raise InputError(f"MLFLOW_TRACKING_URI: {where!r} is not allowed: {ALLOWED}; unset, runs go to mlflow.db")
    file = Path(path.removeprefix("/").partition("?")[0])
    if scheme == "sqlite" and file.parent.is_dir() and not str(file).startswith("file:"):
        _try(file, write)


def _try(file: Path, write: bool) -> None:
    """Read the database; begin a change and roll it back."""
    try:
        database = sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)
        try:
            database.execute("SELECT count(*) FROM sqlite_master")
            if write:
                database.execute("BEGIN IMMEDIATE")
                database.execute("CREATE TABLE can_be_written (number INTEGER)")
                database.execute("ROLLBACK")
        finally:
            database.close()
    except sqlite3.Error as error:
        raise InputError(f"{file}: the tracking store cannot be used ({error}); {_cure(str(error))}") from error


def _cure(error: str) -> str:
    other = "or set MLFLOW_TRACKING_URI to another store"
    if "locked" in error:
        return f"another process has kept it locked for {PATIENCE:.0f} s: end that process and start again, {other}"
    if "not a database" in error or "malformed" in error:
        return f"it is damaged: move it away (a new one is made; the runs so far are in the old one), {other}"
    if "full" in error or "I/O" in error:
        return f"make room on its disk, {other}"
    return f"make the file and its folder writable, {other}"


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
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.data.tags.get("fingerprint", ""), []).append(run)
    return {fingerprint: sorted(same, key=_numbers, reverse=True) for fingerprint, same in found.items()}


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
    found: list[Run] = []
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
            found += page
            more = bool(page.token)
    return found


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
