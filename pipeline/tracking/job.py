"""A job to keep track of: a training or an evaluation of one rung, with its fingerprint, checkpoints and MLflow run."""

import csv
import io
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from langladder.families import families
from langladder.families.family import Listed, Make, make_in
from langladder.ground.artefacts import FORMAT_VERSION, write_json, write_text
from langladder.ground.atomic import atomic_folder
from langladder.ground.progress import working
from langladder.ground.ranks import first
from langladder.models.making import Run
from pipeline import ROOT
from pipeline.settings.run_folder import OUTPUT
from pipeline.settings.schema import RESOURCES, FamilyJob, split_unwatched
from pipeline.settings.yaml_files import Values
from pipeline.tracking import lineage, processes, run, store
from pipeline.tracking.fingerprint import digest, fingerprint, home
from pipeline.tracking.run_facts import Job

TIMED = "timed.json"
"""The file of a run with the timings of a claim."""


@dataclass(frozen=True)
class TrackedJob:
    """An open job."""

    family: str
    stage: str
    rung: str
    fingerprint: str
    provenance: Values
    checkpoints: Path
    run: run.Tracked

    @contextmanager
    def artefact(self, target: Path) -> Iterator[Path]:
        """A temporary folder for a model and its files; it is moved to its path when it is complete.

        Its inputs, settings and card are added here; times and run ids are not.
        """
        from langladder.formats.model_card import ANY, model_card  # which loads PyArrow and SciPy

        with atomic_folder(target, OUTPUT) as folder:
            yield folder
            write_json(folder / "provenance.json", self.provenance)
            family = families()[self.family]
            write_text(folder / "README.md", model_card(folder, loading=family.loading or ANY, limits=family.limits))
        self.run.folder = target

    def make(self, rung: Listed, seed: int) -> Make:
        """The function that makes the rung, which reports to this run and keeps its checkpoints here.

        Raises:
            OtherProcess (when it is called): several processes have trained, and this is not the first.
        """

        def make(start: Any, *data: Any, **more: Any) -> Any:
            logger = self.run.lightning_logger if first() else None
            result = make_in(Run(seed, self.checkpoints, logger), rung)(start, *data, **more)
            if not first():
                raise OtherProcess
            return result

        return make

    def write_curve(self, path: Path, rows: Sequence[Mapping[str, float | None]]) -> None:
        """The learning curve, as a file and in the run, complete even if the training was interrupted."""
        write_curve(path, rows)
        self.run.curve(rows)


@contextmanager
def tracked_job(stage: str, job: FamilyJob, inputs: Mapping[str, Path]) -> Iterator[TrackedJob]:
    """Open the MLflow run of a job on one rung; remove its checkpoints when it has succeeded.

    A job of the same name that runs at the same time (in a sweep) has a run and checkpoints of its own.

    Args:
        inputs: name → what it reads; `model`: the model that it evaluates. The inputs of a single rung (its base,
            an input file) are added here.

    Raises:
        Finished: it has finished before, and `skip_finished` is set.
    """
    settings, family = job.values(), job.family
    evaluates = "model" in inputs  # its inputs are in its own provenance
    paths = dict(inputs) | ({} if evaluates else lineage.own_inputs(family, settings[family]))
    hashes = {name: digest(path) for name, path in paths.items()}
    tracked, _ = split_unwatched(settings, makes=not evaluates)
    name = fingerprint(stage, tracked, hashes)
    if skip_finished.get():
        _refuse_finished(name)
    recorded = {key: value for key, value in settings.items() if key not in RESOURCES}  # the same bytes wherever
    provenance = {"format": FORMAT_VERSION, "stage": stage, "fingerprint": name, "inputs": hashes}
    provenance["settings"] = recorded
    provenance |= {} if evaluates else lineage.of_base(settings[family])
    if not first():  # of several processes that train together: the first one has the run, and writes
        yield TrackedJob(family, stage, settings[family]["name"], name, provenance, home(), cast(run.Tracked, None))
        return
    described = Job(family, stage, settings, name, {key: (path, hashes[key]) for key, path in paths.items()})
    again = processes.unrecorded()
    with processes.only(name, processes.GRACE if again else 0.0) as alone:
        checkpoints = home() / "checkpoints" / (name if alone else f"{name}-{os.getpid()}")
        finished = home() / ".dvc" / "tmp" / "runs" / f"{checkpoints.name}.json"
        with ExitStack() as open_run:
            with working("opening the run in MLflow"):  # imports MLflow, may make its database
                tracked_run = run.tracked(described, checkpoints, finished if again else None)
                opened = open_run.enter_context(tracked_run)
            yield TrackedJob(family, stage, settings[family]["name"], name, provenance, checkpoints, opened)
            if processes.DVC_STAGE in os.environ and alone:
                write_json(finished, run.name_of(opened))  # until DVC has recorded the job
        shutil.rmtree(checkpoints, ignore_errors=True)


def _refuse_finished(name: str) -> None:
    """The output of a finished run may have been removed: then the job runs again."""
    runs = store.find_runs(name)
    if not runs:
        return
    run = runs[0]
    artefact = store.provenances(ROOT).get(name)
    if artefact is None and run.outputs and run.outputs.model_outputs:
        return
    where = f" → {artefact.relative_to(ROOT)}" if artefact else ""
    message = f"done before (run {run.info.run_id}){where}; again=true runs it again"
    raise Finished(message, run.data.metrics)


skip_finished: ContextVar[bool] = ContextVar("skip_finished", default=False)
"""Whether this job is skipped if the same job has finished before."""


class Finished(Exception):  # noqa: N818 - no error
    """The same job has finished before; the message names its output.

    Attributes:
        figures: its final numbers, as its run has them.
    """

    def __init__(self, message: str, figures: Mapping[str, float]) -> None:
        super().__init__(message)
        self.figures = figures


class OtherProcess(Exception):  # noqa: N818 - no error
    """Several processes have trained; only the first continues, and this is another."""


def write_curve(path: Path, rows: Sequence[Mapping[str, float | None]]) -> None:
    """A learning curve as CSV (step, train_loss, validation_loss, lr, further columns); without steps only a header."""
    buffer = io.StringIO()
    columns = dict.fromkeys(["step", "train_loss", "validation_loss", "lr", *(name for row in rows for name in row)])
    writer = csv.DictWriter(buffer, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, buffer.getvalue())
