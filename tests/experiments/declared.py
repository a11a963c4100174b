"""What a file of src/claims/conf/claim says to numbers that a test makes up."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import yaml

from claims.comparison import Comparison, Measured
from langladder.experiments.findings import Findings
from langladder.ground.schema import locate
from pipeline import ROOT
from tests.experiments.test_every_experiment import job

Cells = Mapping[str, Mapping[str, Sequence[float] | np.ndarray]]
"""Variant → metric → a value a seed, or (S, N)."""


def comparison(name: str) -> Comparison[Any]:
    """The experiment of src/claims/conf/claim/<name>.yaml, at effort 1."""
    text = (ROOT / "src" / "claims" / "conf" / "claim" / f"{name}.yaml").read_text(encoding="utf-8")
    file = yaml.safe_load(text)
    kind = locate(file["_target_"])
    if "defaults" in file or "${oc.select" in text:
        composed: Comparison[Any] = kind(job("claim", name).settings.model_copy(update={"effort": 1.0}))
        return composed
    sizes = {"effort": 1.0, "world": "small"}  # what the ladder's size sets
    result: Comparison[Any] = kind(
        kind.Config.model_validate({key: sizes.get(key, value) for key, value in file["settings"].items()})
    )
    return result


def findings_from(name: str, cells: Cells | Mapping[str, Cells], levels: Mapping[str, float] | None = None) -> Findings:
    """What it finds in such cells, of every base alike, or base → cells; of what is not named, 0."""
    experiment = comparison(name)
    config = experiment.config
    assert config.effort == 1.0
    by_base: Any = cells if set(cells) == set(map(str, config.bases)) else dict.fromkeys(map(str, config.bases), cells)
    scalars = [key for key, metric in experiment.metrics.items() if not metric.along]
    measured = {}
    for base in config.bases:
        named = by_base[str(base)]
        seeds = max(len(values) for by in named.values() for values in by.values())
        rest = dict.fromkeys(scalars, [0.0] * seeds)
        measured[experiment.title(base)] = {
            variant: of({**rest, **named.get(variant, {})}) for variant in config.changes()
        }
    return experiment.findings(measured, levels)


def of(values: Mapping[str, Any]) -> Measured:
    """Networks of such values."""
    items = {key: some for key, some in values.items() if isinstance(some, np.ndarray)}
    return Measured(
        0, {key: list(np.mean(some, axis=1) if key in items else some) for key, some in values.items()}, items
    )


def five(value: float, wild: float = 0.02) -> list[float]:
    """Of five seeds, in another order for another value."""
    return list(value + wild * np.roll(np.linspace(-1, 1, 5), round(100 * value)))
