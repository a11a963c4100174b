"""A job to keep track of: a training or an evaluation of one rung, with its fingerprint, checkpoints and MLflow run."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from langladder.collector import rarely
from langladder.families import families
from langladder.formats.model_card import ANY, model_card
from langladder.ground.artefacts import FORMAT_VERSION, write_json, write_text
from langladder.ground.atomic import atomic_folder
from langladder.ground.progress import working
from langladder.ground.ranks import first
from pipeline import ROOT
from pipeline.provenance import curves, found_runs, lineage, processes, tracking
from pipeline.provenance.fingerprint import digest, fingerprint, home
from pipeline.provenance.finished import Finished, skip_finished
from pipeline.provenance.run_facts import Job
from pipeline.settings.aside import PLACE, split_aside
from pipeline.settings.run_folder import OUTPUT


@dataclass(frozen=True)
class TrackedJob:
    """An open job."""

    family: str
    stage: str
    rung: str
    fingerprint: str
    provenance: dict[str, Any]
    checkpoints: Path
    run: tracking.Tracked

    @contextmanager
    def artefact(self, place: Path) -> Iterator[Path]:
        """A temporary folder for a model and what belongs to it; it stands in its place when it is whole, not before.

        What it was made from, with which settings, and its card are added here. No times, no run ids.
        """
        with atomic_folder(place, OUTPUT) as folder:
            yield folder
            write_json(folder / "provenance.json", self.provenance)
            family = families()[self.family]
            write_text(folder / "README.md", model_card(folder, loading=family.loading or ANY, limits=family.limits))
        self.run.folder = place

    def write_curve(self, path: Path, rows: list[dict[str, Any]]) -> None:
        """The learning curve, as a file and whole in the run, however often the training was interrupted."""
        curves.write_curve(path, rows)
        self.run.curve(rows)


@contextmanager
def tracked_job(family: str, stage: str, job: Any, inputs: Mapping[str, Path]) -> Iterator[TrackedJob]:
    """Open the MLflow run of a job on one rung; remove its checkpoints when it has succeeded.

    A job of the same name that runs at the same time (in a sweep) has a run and checkpoints of its own.

    Args:
        inputs: name → what it reads; `model`: the one that it judges. What a rung that is made names itself (its base,
            a file from outside) is added here.

    Raises:
        Finished: it has been done, and `skip_finished` is set.
    """
    settings = job.model_dump(mode="json", by_alias=True)
    judged = "model" in inputs  # what it was made from stands in its own provenance
    paths = dict(inputs) | ({} if judged else lineage.own_inputs(family, settings[family]))
    hashes = {name: digest(path) for name, path in paths.items()}
    watched, _ = split_aside(settings, makes=not judged)
    name = fingerprint(stage, watched, hashes)
    if skip_finished.get():
        _refuse_finished(name)
    made_with = {key: value for key, value in settings.items() if key not in PLACE}  # the same bytes wherever
    provenance = {"format": FORMAT_VERSION, "stage": stage, "fingerprint": name, "inputs": hashes}
    provenance["settings"] = made_with
    provenance |= {} if judged else lineage.of_base(settings[family])
    if not first():  # of several processes that train together: the first one has the run, and writes
        yield TrackedJob(family, stage, settings[family]["name"], name, provenance, home(), cast(Any, None))
        return
    described = Job(family, stage, settings, name, {key: (path, hashes[key]) for key, path in paths.items()})
    with processes.only(name) as alone:
        checkpoints = home() / "checkpoints" / (name if alone else f"{name}-{os.getpid()}")
        with ExitStack() as open_run:
            with working("opening the run in MLflow"), rarely():  # imports MLflow, may make its database
                run = open_run.enter_context(tracking.run(described, checkpoints))
            yield TrackedJob(family, stage, settings[family]["name"], name, provenance, checkpoints, run)
        shutil.rmtree(checkpoints, ignore_errors=True)


def _refuse_finished(name: str) -> None:
    """What a finished run has left may have been removed since: then the job is run again."""
    runs = found_runs.find_runs(name)
    if not runs:
        return
    run = runs[0]
    made = found_runs.provenances(ROOT).get(name)
    if made is None and run.outputs and run.outputs.model_outputs:
        return
    place = f" → {made.relative_to(ROOT)}" if made else ""
    said = f"done before (run {run.info.run_id}){place}; again=true runs it again"
    raise Finished(said, run.data.metrics)
