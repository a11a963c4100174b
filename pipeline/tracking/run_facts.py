"""The parameters and tags of an MLflow run, for sorting, filtering and plots in MLflow's pages.

MLflow's page for comparing runs begins with the first differing parameters in alphabetical order. So
the parameters of every family come first, `dimension`, `lr`, `rung`, `seed`, and the rest follows as `settings.…`.
What is constant or internal (class, title, code version) is a tag; the whole settings are the artifact resolved.yaml.
"""

import colorsys
import getpass
import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.core.hydra_config import HydraConfig

from langladder.families import families, sides
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.ground.ranks import MACHINE
from pipeline import ROOT
from pipeline.settings import params, plan
from pipeline.settings.titles import title_of
from pipeline.settings.yaml_files import Values
from pipeline.tracking import processes

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput

# How a job is watched, not what it computes.
MONITORING = ["progress", "profiler", "log_every", "checkpoint_every", "validate_every", "accelerator"]
MONITORING += MACHINE
MONITORING += ["fast_dev_run", "overfit_batches"]
DIALS = {"width": "dimension", "dim": "dimension", "lr": "lr", "seed": "seed"}  # the width: of layers, of vectors
CHOSEN = ("size", *(side.group for side in sides.CHOSEN), "filter", "clean", "tokenizer", "debug")
PARTS = ("model", "training", "settings", "data")
JUDGING = ("evaluate", "claim", "probe", "prompt")  # stages that train no rung
GOLDEN = 0.618034  # of the circle of hues, between two rungs
LENGTH = 250  # MLflow's longest parameter
UNNAMEABLE = re.compile(r"[^/\w.\- :]")  # not allowed in MLflow's names; a variant may be "LSTM, shuffled"


@dataclass(frozen=True)
class Job:
    """A stage's job on one rung.

    Attributes:
        inputs: name → (path, hash of the content).
    """

    family: str
    stage: str
    settings: Values
    fingerprint: str
    inputs: Mapping[str, tuple[Path, str]]

    @property
    def rung(self) -> Values:
        """The rung's own settings, with its name and title."""
        rung: Values = self.settings[self.family]
        return rung

    @property
    def experiment(self) -> str:
        """MLflow's experiment of its run."""
        return families()[self.family].experiment


def parameters(job: Job) -> dict[str, str]:
    """The settings by their own names; a name used in two parts is prefixed by its part the second time."""
    parts = [job.rung.get(part) or {} for part in PARTS]
    rest = {key: value for key, value in job.rung.items() if key in ("after", "input")}
    rest |= {key: value for key, value in job.settings.items() if key not in (job.family, "code", "paths")}
    named: dict[str, object] = {"rung": job.rung["name"]}
    for part, values in zip([*PARTS, "job"], [*parts, rest], strict=True):
        for key, value in _flatten(values).items():
            if value is None or key in MONITORING:
                continue
            name = DIALS.get(key, f"settings.{key}")
            named[f"settings.{part}.{key}" if name in named else name] = value
    return {UNNAMEABLE.sub("", key): str(value)[:LENGTH] for key, value in named.items()}


def tags(job: Job) -> dict[str, str]:
    """The tags of a run; MLflow's own names are those of its pages' columns."""
    chosen, known_stage = choice(), plan.stages().get(job.stage)
    known = {
        "mlflow.runName": f"{job.stage} {job.rung['name']}",
        "mlflow.source.name": f"pipeline/{known_stage.module if known_stage else job.stage}.py",
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": _commit(),
        "mlflow.user": _user(),
        "mlflow.runColor": colour(job.family, job.rung["name"]),
        "mlflow.note.content": _description(job, chosen),
    }
    own = {"stage": job.stage, "rung": job.rung["name"], "title": job.rung["title"], "fingerprint": job.fingerprint}
    own |= {"class": job.rung.get("_target_") or "", "base": job.rung.get("base") or ""} | _fingerprints(job)
    own |= {"code": str(job.settings.get("code", ""))} | chosen | _overridden()
    own |= {"repro": processes.repro(), "dvc.experiment": os.environ.get("DVC_EXP_NAME", "")}
    return {key: value for key, value in (known | own).items() if value}


def _overridden() -> dict[str, str]:
    """The overrides on the command line of a single run or a sweep: one tag per key, and all as typed."""
    if not HydraConfig.initialized():
        return {}
    typed = list(HydraConfig.get().overrides.task)
    pairs = (argument.lstrip("+~").partition("=") for argument in typed)
    results = {f"override.{UNNAMEABLE.sub('', key)}": value for key, _, value in pairs if value}
    return results | ({"overrides": " ".join(typed)} if typed else {})


def colour(family: str, rung: str) -> str:
    """The colour in which MLflow's pages draw the runs of a rung, `#rrggbb`; neighbours in conf/ are far apart."""
    names = params.conf_names(family)
    position = names.index(rung) if rung in names else len(names)
    red, green, blue = colorsys.hls_to_rgb(position * GOLDEN % 1, 0.45, 0.65)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def _fingerprints(job: Job) -> dict[str, str]:
    """The fingerprints of the evaluated model and of the rung's base, to find their runs."""
    fingerprints = {}
    for name in ("model", "base"):
        if name in job.inputs and (file := job.inputs[name][0] / "provenance.json").is_file():
            fingerprints[f"{name}_fingerprint"] = read_json(file)["fingerprint"]
    return fingerprints


def datasets(job: Job) -> "list[DatasetInput]":
    """The job's inputs as MLflow's data sets: corpus, path, hash of the content; without models."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    context = InputTag("mlflow.data.context", "evaluation" if job.stage.startswith(JUDGING) else "training")
    chosen = choice()
    results = []
    for name, (path, digest) in job.inputs.items():
        if name.startswith(("model", "base")):
            continue
        group = next((name for name in sides.SIDES if name != "text" and name in path.parts), "corpus")
        corpus = chosen.get(group, "" if group == "corpus" else group)  # one without a choice has its own name
        profile = json.dumps({"corpus": corpus, "size": chosen.get("size", ""), "input": name})
        source = json.dumps({"uri": path.as_posix()})
        data = Dataset(f"{corpus}: {path.as_posix()}", digest, "local", source, profile=profile)
        results.append(DatasetInput(data, [context]))
    return results


def choice() -> dict[str, str]:
    """The choices besides the job's own settings: from Hydra's composition, or from params.yaml under DVC."""
    composed = HydraConfig.get().runtime.choices if HydraConfig.initialized() else {}
    if all(key in composed for key in CHOSEN):
        return {key: str(composed[key]) for key in CHOSEN}
    try:
        chosen = params.load()
    except InputError:  # edited after this job was resolved
        return {}
    return {key: str(getattr(chosen, key)) for key in CHOSEN}


def _description(job: Job, chosen: Mapping[str, str]) -> str:
    lines = [f"**{job.rung['title']}**: {job.rung.get('claim') or job.experiment}; stage `{job.stage}`."]
    family = families()[job.family]
    side = family.side
    if also := family.also_given(job.rung, title_of):
        lines.append(f"Also given: {also}.")
    if chosen:
        lines.append(f"Corpus {chosen.get(side, side)}, size {chosen['size']}, tokenizer {chosen['tokenizer']}.")
    lines.append(
        f"Settings: `{params.display_file(job.family, job.rung['name'])}`, complete in the artifact `resolved.yaml`."
    )
    return " ".join(lines)


def _flatten(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
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
