"""What an MLflow run says of its job, in the terms that MLflow's pages sort, filter and draw by.

Parameters are what one compares runs by: the rung, its widths, its learning rate, the seed. What is constant or
internal (class, title, code version) is a tag; the whole settings are the artifact resolved.yaml.
"""

import getpass
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig

from langladder.errors import InputError
from pipeline import ROOT
from pipeline.support import choices

# How a job is watched, not what it computes.
WATCHED = ("progress", "profiler", "log_every", "checkpoint_every", "fast_dev_run", "overfit_batches", "validate_every")
CHOSEN = ("size", "corpus", "parallel", "clean", "tokenizer", "debug")
LENGTH = 250  # MLflow's longest parameter


@dataclass(frozen=True)
class Job:
    """A stage's job on one rung.

    Attributes:
        inputs: what it reads: name → (path, hash of the content).
    """

    task: str
    stage: str
    ladder: str
    settings: Mapping[str, Any]
    fingerprint: str
    inputs: Mapping[str, tuple[Path, str]]

    @property
    def rung(self) -> Mapping[str, Any]:
        """The rung's own settings, with its name and title."""
        found: Mapping[str, Any] = self.settings[self.ladder]
        return found


def parameters(job: Job) -> dict[str, str]:
    """The settings by their own names (`width`, `lr`); a name that two parts use has the second's before it."""
    flat: dict[str, Any] = {"rung": job.rung["name"]}
    parts = {key: value for key, value in job.rung.items() if key in ("model", "training", "settings", "data")}
    for part, values in parts.items():
        for key, value in _flatten(values).items():
            flat[f"{part}.{key}" if key in flat else key] = value
    flat |= _flatten({key: value for key, value in job.rung.items() if key in ("after", "input")})
    flat |= _flatten({key: value for key, value in job.settings.items() if key not in (job.ladder, "code", "paths")})
    return {key: str(value)[:LENGTH] for key, value in flat.items() if value is not None and key not in WATCHED}


def tags(job: Job) -> dict[str, str]:
    """What a run is found by; the names that MLflow knows are those of its pages' columns."""
    chosen = choice()
    known = {
        "mlflow.runName": f"{job.stage} {job.rung['name']}",
        "mlflow.source.name": f"pipeline/{job.stage}.py",
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": _commit(),
        "mlflow.user": _user(),
        "mlflow.note.content": _description(job, chosen),
    }
    own = {"stage": job.stage, "rung": job.rung["name"], "title": job.rung["title"], "fingerprint": job.fingerprint}
    own |= {"class": job.rung["_target_"], "code": str(job.settings.get("code", ""))} | chosen
    return {key: value for key, value in (known | own).items() if value}


def datasets(job: Job) -> list[Any]:
    """What the job reads, as MLflow's data sets: name, hash of the content, where it lies."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    context = InputTag("mlflow.data.context", "training" if job.stage.startswith(("train", "embed")) else "evaluation")
    chosen = choice()
    found = []
    for name, (path, digest) in job.inputs.items():
        side = "parallel" if "parallel" in path.parts else "corpus"
        profile = json.dumps({"corpus": chosen.get(side, ""), "size": chosen.get("size", "")})
        source = json.dumps({"uri": path.as_posix()})
        data = Dataset(f"{name}: {path.as_posix()}", digest, "local", source, profile=profile)
        found.append(DatasetInput(data, [context]))
    return found


def choice() -> dict[str, str]:
    """What is chosen beside the job's own settings: of Hydra's composition, or of params.yaml under DVC."""
    composed = HydraConfig.get().runtime.choices if HydraConfig.initialized() else {}
    if all(key in composed for key in CHOSEN):
        return {key: str(composed[key]) for key in CHOSEN}
    try:
        chosen = choices.load_choices()
    except InputError:  # edited since this job was resolved from it
        return {}
    return {key: str(getattr(chosen, key)) for key in CHOSEN}


def _description(job: Job, chosen: Mapping[str, str]) -> str:
    lines = [f"**{job.rung['title']}**: {job.rung.get('claim') or job.task}; stage `{job.stage}`."]
    side = "parallel" if job.ladder == "translator" else "corpus"
    if chosen:
        lines.append(f"Corpus {chosen[side]}, size {chosen['size']}, tokenizer {chosen['tokenizer']}.")
    lines.append(f"Settings: `conf/{job.ladder}/{job.rung['name']}.yaml`, whole in the artifact `resolved.yaml`.")
    return " ".join(lines)


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _commit() -> str:
    try:
        result = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:  # no git
        return ""
    return result.stdout.strip()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user number without a name, as in containers
        return ""
