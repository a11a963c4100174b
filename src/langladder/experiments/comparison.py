"""The form that most claims have: one network, one thing changed at a time, the same steps, several seeds.

A file of conf/experiment says it, and what would refute it:

    bases: [transformer]                                       what is trained
    variants: {whole: {}, no positions: {positions: none}}     what varies, by name; or, where it is numbers,
    vary: {heads: [1, 2, 4, 8]}                                settings and the values that they take side by side
    expect: [{each: [no positions], is: worse, than: whole, margin: 0.02}]

A setting is one of the network (`Config` of its class) or else one of its training. Networks of one seed are compared
in pairs, over seeds and, where it is kept which test texts each gets right, over texts (`statistics`): by d = m₁ − m₂
and a `margin`, the least difference that counts, or by d = ln m₁ − ln m₂ and the logarithm of a `factor`. Of `some`
variants, the best of which is picked, each interval is wider, so that all are right together 95 times in 100
(Bonferroni).

Nothing is judged where the networks have not learnt. The side that is expected to be at least as good (`than`, or the
best variant where a variant is to be better) must beat, by its interval, what counting gets (`Comparison.levels`):
"as good as a network that has learnt nothing" says nothing.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar, get_args

import numpy as np
from pydantic import Field, model_validator

from langladder.experiments.experiment import Data, Experiment, ExperimentConfig, Progress
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.statistics import (
    CONFIDENCE,
    LEAST_SEEDS,
    Difference,
    Verdict,
    above,
    below,
    difference,
    every,
    gated,
    mean,
    some,
    spread,
)
from langladder.ground.schema import Config, checked

LEAST = 1e-12
"""Of a metric whose logarithm is taken."""
BEST = "best"
"""What a variant may be compared with beside the others: whichever of them is best."""
TRAINING = {"optimizer", "lr", "muon_lr", "betas", "eps", "weight_decay", "schedule", "warmup_steps", "min_lr", "decay"}
TRAINING |= {"decay_steps", "max_steps", "clip_norm", "label_smoothing"}
TRAINING |= {"batch_size", "sequence_length", "batch_tokens"}
"""The settings of training that `experiments.training` reads."""


class Metric(NamedTuple):
    """What is measured of a trained network: its column and axis, and whether more of it is better."""

    label: str
    more_is_better: bool = False
    drawn: bool = True


class Expectation(Config):
    """What must come out: each of some variants, or some one of them, is better, worse or as good as another."""

    each: list[str] = Field(default=[])
    some: list[str] = Field(default=[])
    outcome: Literal["better", "worse", "as good"] = Field(alias="is")
    than: str  # a variant, or best: whichever is
    margin: float | None = Field(default=None, ge=0)  # the least difference that counts, in units of the metric
    factor: float | None = Field(default=None, ge=1)  # or the least ratio
    metric: str | None = None  # another than that of the comparison

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.each) == bool(self.some):
            raise ValueError(f"each={self.each}, some={self.some}: name variants in one of the two")
        if (self.margin is None) == (self.factor is None):
            raise ValueError(
                f"margin={self.margin}, factor={self.factor}: say in one of the two which difference counts"
            )
        return self

    @property
    def names(self) -> list[str]:
        """The variants that are looked at."""
        return self.each or self.some

    def judged(self, gain: Difference) -> Verdict:
        """gain: of the variant, positive where it is better; of logarithms where a factor is given."""
        by = self.margin if self.factor is None else math.log(self.factor)
        assert by is not None
        if self.outcome == "as good":
            return gain.within(by)
        return (gain if self.outcome == "better" else -gain).exceeds(by)


class ComparisonConfig(ExperimentConfig):
    """Settings of `Comparison`; subclasses have the networks, their training and the metrics."""

    TRAINED: ClassVar[frozenset[str]] = frozenset(TRAINING)
    """Settings of training that a variant may have."""
    bases: list[Any] = Field(min_length=1)
    model: dict[str, object] = Field(default={})  # settings of the network that all variants have
    variants: dict[str, dict[str, object]] = Field(default={})
    vary: dict[str, list[Any]] = Field(default={})
    what: str = "variant"  # varies, as a reader is shown it
    metric: str
    expect: list[Expectation] = Field(min_length=1)
    seeds: int = Field(default=LEAST_SEEDS, ge=1, le=100)  # networks of each variant

    def small(self, base: Any) -> tuple[Any, dict[str, object]]:
        """Class and settings of a base."""
        raise NotImplementedError

    def training(self, **changes: object) -> Config:
        """How a network is trained, with changes to single settings."""
        raise NotImplementedError

    def changes(self) -> dict[str, dict[str, object]]:
        """Variant → its settings; those of `vary` are named after the first setting's values."""
        if self.variants:
            return self.variants
        rows = zip(*self.vary.values(), strict=True)
        return {str(row[0]): dict(zip(self.vary, row, strict=True)) for row in rows}

    def variant(self, base: Any, change: Mapping[str, object]) -> tuple[Any, dict[str, object], dict[str, object]]:
        """Class of the network, all of its settings, and the changes to its training."""
        kind, settings = self.small(base)
        own = {key: value for key, value in change.items() if key in kind.Config.model_fields}
        return kind, settings | self.model | own, {key: change[key] for key in change if key not in own}

    @model_validator(mode="after")
    def _can_be_compared(self) -> Self:
        if bool(self.variants) == bool(self.vary):
            raise ValueError("give variants (name: settings) or vary (setting: values), one of the two")
        lengths = {key: len(values) for key, values in self.vary.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"vary: as many values of each setting as of the others; got {lengths}")
        names, count = list(self.changes()), next(iter(lengths.values()), len(self.variants))
        if len(names) < max(2, count):
            raise ValueError(f"{'vary' if self.vary else 'variants'}={names}: two or more, each another")
        for expected in self.expect:
            if unknown := {*expected.names, expected.than} - {*names, BEST} | {BEST} & set(expected.names):
                raise ValueError(f"expect: {sorted(unknown)} is no variant; allowed: {', '.join(names)}, than: {BEST}")
            metrics = get_args(type(self).model_fields["metric"].annotation)
            if expected.metric is not None and expected.metric not in metrics:
                raise ValueError(f"expect: metric={expected.metric!r} is not allowed: one of {', '.join(metrics)}")
            if expected.than in expected.names:
                raise ValueError(f"expect: {expected.than!r} is compared with itself")
        for base in self.bases:
            self._check(base)
        return self

    def _check(self, base: Any) -> None:
        """Every variant's settings are there, and can be had together."""
        own = self.small(base)[0].Config.model_fields
        training = self.TRAINED & set(type(self.training()).model_fields)
        for name, change in {"model": self.model, **self.changes()}.items():
            allowed = sorted({*own} if change is self.model else {*own, *training})
            if unknown := [key for key in change if key not in allowed]:
                raise ValueError(f"{name}: {unknown[0]!r} is no setting of {base}; allowed: {', '.join(allowed)}")
        for name, change in self.changes().items():
            kind, settings, trained = self.variant(base, change)
            checked(kind.Config, settings, f"{base}, {name}")
            self.training(**trained)


class Measured(NamedTuple):
    """Networks that only the seed tells apart: parameters of each, and metric → a value a seed.

    Attributes:
        right: metric → (S, N) bool, of the S networks and N test texts, where it is kept.
    """

    parameters: int
    values: Mapping[str, list[float]]
    right: Mapping[str, np.ndarray] = {}


C = TypeVar("C", bound=ComparisonConfig)
Found = Mapping[str, Mapping[str, Measured]]
"""Title of a base → variant → what was measured."""
Values = dict[str, float | np.ndarray]
"""Metric → value; or (N,) bool, whether each test text is right, whose mean is the value."""
Measure = Callable[[Any, dict[str, object], dict[str, object], int], tuple[int, Mapping[str, float | np.ndarray]]]
"""Class, settings, changes to the training, seed → parameters of the trained network, `Values`."""


class Comparison(Experiment[C]):
    """Each base with each variant of its settings, a network a seed."""

    metrics: ClassVar[dict[str, Metric]]
    titles: Mapping[Any, str]

    @abstractmethod
    def measure(self, data: Data) -> Measure:
        """What trains and measures one network."""

    def levels(self, data: Data) -> Mapping[str, float]:
        """Metric → what one gets by counting, which a network that has learnt beats: words or labels, or n-grams."""
        del data
        return {}

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config, measure = self.config, self.measure(data)
        found: dict[str, dict[str, Measured]] = {self.titles[base]: {} for base in config.bases}
        for base, by in zip(config.bases, found.values(), strict=True):
            for name, change in config.changes().items():
                seeds = range(seed, seed + config.fewer(config.seeds))
                outcomes = [measure(*config.variant(base, change), number) for number in seeds]
                by[name] = gathered([values for _, values in outcomes], self.metrics, outcomes[0][0])
                said = ", ".join(
                    f"{self.metrics[key].label} {mean(values):.3f}" for key, values in by[name].values.items()
                )
                progress(f"{self.titles[base]}, {self.variant_title(name)}: {said}")
        return self.findings(found, self.levels(data))

    def variant_title(self, variant: str) -> str:
        """What a reader is shown for a variant: its name; for numbers also what they are of."""
        return f"{self.config.what} {variant}" if self.config.vary else variant

    def findings(self, found: Found, levels: Mapping[str, float] | None = None) -> Findings:
        """The claim holds where all that is expected comes out, for every base, if all bases have learnt."""
        key, what = self.config.metric, self.config.what
        label = self.metrics[key].label
        rest = [other for other in self.metrics if other != key]
        judged = [(base, *self.judged(expected, by)) for base, by in found.items() for expected in self.config.expect]
        gates = [
            self._learnt(by, None if expected.outcome == "better" else expected.than, *level)
            for by in found.values()
            for expected in self.config.expect
            for level in (levels or {}).items()
        ]
        verdict = gated(gates, every(one for _, one, _ in judged))
        rows = [(base, name, one) for base, by in found.items() for name, one in by.items()]
        lead = {base: f"{base} " if len(found) > 1 else "" for base in found}
        means = ", ".join(
            f"{lead[base]}{mean(one.values[key]):.3f} ({self.variant_title(name)})" for base, name, one in rows
        )
        said = "; ".join(f"{lead[base]}{difference}" for base, _, difference in judged)
        return Findings(
            **opened(verdict, f"{label}: {means}; {said}."),
            columns=[
                "network",
                what,
                "parameters",
                label,
                "± between seeds",
                *(self.metrics[one].label for one in rest),
            ],
            rows=[
                [base, name, float(one.parameters), *map(rounded, (mean(one.values[key]), spread(one.values[key])))]
                + [rounded(mean(one.values[other])) for other in rest]
                for base, name, one in rows
            ],
            plots=[self._plot(key, found) for key, metric in self.metrics.items() if metric.drawn],
            figures={
                figure(lead[base], name, metric): mean(values)
                for base, name, one in rows
                for metric, values in one.values.items()
            },
        )

    def judged(self, expected: Expectation, found: Mapping[str, Measured]) -> tuple[Verdict, str]:
        """What is expected of a base's variants, and the numbers that say whether it came out."""
        key = expected.metric or self.config.metric
        metric = self.metrics[key]
        means = {name: mean(one.values[key]) for name, one in found.items()}
        cost = {name: -value if metric.more_is_better else value for name, value in means.items()}
        other = min(cost, key=lambda name: cost[name]) if expected.than == BEST else expected.than
        verdicts, said = {}, {}
        for name in expected.names:
            gain = self._gain(found[name], found[other], key, expected)
            verdicts[name] = expected.judged(gain)
            said[name] = _statement(gain if metric.more_is_better else -gain, expected, right=key in found[name].right)
        shown = expected.each or [min(verdicts, key=lambda name: (not verdicts[name].holds, cost[name]))]
        against = f"the best, {self.variant_title(other)}," if expected.than == BEST else self.variant_title(other)
        of = "" if key == self.config.metric else f"{metric.label}, "
        text = "; ".join(f"{of}{self.variant_title(name)} against {against} {said[name]}" for name in shown)
        return (every if expected.each else some)(verdicts.values()), text

    def _gain(self, one: Measured, other: Measured, key: str, expected: Expectation) -> Difference:
        """How much better one is than another."""
        sides: list[Any] = [one.right.get(key), other.right.get(key)]
        if any(side is None for side in sides) or expected.factor is not None:
            sides = [side.values[key] for side in (one, other)]
        if expected.factor is not None:
            sides = [np.log(np.maximum(side, LEAST)) for side in sides]
        if not self.metrics[key].more_is_better:
            sides.reverse()
        return difference(sides[0], sides[1], 1 - (1 - CONFIDENCE) / max(1, len(expected.some)))

    def _learnt(self, found: Mapping[str, Measured], name: str | None, key: str, level: float) -> Verdict:
        """Whether a variant of a base, or its best one, beats a level of a metric."""
        metric = self.metrics[key]
        values: dict[str, Any] = {one: by.right.get(key, by.values[key]) for one, by in found.items()}
        if name in (None, BEST):
            name = (max if metric.more_is_better else min)(values, key=lambda one: float(np.mean(values[one])))
        gate = above if metric.more_is_better else below
        return gate(values[str(name)], level, f"{self.variant_title(str(name))} has not learnt: its {metric.label}")

    def _plot(self, key: str, found: Found) -> Plot:
        names = list(self.config.changes())
        values = next(iter(self.config.vary.values()), [])
        numbers = bool(values) and all(isinstance(value, int | float) for value in values)
        means = [mean(one.values[key]) for by in found.values() for one in by.values()]
        lines = {base: [by[name].values[key] for name in names] for base, by in found.items()}
        return Plot(
            title=f"{self.metrics[key].label} by {self.config.what}",
            x_label=self.config.what,
            y_label=self.metrics[key].label,
            log_x=numbers and min(values) > 0,
            log_y=max(means) > 4 * min(means) > 0,
            series=[
                series(base, values if numbers else names, map(mean, line), map(spread, line))
                for base, line in lines.items()
            ],
        )


def gathered(values: Sequence[Mapping[str, float | np.ndarray]], metrics: Iterable[str], parameters: int) -> Measured:
    """What was measured of the networks of a variant, of each its `Values`."""
    right, found = dict[str, np.ndarray](), dict[str, list[float]]()
    for metric in metrics:
        kept = [one[metric] for one in values if isinstance(one[metric], np.ndarray)]
        if kept:
            right[metric] = np.stack(kept)  # (S, N)
        found[metric] = [float(np.mean(one[metric])) for one in values]
    return Measured(parameters, found, right)


def _statement(apart: Difference, expected: Expectation, *, right: bool) -> str:
    """A difference as it was measured, in points where it is one of shares."""
    if expected.factor is not None:
        middle, low, high = (f"{100 * (math.exp(min(value, 700.0)) - 1):+.1f}" for value in apart[:3])
        return f"{middle} % ({low} to {high})" if math.isfinite(apart.low) else f"{middle} % (one seed)"
    if right:
        return str(apart)
    if not math.isfinite(apart.low):
        return f"{apart.mean:+.3f} (one seed)"
    return f"{apart.mean:+.3f} ({apart.low:+.3f} to {apart.high:+.3f})"
