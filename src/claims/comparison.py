"""The common form of most claims: some networks, one change at a time, the same number of steps, several seeds.

A file in claims/conf/claim defines it, and the results that would refute it:

    bases: [transformer]                                       the trained networks
    variants: {whole: {}, no positions: {positions: none}}     the variants, by name; or, for numbers,
    vary: {heads: [1, 2, 4, 8]}                                settings and their parallel values
    expect: [{each: [no positions], is: worse, than: whole, margin: 0.02}]
    given: [{each: [whole], is: better, than: 0.5, margin: 0}] else there is no verdict

This gives the table, the plots, the differences with their intervals, the verdict and the sentence; a subclass defines
the measurements of one base, variant and seed. Networks of the same seed are compared in pairs, over seeds and, if
values per test text are kept, over texts (`statistics`): with d = m₁ − m₂ and a `margin`, the smallest difference that
counts, or with d = ln m₁ − ln m₂ and the logarithm of a `factor`. With `some`, the best of several variants is
selected, so each interval is wider, and all of them hold together with 95 % probability (Bonferroni). A run whose value
is not a number (it has diverged) is left out of means and pairs, and is counted.

There is no verdict if the networks have not learnt. The side that is expected to be at least as good (`than`, or the
best variant if a variant should be better) must be better than the baseline, including its interval. The baseline
(`Comparison.levels`) is the result of counting or guessing; a comparison with a network that has not learnt is
meaningless. If something is compared with the baseline itself, `given` defines what must have been learnt.

Shape legend: S seeds, N test texts.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from claims.declaration import BASELINE, BEFORE, BEST, ComparisonConfig, Expectation, Metric
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, Shown, figure, lines, opened, rounded, series
from langladder.experiments.statistics import (
    CONFIDENCE,
    Difference,
    Verdict,
    above,
    below,
    difference,
    every,
    finite,
    gated,
    mean,
    some,
    spread,
)

LEAST = 1e-12
"""Lower limit of a metric whose logarithm is taken."""
MANY = 8
"""Above this number of means, a sentence only lists those with an expectation."""


class Measured(NamedTuple):
    """Networks that differ only in the seed.

    Attributes:
        parameters: of each; 0: not shown.
        values: metric → one value per seed.
        items: metric → (S, N), for the S networks and N test texts, if values per text are kept.
        curves: metric → position → one value per seed.
    """

    parameters: int
    values: Mapping[str, list[float]]
    items: Mapping[str, np.ndarray] = {}
    curves: Mapping[str, Mapping[Any, list[float]]] = {}

    def mean(self, metric: str) -> float:
        """The mean over the seeds whose value is a number."""
        return mean(finite(self.values[metric]) or [math.nan])

    def spread(self, metric: str) -> float | None:
        """The standard deviation between the seeds whose value is a number."""
        return spread(finite(self.values[metric]))

    def sides(self, metric: str) -> Any:
        """The compared values: (S, N) if values per text are kept, else (S,)."""
        return self.items.get(metric, self.values[metric])


C = TypeVar("C", bound=ComparisonConfig)
Found = Mapping[str, Mapping[str, Measured]]
"""Title of a base → variant → measurements."""
Levels = Mapping[str, float]
"""Metric → its baseline: the result of counting or guessing."""
Values = Mapping[str, float | np.ndarray | Mapping[Any, float]]
"""Metric → value; or (N,) values per test text, whose mean is the value; or for a curve, position → value."""
Change = Mapping[str, Any]
"""The settings of a variant, checked by the class of the network or by `VARIANT`."""
Scored = tuple[int, Values]
"""Parameters of a trained network, and its measurements."""
Measure = Callable[[Any, Change, int], Scored]
"""Base, settings of the variant, seed → measurements."""


class Comparison(Experiment[C]):
    """Each base with each variant of its settings, one network per seed."""

    metrics: ClassVar[dict[str, Metric]]
    titles: Mapping[Any, str] = {}
    """Base → its title, if it differs from its name."""

    @abstractmethod
    def measure(self, data: Data, seeds: range) -> Measure:
        """The function that trains and measures one network; `seeds` are all seeds that will be used."""

    def levels(self, data: Data) -> Levels:
        """Metric → the result of counting (words or labels, or n-grams) or guessing; a trained network must beat it."""
        del data
        return {}

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config, seeds = self.config, range(seed, seed + self.config.fewer(self.config.seeds))
        measure = self.measure(data, seeds)
        found: dict[str, dict[str, Measured]] = {self.title(base): {} for base in config.bases}
        for base, by in zip(config.bases, found.values(), strict=True):
            for name, change in config.changes().items():
                outcomes = [measure(base, change, number) for number in seeds]
                by[name] = gathered([values for _, values in outcomes], self.metrics, outcomes[0][0])
                summary = ", ".join(f"{self.metrics[key].label} {by[name].mean(key):.3f}" for key in self._columns())
                progress(f"{self.title(base)}, {self.variant_title(name)}: {summary}")
        return self.findings(found, self.levels(data))

    def title(self, base: Any) -> str:
        """The title of a base."""
        return self.titles.get(base, str(base))

    def variant_title(self, variant: str) -> str:
        """The title of a variant: its name; for numbers also their quantity."""
        return f"{self.config.what} {variant}" if self._numbers() else variant

    def findings(self, found: Found, levels: Levels | None = None) -> Findings:
        """The claim holds if all expectations hold for every base, and all bases have learned."""
        config, columns, levels = self.config, self._columns(), {**self.config.baseline, **(levels or {})}
        fields = self._fields(
            found, config.expect, [config.metric, *(key for key in columns if key != config.metric)], levels
        )
        figures = {
            figure(self._lead(base), name, metric): mean(one.values[metric])
            for base, by in found.items()
            for name, one in by.items()
            for metric in columns
        }
        return Findings(**fields, figures=figures, timed=self.timed(found))

    def timed(self, found: Found) -> Shown | None:
        """The results of timed metrics, which depend on the machine's speed; None: none."""
        clock = [key for key, metric in self.metrics.items() if metric.clock]
        return Shown(**self._fields(found, self.config.timed, clock, {})) if self.config.timed else None

    def _fields(
        self, found: Found, expect: Sequence[Expectation], columns: list[str], levels: Levels
    ) -> dict[str, Any]:
        """The fields of `Shown`: a table of these metrics; the first one is in the sentence."""
        key, label = columns[0], self.metrics[columns[0]].label
        expected = [
            self.judged(one, found[base], found, levels, lead=self._lead(base)) for base, one in self._each(expect)
        ]
        verdict = every(one for one, _ in expected)
        if expect is self.config.expect:
            verdict = gated(self._gates(found, levels), verdict)
        rows = [(base, name, one) for base, by in found.items() for name, one in by.items()]
        means = [
            f"{self._lead(base)}{_number(one.mean(key))} ({self.variant_title(name)})"
            for base, name, one in rows
            if len(rows) <= MANY or name in self._looked_at(base, expect)
        ]
        lost = [sum(not math.isfinite(value) for value in one.values[key]) for *_, one in rows]
        left_out = f"; {sum(lost)} of {sum(len(one.values[key]) for *_, one in rows)} runs have no {label}"
        sized = any(one.parameters for *_, one in rows)
        return {
            **opened(
                verdict,
                f"{label}: {', '.join(means)}; {'; '.join(text for _, text in expected)}{left_out * any(lost)}.",
            ),
            "columns": ["network", self.config.what, *["parameters"] * sized, label, "± between seeds"]
            + [self.metrics[one].label for one in columns[1:]]
            + ["runs left out"] * any(lost),
            "rows": [
                [base, name, *[float(one.parameters)] * sized, rounded(one.mean(key)), rounded(one.spread(key))]
                + [rounded(one.mean(other)) for other in columns[1:]]
                + [float(missing)] * any(lost)
                for (base, name, one), missing in zip(rows, lost, strict=True)
            ],
            "plots": [
                plot
                for key, metric in self.metrics.items()
                if key in columns or (metric.along and expect is self.config.expect)
                for plot in self._plots(key, found, levels)
            ],
        }

    def judged(
        self,
        expected: Expectation,
        by: Mapping[str, Measured],
        found: Found | None = None,
        levels: Levels | None = None,
        lead: str = "",
    ) -> tuple[Verdict, str]:
        """The expectations for a base's variants, and the numbers that decide them.

        Args:
            found, levels: the measurements and levels to compare with.
            lead: the title of the base, a prefix of each comparison.
        """
        key = expected.metric or self.config.metric
        metric = self.metrics[key]
        of = "" if key == self.config.metric else f"{metric.label}, "
        verdicts, texts = {}, {}
        for name in expected.names:
            other, against = self._other(expected, name, by, found or {}, levels or {})
            gain = self._gain(by[name], other, key, expected)
            text = f"{lead}{of}{self.variant_title(name)} against {against}"
            verdicts[name] = expected.judged(gain._replace(what=text))
            points = key in by[name].items and by[name].items[key].dtype == bool
            texts[name] = f"{text} {_statement(gain if metric.more_is_better else -gain, expected, points=points)}"
        named = expected.each or [min(verdicts, key=lambda name: (not verdicts[name].holds, self._cost(by[name], key)))]
        return (every if expected.each else some)(verdicts.values()), "; ".join(texts[name] for name in named)

    def _lead(self, base: str) -> str:
        """The title of a base as a prefix, if there are several bases."""
        return f"{base} " if len(self.config.bases) > 1 else ""

    def _columns(self) -> list[str]:
        """The metrics that have a column."""
        return [key for key, metric in self.metrics.items() if metric.scalar]

    def _each(self, expected: Iterable[Expectation]) -> Iterator[tuple[str, Expectation]]:
        """Title of a base, and its expectation."""
        for base in self.config.bases:
            yield from ((self.title(base), one) for one in expected if not one.of or str(base) in one.of)

    def _looked_at(self, base: str, expect: Iterable[Expectation]) -> set[str]:
        """The variants of a base with an expectation, and those that they are compared with."""
        names, found = list(self.config.changes()), set[str]()
        for title, expected in self._each(expect):
            if title == base:
                found |= {*expected.names, str(expected.than)}
                found |= {names[names.index(name) - 1] for name in expected.names if expected.than == BEFORE}
                found |= set(names) if expected.than == BEST else set()
        return found

    def _cost(self, one: Measured, key: str) -> float:
        """The mean with the sign that makes lower better; infinite if a network has diverged."""
        value = mean(one.values[key])
        return math.inf if math.isnan(value) else -value if self.metrics[key].more_is_better else value

    def _other(
        self, expected: Expectation, name: str, by: Mapping[str, Measured], found: Found, levels: Levels
    ) -> tuple[Measured | float, str]:
        """The other side of a comparison, and its title."""
        than, key, names = expected.than, expected.metric or self.config.metric, list(by)
        if isinstance(than, float | int):
            return float(than), f"{than:g}"
        if than == BASELINE:
            return levels[key], f"{BASELINE}, {_number(levels[key])},"
        if than == BEFORE:
            than = names[names.index(name) - 1]
        elif than == BEST:
            than = min(names, key=lambda one: self._cost(by[one], key))
            return by[than], f"the best, {self.variant_title(than)},"
        elif than not in by:
            base = next(self.title(base) for base in self.config.bases if str(base) == than)
            return found[base][name], base
        return by[than], self.variant_title(than)

    def _gain(self, one: Measured, other: Measured | float, key: str, expected: Expectation) -> Difference:
        """The difference between two variants; positive if the first is better."""
        sides = [one.sides(key), other.sides(key) if isinstance(other, Measured) else other]
        unequal = isinstance(other, Measured) and (key in one.items) != (key in other.items)
        if isinstance(other, Measured) and (unequal or expected.factor is not None):
            sides = [side.values[key] for side in (one, other)]
        if expected.factor is not None:
            sides = [np.log(np.maximum(side, LEAST)) for side in (one.values[key], sides[1])]
        if not self.metrics[key].more_is_better:
            sides.reverse()
        return difference(sides[0], sides[1], 1 - (1 - CONFIDENCE) / max(1, len(expected.some)))

    def _gates(self, found: Found, levels: Levels) -> Iterator[Verdict]:
        """The conditions of a verdict: those in `given`, and that the networks have learned."""
        config = self.config
        for base, condition in self._each(config.given):
            verdict, text = self.judged(condition, found[base], found, levels, lead=self._lead(base))
            lacking = f"; {verdict.reason}" if verdict.reason else ""
            yield Verdict(verdict.holds or None, f"{text}, where {condition.outcome} is needed{lacking}")
        compared = {one.metric or config.metric for one in (*config.expect, *config.given) if one.than == BASELINE}
        for base, expected in self._each(config.expect):
            named = expected.than in found[base] and expected.outcome != "better"
            for key in (one for one in levels if one not in compared):
                yield self._has_learnt(
                    found[base], str(expected.than) if named else None, key, levels[key], self._lead(base)
                )

    def _has_learnt(
        self, found: Mapping[str, Measured], name: str | None, key: str, level: float, lead: str = ""
    ) -> Verdict:
        """Whether a variant of a base, or its best one, beats a level of a metric."""
        metric = self.metrics[key]
        name = min(found, key=lambda one: self._cost(found[one], key)) if name is None else name
        gate, what = above if metric.more_is_better else below, f"{lead}{self.variant_title(name)}"
        return gate(found[name].sides(key), level, f"{what} has not learnt: its {metric.label}")

    def _numbers(self) -> list[float]:
        """The varied quantity, if it is numeric."""
        values = next(iter(self.config.vary.values()), [])
        return values if all(isinstance(value, int | float) for value in values) else []

    def _plots(self, key: str, found: Found, levels: Levels) -> Iterator[Plot]:
        """Plots of a metric over the variants, a line per base; for a curve a plot per base, a line per variant."""
        metric, what = self.metrics[key], self.config.what
        if metric.along:
            for base, by in found.items():
                of = f", {base}" if len(found) > 1 else ""
                drawn = {name: one.curves[key] for name, one in by.items() if one.curves.get(key)}
                if "y" in metric.log:
                    drawn = {name: _positive(curve) for name, curve in drawn.items()}
                if not drawn:
                    continue
                yield Plot(
                    title=f"{metric.label} by {metric.along}{of}",
                    x_label=metric.along,
                    y_label=f"{metric.label}{of}",
                    log_x="x" in metric.log,
                    log_y="y" in metric.log,
                    series=lines({self.variant_title(name): curve for name, curve in drawn.items()}),
                )
        elif metric.drawn or key in {one.metric for one in self.config.expect}:
            names, numbers = list(self.config.changes()), self._numbers()
            means = finite([one.mean(key) for by in found.values() for one in by.values()])
            yield Plot(
                title=f"{metric.label} by {what}",
                x_label=what,
                y_label=metric.label,
                log_x=min(numbers, default=0) > 0,
                log_y=max(means, default=0.0) > 4 * min(means, default=0.0) > 0,
                levels={BASELINE: levels[key]} if key in levels else {},
                series=[
                    series(
                        base,
                        numbers or names,
                        [by[name].mean(key) for name in names],
                        [by[name].spread(key) for name in names],
                    )
                    for base, by in found.items()
                ],
            )


def gathered(values: Sequence[Values], metrics: Iterable[str], parameters: int) -> Measured:
    """The measurements of a variant's networks, from the `Values` of each."""
    items, found, curves = dict[str, np.ndarray](), dict[str, list[float]](), dict[str, dict[Any, list[float]]]()
    for metric in metrics:
        kept: list[Any] = [one[metric] for one in values if metric in one]
        if kept and isinstance(kept[0], Mapping):
            curves[metric] = {point: [one[point] for one in kept if point in one] for point in kept[0]}
            continue
        if kept and isinstance(kept[0], np.ndarray):
            items[metric] = np.stack(kept)  # (S, N)
        found[metric] = [float(np.mean(one)) for one in kept]
    return Measured(parameters, found, items, curves)


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "none"
    if 0 < abs(value) < 0.001:
        return f"{value:.1e}"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"


def _positive(curve: Mapping[Any, list[float]]) -> dict[Any, list[float]]:
    """The value for a log axis."""
    return {index: [value if value > 0 else math.nan for value in values] for index, values in curve.items()}


def _statement(apart: Difference, expected: Expectation, *, points: bool) -> str:
    """A difference as text, in points for shares."""
    if expected.factor is not None:
        middle, low, high = (f"{100 * (math.exp(min(value, 700.0)) - 1):+.1f}" for value in apart[:3])
        return f"{middle} % ({low} to {high})" if math.isfinite(apart.low) else f"{middle} % (one seed)"
    if points:
        return str(apart)
    if not math.isfinite(apart.low):
        return f"{apart.mean:+.3f} (one seed)"
    return f"{apart.mean:+.3f} ({apart.low:+.3f} to {apart.high:+.3f})"
