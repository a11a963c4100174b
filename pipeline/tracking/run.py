"""MLflow: one run per job, however often the job is killed and started again; found by the fingerprint.

DVC tracks nothing of this: run ids and times are only here. A run has the tag `fingerprint` (hash of the job's
settings, its code and its inputs), and so has the artefact's provenance; `pipeline.runs` finds one from the other.

An interrupted job continues in its old run, whose id is beside its checkpoints. Points of a curve that the store has
are not written again; missing ones are written at the end. If the store is not usable, the job fails at the beginning.
If the store fails later, the job prints this once and retries; only MLflow's view is incomplete, nothing else is lost.
"""

import hashlib
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from langladder.ground.artefacts import write_json
from pipeline.tracking import processes, store, sweep_runs
from pipeline.tracking.models import log_model, log_numbers, log_test_scores
from pipeline.tracking.run_facts import Job, datasets, parameters, tags

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric

    from pipeline.tracking.curve_logger import CurveLogger

BATCH = 1000  # MLflow's largest
EVERY = 1.0  # seconds between two writes of a curve
REST = 30.0  # seconds before a store that failed is tried again


Handler = Callable[[int, FrameType | None], Any] | signal.Handlers
"""The handler of a signal, as `signal.signal` takes it."""


class Tracked:
    """An open MLflow run."""

    def __init__(
        self, client: "MlflowClient", run_id: str, job: Job, known: set[tuple[str, int]], parent: str | None = None
    ) -> None:
        self.client, self.run_id, self.job = client, run_id, job
        self._parent = parent  # of a job of a sweep
        self.folder: Path | None = None  # of the model that the job has made
        self._final: dict[str, float] = {}
        self._known = known  # (metric, step) that the store has, or will have
        self._points: list[Metric] = []
        self._calls: list[Callable[[], object]] = []
        self._next, self._warned = 0.0, False

    def lightning_logger(self) -> "CurveLogger":
        """Lightning logger that writes into this run."""
        from pipeline.tracking.curve_logger import CurveLogger

        return CurveLogger(self._curve_point, f"{self.job.stage} {self.job.rung['name']}")

    def _curve_point(self, values: Mapping[str, object], step: int) -> None:
        self._add(values, step)
        self._write()

    def metrics(self, values: Mapping[str, object]) -> None:
        """Log the numbers of a mapping at the run's end; other values are ignored."""
        self._final |= _numbers(values)

    def curve(self, rows: Sequence[Mapping[str, float | None]]) -> None:
        """Log the points of a learning curve that the store lacks."""
        for row in rows:
            self._add({key: value for key, value in row.items() if key != "step"}, int(row["step"] or 0))

    def tag(self, name: str, value: str) -> None:
        """Set a tag of the run."""
        self._calls.append(lambda: self.client.set_tag(self.run_id, name, value))

    def file(self, name: str, value: Mapping[str, object]) -> None:
        """Keep a mapping beside the run as a JSON file."""
        self._calls.append(lambda: self.client.log_dict(self.run_id, dict(value), name))

    def test_scores(self, folder: Path, values: Mapping[str, object]) -> None:
        """Log what the model in `folder` scores, to this run and to the one that trained it."""
        self.metrics(values)
        scores = {key: value for key, value in values.items() if isinstance(value, float)}  # counts are integers
        self._calls.append(lambda: log_test_scores(self.client, self.run_id, folder, scores))

    def _add(self, values: Mapping[str, object], step: int) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        for key, value in _numbers(values).items():
            if (key, step) not in self._known:
                self._known.add((key, step))
                self._points.append(Metric(key, value, now, step))

    def _write(self, *, at_once: bool = False) -> bool:
        """Send waiting numbers, when it is time; returns whether none is left."""
        if not at_once and time.monotonic() < self._next:
            return False
        try:
            while self._points:
                self.client.log_batch(self.run_id, metrics=self._points[:BATCH])
                del self._points[:BATCH]
            while self._calls:
                self._calls[0]()
                del self._calls[0]
        except Exception as error:  # after any error the training continues
            self._next = time.monotonic() + REST
            self._warn(error)
            return False
        self._next = time.monotonic() + EVERY
        return True

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            print(
                f"{self.job.stage} {self.job.rung['name']}: warning: the tracking store {store.public_uri()} does not "
                f"accept logged numbers ({store.reason(error)}); the job continues, and sends missing ones at its end",
                file=sys.stderr,
            )
        self._warned = True

    def close(self, status: str) -> None:
        """Send the rest and end the run."""
        self._calls.append(lambda: self._end(status == "FINISHED"))
        self._calls.append(lambda: self.client.set_terminated(self.run_id, status))
        if parent := self._parent:
            self._calls.append(lambda: sweep_runs.job_ended(self.client, parent, self.job))
        if not self._write(at_once=True):
            print(
                f"{self.job.stage} {self.job.rung['name']}: warning: run {self.run_id} in {store.public_uri()} lacks "
                f"{len(self._points)} numbers and its end; the job's own files are complete",
                file=sys.stderr,
            )

    def _end(self, finished: bool) -> None:
        """The final numbers; the model that they belong to."""
        folder = self.folder if finished else None
        model = log_model(self.client, self.run_id, self.job, folder) if folder else None
        curves = {key for key, step in self._known if step}  # the final number is not the curve's point at step 0
        final = {f"best_{key}" if key in curves else key: value for key, value in self._final.items()}
        new = {key: final[key] for key in sorted(final, key=_scores_first) if (key, 0) not in self._known}
        log_numbers(self.client, self.run_id, new, model)


def _scores_first(key: str) -> bool:
    """The order of numbers: the UI's page of comparisons colours runs by their first common number."""
    return not key.startswith("validation_")


def _numbers(values: Mapping[str, object]) -> dict[str, float]:
    return {key: float(value) for key, value in values.items() if isinstance(value, int | float)}


@contextmanager
def tracked(job: Job, folder: Path, finished: Path | None = None) -> Iterator[Tracked]:
    """Open the run `<stage> <rung>` of a job, or continue the one whose id is in `folder`.

    Args:
        finished: the file with the id of the run in which this job has finished before, if it runs again only because
            DVC was killed before it could record that; this run is then continued.

    It ends as FINISHED, as FAILED if the block raises, as KILLED on Ctrl-C, SIGTERM or SIGHUP. A process that is
    killed with SIGKILL leaves it RUNNING: the next job here ends it, or continues it.

    Raises:
        InputError: the store cannot be used.
    """
    client, experiments = store.prepare([job.experiment])
    with store.sentences():
        experiment = experiments[job.experiment]
        files = [folder / "run.json", *([finished] if finished else [])]
        run = next((result for file in files if (result := _enter(client, experiment, job, file))), None)
        run = run or _begin(client, experiment, job, folder)
    with _signals() as received:
        try:
            yield run
        except BaseException:
            run.close("KILLED" if received else "FAILED")
            raise
        run.close("FINISHED")


def _begin(client: "MlflowClient", experiment: str, job: Job, folder: Path) -> Tracked:
    import yaml
    from mlflow.entities import Param

    parent = sweep_runs.parent_of(client, experiment, job)
    own = {"process": processes.this_process()} | ({sweep_runs.PARENT: parent} if parent else {})
    created = client.create_run(experiment, tags=tags(job) | own)
    opened = Tracked(client, created.info.run_id, job, set(), parent)
    write_json(folder / "run.json", name_of(opened))
    client.log_batch(opened.run_id, params=[Param(*item) for item in parameters(job).items()])
    _log_datasets(client, opened.run_id, job)
    settings = yaml.safe_dump(dict(job.settings), sort_keys=False, allow_unicode=True)
    client.log_text(opened.run_id, settings, "resolved.yaml")
    return opened


def _log_datasets(client: "MlflowClient", run_id: str, job: Job) -> None:
    """Name the data of a job as the inputs of its run.

    MLflow checks whether it has a dataset and writes it if not. If two jobs start at once, the database refuses the
    second writer; then the next call finds the dataset.
    """
    from mlflow.exceptions import MlflowException

    inputs = datasets(job)
    for _ in inputs:
        try:
            return client.log_inputs(run_id, inputs)
        except MlflowException as error:
            if error.error_code != "BAD_REQUEST":  # MLflow's code for a refusal of the database
                raise
    return client.log_inputs(run_id, inputs)


def _enter(client: "MlflowClient", experiment: str, job: Job, file: Path) -> Tracked | None:
    """The run that this job began before it was interrupted, if the store still has it."""
    from mlflow.exceptions import MlflowException

    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        run = client.get_run(kept["run"]) if kept["store"] in _store_ids() else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":  # it was deleted from the store
            raise
        return None
    if run is None or run.info.lifecycle_stage != "active" or run.data.tags["fingerprint"] != job.fingerprint:
        return None
    if run.info.experiment_id != experiment:  # of the project before it was moved or copied: it ends there
        return None
    run_id = run.info.run_id
    client.set_tag(run_id, "process", processes.this_process())
    client.update_run(run_id, status="RUNNING")
    known = {(key, point.step) for key in run.data.metrics for point in client.get_metric_history(run_id, key)}
    return Tracked(client, run_id, job, known, run.data.tags.get(sweep_runs.PARENT))


def name_of(run: Tracked) -> dict[str, str]:
    """The id of a run and of its store, as `tracked` reads them."""
    return {"store": _store_ids()[0], "run": run.run_id}


def _store_ids() -> list[str]:
    """The store's names, as hashes: an address may hold a password. The first one outlives a move of the checkout."""
    names = [*(["mlflow.db"] if store.own_database() else []), store.uri()]
    return [hashlib.sha256(name.encode()).hexdigest()[:16] for name in names]


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Ctrl-C, SIGTERM and SIGHUP end the block like errors, and are recorded. Existing handlers are kept."""
    received: list[int] = []

    def interrupt(signum: int, _: object) -> None:
        received.append(signum)
        for entry in ours:
            signal.signal(entry, signal.SIG_IGN)  # ignore a second signal
        raise KeyboardInterrupt if signum == signal.SIGINT else SystemExit(128 + signum)

    defaults: dict[int, Handler] = {signal.SIGINT: signal.default_int_handler}
    defaults |= dict.fromkeys((signal.SIGTERM, signal.SIGHUP), signal.SIG_DFL)
    main = threading.current_thread() is threading.main_thread()
    ours = [signum for signum, default in defaults.items() if main and signal.getsignal(signum) == default]
    try:
        for signum in ours:
            signal.signal(signum, interrupt)
        yield received
    finally:
        for signum in ours:
            signal.signal(signum, defaults[signum])
