"""A piece of work to keep track of: a training or an evaluation, with its name, checkpoints and MLflow run."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langladder.artefacts import FORMAT_VERSION, write_json, write_text
from langladder.atomic import STAGE, atomic_folder
from langladder.export.model_card import model_card
from langladder.progress import working
from pipeline.support import outputs, processes, store, tracking
from pipeline.support.fingerprint import digest, fingerprint, home
from pipeline.support.run_facts import Job


@dataclass(frozen=True)
class Work:
    """An open piece of work."""

    fingerprint: str
    provenance: dict[str, Any]
    checkpoints: Path
    run: tracking.Tracked

    @contextmanager
    def artefact(self, place: Path) -> Iterator[Path]:
        """A temporary folder for a model and what belongs to it; it stands in its place when it is whole, not before.

        What it was made from, with which settings, and its card are added here. No times, no run ids.
        """
        with atomic_folder(place, STAGE) as folder:
            yield folder
            write_json(folder / "provenance.json", self.provenance)
            write_text(folder / "README.md", model_card(folder))
        self.run.folder = place

    def write_curve(self, path: Path, rows: list[dict[str, Any]]) -> None:
        """The learning curve, as a file and whole in the run, however often the training was interrupted."""
        outputs.write_curve(path, rows)
        self.run.curve(rows)


@contextmanager
def work(ladder: str, stage: str, job: Any, inputs: Mapping[str, Path]) -> Iterator[Work]:
    """Open the MLflow run of a job on one rung; remove its checkpoints when it has succeeded.

    A job of the same name that runs at the same time (in a sweep) has a run and checkpoints of its own.
    """
    settings = job.model_dump(mode="json", by_alias=True)
    hashes = {name: digest(path) for name, path in inputs.items()}
    name = fingerprint(stage, settings, hashes)
    provenance = {"format": FORMAT_VERSION, "stage": stage, "fingerprint": name, "inputs": hashes, "settings": settings}
    read = {key: (path, hashes[key]) for key, path in inputs.items()}
    described = Job(store.TASKS[ladder], stage, ladder, settings, name, read)
    with processes.only(name) as alone:
        checkpoints = home() / "checkpoints" / (name if alone else f"{name}-{os.getpid()}")
        with ExitStack() as open_run:
            with working("opening the run in MLflow"):  # imports MLflow, may make its database
                run = open_run.enter_context(tracking.run(described, checkpoints))
            yield Work(name, provenance, checkpoints, run)
        shutil.rmtree(checkpoints, ignore_errors=True)
