"""The form that most claims have: one network, one thing changed at a time, the same steps, several seeds.

A file of conf/experiment says it, and what would refute it:

    bases: [transformer]                                       what is trained
    variants: {whole: {}, no positions: {positions: none}}     what varies, by name; or, where it is numbers,
    vary: {heads: [1, 2, 4, 8]}                                settings and the values that they take side by side
    expect: [{each: [no positions], is: worse, than: whole}]   the claim is refuted where one of these does not come out

A setting is one of the network (`Config` of its class) or else one of its training. Means m over networks that only the
seed tells apart differ where they do so by more than twice their spread s, or by more than a factor where one is given.
Where it is kept which test texts each network gets right, they differ where an interval does not hold 0:

    |m₁ − m₂| > 2 max s      each: s of the two; some, which picks the best of several: s of them all
    m₁ > factor · m₂
    0 ∉ 95 % interval        of m₁ − m₂, over seeds and test texts (`statistics.difference`); each alone
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar, get_args

import numpy as np
from pydantic import Field, model_validator

from langladder.experiments.experiment import Data, Experiment, ExperimentConfig, Progress
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.statistics import difference, mean, spread
from langladder.ground.schema import Config, checked

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
    factor: float | None = Field(default=None, ge=1)  # within which they count as alike; null: twice the spread
    metric: str | None = None  # another than that of the comparison

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.each) == bool(self.some):
            raise ValueError(f"each={self.each}, some={self.some}: name variants in one of the two")
        return self

    @property
    def names(self) -> list[str]:
        """The variants that are looked at."""
        return self.each or self.some


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
    seeds: int = Field(default=2, ge=1, le=100)  # networks of each variant

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

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        config, measure = self.config, self.measure(data)
        found: dict[str, dict[str, Measured]] = {self.titles[base]: {} for base in config.bases}
        for base, by in zip(config.bases, found.values(), strict=True):
            for name, change in config.changes().items():
                seeds = range(seed, seed + config.fewer(config.seeds))
                outcomes = [measure(*config.variant(base, change), number) for number in seeds]
                by[name] = gathered([values for _, values in outcomes], self.metrics, outcomes[0][0])
                values = by[name].values.items()
                said = ", ".join(f"{self.metrics[key].label} {mean(some):.3f}" for key, some in values)
                progress(f"{self.titles[base]}, {self.shown(name)}: {said}")
        return self.findings(found)

    def shown(self, variant: str) -> str:
        """What a reader is shown for a variant: its name; for numbers also what they are of."""
        return f"{self.config.what} {variant}" if self.config.vary else variant

    def findings(self, found: Found) -> Findings:
        """The claim holds where all that is expected comes out, for every base."""
        key, what = self.config.metric, self.config.what
        label = self.metrics[key].label
        rest = [other for other in self.metrics if other != key]
        told = [(base, self.judged(expected, by)) for base, by in found.items() for expected in self.config.expect]
        holds = all(came for _, (came, _) in told)
        rows = [(base, name, one) for base, by in found.items() for name, one in by.items()]
        lead = {base: f"{base} " if len(found) > 1 else "" for base in found}
        means = ", ".join(f"{lead[base]}{mean(one.values[key]):.3f} ({self.shown(name)})" for base, name, one in rows)
        said = "; ".join(f"{lead[base]}{difference}" for base, (_, difference) in told)
        return Findings(
            holds=holds,
            verdict=opened(holds, f"{label}: {means}; {said}."),
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
                figure(lead[base], name, metric): value
                for base, name, one in rows
                for metric, values in one.values.items()
                if (value := rounded(mean(values))) is not None
            },
        )

    def judged(self, expected: Expectation, found: Mapping[str, Measured]) -> tuple[bool, str]:
        """Whether what is expected of a base's variants came out, and the numbers that say so."""
        key = expected.metric or self.config.metric
        metric = self.metrics[key]
        sign = -1 if metric.more_is_better else 1
        values = {name: one.values[key] for name, one in found.items()}
        means = {name: mean(some) for name, some in values.items()}
        cost = {name: sign * value for name, value in means.items()}  # less is better
        other = min(cost, key=lambda name: cost[name]) if expected.than == BEST else expected.than
        came, told = {}, {}
        for name in expected.names:
            sides = [found[one].right.get(key) for one in (name, other)]
            if expected.factor is None and expected.each and sides[0] is not None and sides[1] is not None:
                apart = difference(sides[0], sides[1])
                worse, better, told[name] = apart.high < 0, apart.low > 0, str(apart)
            elif expected.factor is None:
                noise = 2 * max(spread(values[one]) or 0.0 for one in [other, *(expected.some or [name])])
                worse, better = cost[name] - cost[other] > noise, cost[other] - cost[name] > noise
                told[name] = f"{means[name] - means[other]:+.3f}, where {noise:.3f} is what seeds may make"
            else:
                more, less = (means[other], means[name]) if metric.more_is_better else (means[name], means[other])
                worse, better = more > expected.factor * less, less > expected.factor * more
                told[name] = f"{100 * (means[name] / means[other] - 1):+.1f} %" if means[other] else "no share"
            came[name] = {"worse": worse, "better": better, "as good": not worse}[expected.outcome]
        looked = expected.names
        if expected.some:
            looked = [min(came, key=lambda name: (not came[name], cost[name]))]
        against = f"the best, {self.shown(other)}," if expected.than == BEST else self.shown(other)
        of = "" if key == self.config.metric else f"{metric.label}, "
        said = "; ".join(f"{of}{self.shown(name)} against {against} {told[name]}" for name in looked)
        return (all if expected.each else any)(came.values()), said

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
