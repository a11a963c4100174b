"""The file of a claim: the training, the variants, the expectations; see `comparison`."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import Field, model_validator

from langladder.experiments.experiment import ExperimentConfig
from langladder.experiments.statistics import LEAST_SEEDS, Difference, Verdict
from langladder.ground.schema import Config, checked

BEST, BEFORE, BASELINE = "best", "the one before", "baseline"
"""What a variant can be compared with, besides another variant: the best of the others, the previous one in the list,
and the baseline, which is the result of counting or guessing."""
TRAINING = {"optimizer", "lr", "muon_lr", "betas", "eps", "weight_decay", "schedule", "warmup_steps", "min_lr", "decay"}
TRAINING |= {"decay_steps", "max_steps", "clip_norm", "label_smoothing"}
TRAINING |= {"batch_size", "sequence_length", "batch_tokens"}
"""The settings of training that `claims.training` reads."""


class Metric(NamedTuple):
    """A metric of a trained network: its column and axis, and whether higher is better.

    Attributes:
        along: for a curve, the name of its positions; a curve has a plot for each base, and no column.
        log: the axes of that plot with a logarithmic scale.
        clock: whether it depends on the machine's speed; only `Comparison.timed` uses such metrics.
        of_runs: whether it is 0 or 1 of each run, so that its mean is a share of the runs.
    """

    label: str
    more_is_better: bool = False
    drawn: bool = True
    along: str = ""
    log: Literal["", "x", "y", "xy"] = ""
    clock: bool = False
    of_runs: bool = False

    @property
    def scalar(self) -> bool:
        """Whether the metric has a column."""
        return not self.along and not self.clock


class Expectation(Config):
    """An expectation: each of some variants, or at least one of them, is better than, worse than or as good as another.

    Attributes:
        of: the bases of this expectation; none: all.
        than: a variant, best, the one before, baseline, another base (its same variant), or a number.
        margin: the smallest difference that counts, in units of the metric. factor: or the smallest ratio.
        metric: a metric other than the comparison's.
    """

    of: list[str] = Field(default=[])
    each: list[str] = Field(default=[])
    some: list[str] = Field(default=[])
    outcome: Literal["better", "worse", "as good", "no better"] = Field(alias="is")
    than: str | float
    margin: float | None = Field(default=None, ge=0)
    factor: float | None = Field(default=None, ge=1)
    metric: str | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.each) == bool(self.some):
            raise ValueError(f"each={self.each}, some={self.some}: list variants in one of the two")
        if (self.margin is None) == (self.factor is None):
            raise ValueError(f"margin={self.margin}, factor={self.factor}: set exactly one of the two")
        return self

    @property
    def names(self) -> list[str]:
        """The variants of the expectation."""
        return self.each or self.some

    def judged(self, gain: Difference) -> Verdict:
        """gain: the variant's difference, positive if it is better; a difference of logarithms if a factor is set."""
        by = self.margin if self.factor is None else math.log(self.factor)
        assert by is not None
        gain = gain if self.outcome in ("better", "as good") else -gain
        return gain.exceeds(by) if self.outcome in ("better", "worse") else gain.within(by)


class ComparisonConfig(ExperimentConfig):
    """Settings of `Comparison`; subclasses define the networks, the training and the metrics."""

    VARIANT: ClassVar[type[Config]] = Config
    """The possible settings of a variant, checked before anything runs."""
    bases: list[Any] = Field(min_length=1)
    variants: dict[str, dict[str, object]] = Field(default={})
    vary: dict[str, list[Any]] = Field(default={})
    what: str = "variant"  # the title of the varied quantity in reports
    metric: str
    expect: list[Expectation] = Field(min_length=1)
    given: list[Expectation] = Field(default=[])  # conditions for a verdict
    timed: list[Expectation] = Field(default=[])  # expectations of timed metrics, with a separate verdict
    baseline: dict[str, float] = Field(default={})  # metric → the result of guessing, if it is known in advance
    seeds: int = Field(default=LEAST_SEEDS, ge=1, le=100)  # settings of all variants' networks

    def changes(self) -> dict[str, dict[str, object]]:
        """Variant → its settings; those of `vary` are named after the first setting's values."""
        if self.variants:
            return self.variants
        rows = zip(*self.vary.values(), strict=True)
        return {str(row[0]): dict(zip(self.vary, row, strict=True)) for row in rows}

    @model_validator(mode="after")
    def _can_be_compared(self) -> Self:
        if bool(self.variants) == bool(self.vary):
            raise ValueError("give either variants (name: settings) or vary (setting: values)")
        lengths = {key: len(values) for key, values in self.vary.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"vary: every setting needs the same number of values; got {lengths}")
        names, count = list(self.changes()), next(iter(lengths.values()), len(self.variants))
        if len(names) < max(2, count):
            raise ValueError(f"{'vary' if self.vary else 'variants'}={names}: give two or more different ones")
        for key in ("expect", "given", "timed"):
            for expected in getattr(self, key):
                self._known(key, expected, names)
        for base in self.bases:
            self._check(base)
        return self

    def metrics(self) -> tuple[str, ...]:
        """The metrics that an expectation can use."""
        return get_args(type(self).model_fields["metric"].annotation)

    def _known(self, key: str, expected: Expectation, names: list[str]) -> None:
        """Check that everything named in an expectation exists."""
        bases, special = list(map(str, self.bases)), [BEST, BEFORE, BASELINE]
        if unknown := set(expected.of) - set(bases):
            raise ValueError(f"{key}: of={sorted(unknown)} is not one of the bases; allowed: {', '.join(bases)}")
        than = {expected.than} if isinstance(expected.than, str) else set()
        if unknown := (set(expected.names) - set(names)) | (than - {*names, *special, *bases}):
            allowed = f"{', '.join(names)}, than: {', '.join(special)}, one of the bases or a number"
            raise ValueError(f"{key}: {sorted(unknown)} is not a variant; allowed: {allowed}")
        if expected.metric is not None and expected.metric not in self.metrics():
            raise ValueError(f"{key}: metric={expected.metric!r} is not allowed: one of {', '.join(self.metrics())}")
        if expected.than in expected.names or (expected.than == BEFORE and names[0] in expected.names):
            raise ValueError(f"{key}: {expected.than!r} is compared with itself")

    def _check(self, base: Any) -> None:
        """Check that every variant's settings exist and are compatible."""
        for name, change in self.changes().items():
            checked(self.VARIANT, change, f"{base}, {name}")


class NetworkComparisonConfig(ComparisonConfig):
    """Settings of a comparison with variants of the network and its training."""

    TRAINED: ClassVar[frozenset[str]] = frozenset(TRAINING)
    """The training settings that a variant can change."""
    model: dict[str, object] = Field(default={})  # settings of the network that all variants have

    def small(self, base: Any) -> tuple[Any, dict[str, object]]:
        """Class and settings of a base."""
        raise NotImplementedError

    def training(self, **changes: object) -> Config:
        """The training of a network, with changes to single settings."""
        raise NotImplementedError

    def variant(self, base: Any, change: Mapping[str, object]) -> tuple[Any, dict[str, object], dict[str, object]]:
        """The network's class, all of its settings, and the changes to its training."""
        kind, settings = self.small(base)
        own = {key: value for key, value in change.items() if key in kind.Config.model_fields}
        return kind, settings | self.model | own, {key: change[key] for key in change if key not in own}

    def _check(self, base: Any) -> None:
        own = self.small(base)[0].Config.model_fields
        training = self.TRAINED & set(type(self.training()).model_fields)
        for name, change in {"model": self.model, **self.changes()}.items():
            allowed = sorted({*own} if change is self.model else {*own, *training})
            if unknown := [key for key in change if key not in allowed]:
                raise ValueError(f"{name}: {unknown[0]!r} is not a setting of {base}; allowed: {', '.join(allowed)}")
        for name, change in self.changes().items():
            kind, settings, trained = self.variant(base, change)
            checked(kind.Config, settings, f"{base}, {name}")
            self.training(**trained)
