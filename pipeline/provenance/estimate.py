"""About how long jobs take, before they begin: by earlier runs where there are some, else a rough figure.

An earlier run counts where stage, rung and all that is chosen (size, corpora, tokenizer, debug) are those of the job,
and its number of steps is. The rough figures come from the default ladder (size small, fp32, one thread a job, two jobs
at a time on two cores) and grow with steps, batch, layers and the square of the width. What they do not know: another
machine's speed, the vocabulary, long texts, cells and output layers that are slower than the reference's.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import median
from typing import Any

from langladder.families import families
from langladder.ground.errors import InputError
from pipeline.provenance import store
from pipeline.provenance.found_runs import finished_runs
from pipeline.provenance.run_facts import choice
from pipeline.settings.yaml_files import read_yaml

A_JOB = 2.0  # seconds that DVC, the interpreter and the libraries take of each job
COUNTED = 3.0  # a rung that is counted, vectors by Numba's kernels
EXPERIMENT = 0.15  # a step of an experiment at effort 1: the mean of all, each of which trains several networks
FLOOR = 0.005  # a step of a network of no width


@dataclass(frozen=True)
class Reference:
    """A training of the default ladder that was timed."""

    seconds: float
    steps: int
    width: int
    layers: int
    tokens: int  # of a batch


REFERENCES = {  # by what their settings have, the first that fits
    "heads": Reference(seconds=120, steps=3600, width=128, layers=2, tokens=768),  # GPT
    "sequence_length": Reference(seconds=80, steps=2900, width=256, layers=1, tokens=768),  # LSTM
    "batch_tokens": Reference(seconds=75, steps=900, width=128, layers=1, tokens=1024),  # translator with attention
    "embedding_dim": Reference(seconds=25, steps=1500, width=100, layers=1, tokens=1),  # those that read texts
}
REFERENCES["max_steps"] = REFERENCES["batch_tokens"]  # what grows from another rung, and learns to answer


@dataclass(frozen=True)
class Estimate:
    """Seconds of all jobs by the clock, and how many of them an earlier run has told.

    Attributes:
        until: seconds from a job's beginning until all that waits for it is done.
    """

    seconds: float
    told: int
    until: Mapping[str, float]

    def __str__(self) -> str:
        basis = f"{self.told} of them by earlier runs" if self.told else "roughly, by their steps"
        return f"{duration(self.seconds)} ({basis})"


def estimate(needs: Mapping[str, Collection[str]], root: Path, at_once: int) -> Estimate:
    """How long the jobs (`train_lm@lstm` → what it waits for) take that read their settings in root/resolved/.

    Args:
        at_once: how many run side by side, each on processors of its own.
    """
    earlier = _earlier()
    seconds, told = {}, 0
    for job in needs:
        stage, _, name = job.partition("@")
        settings = _settings(root / "resolved" / stage / f"{name or stage}.yaml")
        known = earlier.get((stage, name, _steps(settings)))
        told += known is not None
        seconds[job] = A_JOB + (rough(stage, settings) if known is None else median(known))
    ends: dict[str, float] = {}
    for job in TopologicalSorter(needs).static_order():
        ends[job] = seconds[job] + max((ends[before] for before in needs[job]), default=0.0)
    until = dict(seconds)
    for job in reversed(list(TopologicalSorter(needs).static_order())):
        for before in needs[job]:
            until[before] = max(until[before], seconds[before] + until[job])
    return Estimate(max(sum(seconds.values()) / at_once, *ends.values()), told, until)


def rough(stage: str, settings: Mapping[str, Any]) -> float:
    """Seconds of a job's own work, by its settings."""
    name, part = _part(settings)
    if not name:
        return COUNTED
    if not families()[name].trained:
        return COUNTED + EXPERIMENT * (_steps(settings) or 0) * float(part["settings"].get("effort", 1.0))
    if stage.startswith(("evaluate", "prefer")):
        return families()[name].judged_in
    steps = _steps(settings)
    if steps is None or "epochs" in part.get("model", {}):
        return COUNTED
    return COUNTED + steps * _a_step(part.get("model") or {}, part["training"])


def _a_step(model: Mapping[str, Any], training: Mapping[str, Any]) -> float:
    reference = next(REFERENCES[key] for key in REFERENCES if key in model or key in training)
    width: int = model.get("width") or model.get("embedding_dim") or reference.width
    layers = model.get("layers")
    if not isinstance(layers, int):  # not said, or which of its base's layers a rung reads
        layers = reference.layers
    tokens: int = training.get("batch_tokens") or training.get("batch_size", 0) * training.get("sequence_length", 0)
    grown = (width / reference.width) ** 2 * layers / reference.layers * (tokens or reference.tokens) / reference.tokens
    grown *= training.get("accumulate", 1)
    return FLOOR + (reference.seconds / reference.steps - FLOOR) * float(grown)


def duration(seconds: float) -> str:
    """As one says it: 4 min, 35 min, 2 h 30 min."""
    minutes = seconds / 60
    if minutes < 10:
        return f"{max(1, round(minutes))} min"
    if minutes < 57.5:
        return f"{5 * round(minutes / 5)} min"
    hours, tens = divmod(round(minutes / 10), 6)
    return f"{hours} h {10 * tens} min" if tens else f"{hours} h"


def _earlier() -> dict[tuple[str, str, int | None], list[float]]:
    """(Stage, rung, steps) → seconds of each finished run with what is chosen now; one search for all."""
    chosen = choice()
    try:
        runs = finished_runs() if store.has_runs() else []
    except InputError:  # the first job says what is wrong with it
        return {}
    found: dict[tuple[str, str, int | None], list[float]] = {}
    for run in runs:
        tags, steps = run.data.tags, run.data.params.get("settings.max_steps")
        if chosen and run.info.end_time and all(tags.get(key) == value for key, value in chosen.items()):
            key = tags.get("stage", ""), tags.get("rung", ""), None if steps is None else int(steps)
            found.setdefault(key, []).append((run.info.end_time - run.info.start_time) / 1000)
    return found


def _settings(file: Path) -> Mapping[str, Any]:
    return read_yaml(file) if file.is_file() else {}


def _part(settings: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The family that a job's rung belongs to, and the rung's own settings."""
    for family in families():
        if family in settings:
            return family, settings[family]
    return "", {}


def _steps(settings: Mapping[str, Any]) -> int | None:
    _, part = _part(settings)
    for group in ("training", "settings"):
        if steps := (part.get(group) or {}).get("max_steps"):
            return int(steps)
    return None
