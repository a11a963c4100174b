"""One page for several training runs of a rung with different seeds, for the tables if `seeds` is above 1.

Every figure is the mean over the S trainings. With s, the standard deviation between them, and t, the 97.5 % quantile
of Student's distribution with S − 1 degrees of freedom, the mean is known up to

    e = t · s / √S

which is kept for each figure (`Page.spread`). An interval that covers the choice of the test items, [m − a, m + b] on
the mean over the trainings, is made wider by it, the two being independent: [m − √(a² + e²), m + √(b² + e²)].

Whatever is no figure (samples, mistakes, confusions, which items are right) is that of the first training.
"""

from collections.abc import Sequence
from math import hypot, isfinite, sqrt
from statistics import fmean, stdev
from typing import Any, TypeVar

from pydantic import BaseModel

from langladder.evaluation.page import Interval, Metrics, Page, attributes, declared

P = TypeVar("P", bound=Page)
M = TypeVar("M", bound=BaseModel)
DIGITS = 6
TAIL = 0.975


def joined(pages: Sequence[P]) -> P:
    """The page of all training runs, the first run's page first; a single page is returned unchanged."""
    first = pages[0]
    if len(pages) == 1:
        return first
    page: P = _mean(pages)
    return page.model_copy(update={"seeds": len(pages), "spread": _spread(pages)})


def uncertainty(values: Sequence[float]) -> float:
    """e, see above; 0 for one value."""
    from scipy.stats import t  # takes time to load

    if len(values) < 2:
        return 0.0
    return float(t.ppf(TAIL, len(values) - 1)) * stdev(values) / sqrt(len(values))


def _spread(pages: Sequence[Page]) -> dict[str, float]:
    """Name of a metric → e, of all that were measured in every training and are no intervals."""
    values_by_name = {}
    for metric in declared(type(pages[0])):
        for key in metric.keys(pages[0]):
            values = [metric.read(page, key) for page in pages]
            if not metric.interval and all(isinstance(value, float) and isfinite(value) for value in values):
                values_by_name[metric.logged_as(key)] = round(uncertainty(values), DIGITS)
    return values_by_name


def _mean(models: Sequence[M]) -> M:
    """The first page with means over the seeds as figures, also of its models, and with wider intervals."""
    first = models[0]
    update: dict[str, Any] = {}
    centre = ""  # the figure of the interval after it
    for name, (_, metadata) in attributes(type(first)).items():
        if name not in type(first).model_fields:
            continue
        values = [getattr(model, name) for model in models]
        stem = name.removesuffix("_low").removesuffix("_high")
        if any(value is None for value in values):
            continue
        if stem != name and hasattr(first, f"{stem}_low"):  # bleu, bleu_low, bleu_high
            ends = [(getattr(model, f"{stem}_low"), getattr(model, f"{stem}_high")) for model in models]
            update[name] = _wider([getattr(model, stem) for model in models], ends)[name.endswith("_high")]
        elif all(isinstance(value, float) for value in values):
            update[name], centre = round(fmean(values), DIGITS), name
        elif name.endswith("interval") and centre:
            centres = [getattr(model, centre) for model in models]
            update[name] = values[0] if None in centres else _wider(centres, values)
        elif isinstance(values[0], Page):
            update[name] = joined(values)
        elif isinstance(values[0], BaseModel):
            update[name] = _mean(values)
        elif any(isinstance(annotation, Metrics) for annotation in metadata):
            update[name] = _each(values)
    return first.model_copy(update=update)


def _each(values: Sequence[Any]) -> Any:
    """Means of scores by split, or of a list of named ones."""
    if isinstance(values[0], dict):
        return {key: _mean([value[key] for value in values if key in value]) for key in values[0]}
    same = all(len(value) == len(values[0]) for value in values)
    return [_mean(several) for several in zip(*values, strict=True)] if same else values[0]


def _wider(centres: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    mean, more = fmean(centres), uncertainty(centres)
    below = fmean(centre - low for centre, (low, _) in zip(centres, intervals, strict=True))
    above = fmean(high - centre for centre, (_, high) in zip(centres, intervals, strict=True))
    return round(mean - hypot(below, more), DIGITS), round(mean + hypot(above, more), DIGITS)
