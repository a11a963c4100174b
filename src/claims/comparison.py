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
selected, and with `than: best` the best of the others, so each interval is wider, and all of them hold together with
95 % probability (`statistics`). A run whose value is not a number (it has diverged) is left out of means and pairs, and
is counted.

An expectation has no verdict if its networks have not learnt. The side that is expected to be at least as good (`than`,
or the best variant if a variant should be better) must be better than the baseline, including its interval. The
baseline (`Comparison.levels`) is the result of counting or guessing; a comparison with a network that has not learnt is
meaningless. If something is compared with the baseline itself, `given` defines what must have been learnt. A condition
guards the expectations of its base, and those that compare another base with it; the other ones are judged.

The sentence has the differences that decide, at most DECIDING of them; the table has all means, `rests_on` all
differences.

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
    from_best,
    gated,
    mean,
    of_shares,
    some,
    spread,
)

LEAST = 1e-12
"""Lower limit of a metric whose logarithm is taken."""
DECIDING = 3
"""Maximum number of differences in a sentence."""


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


class Figure(NamedTuple):
    """A difference in words: both sides, how far they are apart, with an interval.

    Attributes:
        variant: the name of the first side. label: of the metric.
        text: both sides with their means, and the difference, from the lower to the higher one.
        verdict: of the expectation for this variant. sure: the difference in half intervals, in favour of the claim.
    """

    variant: str
    label: str
    text: str
    verdict: Verdict
    sure: float


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
    remark = ""
    """The end of the sentence: what was measured otherwise than requested."""

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
        measured: dict[str, dict[str, Measured]] = {self.title(base): {} for base in config.bases}
        for base, by in zip(config.bases, measured.values(), strict=True):
            for name, change in config.changes().items():
                outcomes = [measure(base, change, number) for number in seeds]
                by[name] = gathered([values for _, values in outcomes], self.metrics, outcomes[0][0])
                summary = ", ".join(f"{self.metrics[key].label} {by[name].mean(key):.3f}" for key in self._columns())
                progress(f"{self.title(base)}, {self.variant_title(name)}: {summary}")
        return self.findings(measured, self.levels(data))

    def title(self, base: Any) -> str:
        """The title of a base."""
        return self.titles.get(base, str(base))

    def variant_title(self, variant: str) -> str:
        """The title of a variant: its name; for numbers also their quantity."""
        return f"{self.config.what} {variant}" if self._numbers() else variant

    def findings(self, measured: Found, levels: Levels | None = None) -> Findings:
        """The claim holds if all expectations hold for every base; it is refuted if one is refuted."""
        config, columns, levels = self.config, self._columns(), {**self.config.baseline, **(levels or {})}
        fields = self._fields(
            measured, config.expect, [config.metric, *(key for key in columns if key != config.metric)], levels
        )
        figures = {
            figure(self._lead(base), name, metric): mean(measure.values[metric])
            for base, by in measured.items()
            for name, measure in by.items()
            for metric in columns
        }
        return Findings(**fields, figures=figures, timed=self.timed(measured))

    def timed(self, measured: Found) -> Shown | None:
        """The results of timed metrics, which depend on the machine's speed; None: none."""
        clock = [key for key, metric in self.metrics.items() if metric.clock]
        return Shown(**self._fields(measured, self.config.timed, clock, {})) if self.config.timed else None

    def _fields(
        self, measured: Found, expect: Sequence[Expectation], columns: list[str], levels: Levels
    ) -> dict[str, Any]:
        """The fields of `Shown`: a table of these metrics, and the sentence of the expectations."""
        key, label = columns[0], self.metrics[columns[0]].label
        verdicts, figures = list[Verdict](), list[Figure]()
        for base, expected in self._each(expect):
            verdict, of_it = self.judged(expected, measured[base], measured, levels, lead=self._lead(base))
            if expect is self.config.expect:
                verdict = gated(self._gates(base, expected, measured, levels), verdict)
            verdicts.append(verdict)
            figures += of_it
        verdict = every(verdicts)
        rows = [(base, name, measure) for base, by in measured.items() for name, measure in by.items()]
        lost = [sum(not math.isfinite(value) for value in measure.values[key]) for *_, measure in rows]
        left_out = f"; {sum(lost)} of {sum(len(measure.values[key]) for *_, measure in rows)} runs have no {label}"
        sized = any(measure.parameters for *_, measure in rows)
        return {
            **opened(verdict, f"{sentence(figures, verdict)}{left_out * any(lost)}{self.remark}."),
            "columns": ["network", self.config.what, *["parameters"] * sized, label, "± between seeds"]
            + [self.metrics[metric].label for metric in columns[1:]]
            + ["runs left out"] * any(lost),
            "rows": [
                [base, name, *[float(row.parameters)] * sized, rounded(row.mean(key)), rounded(row.spread(key))]
                + [rounded(row.mean(other)) for other in columns[1:]]
                + [float(missing)] * any(lost)
                for (base, name, row), missing in zip(rows, lost, strict=True)
            ],
            "plots": [
                plot
                for key, metric in self.metrics.items()
                if key in columns or (metric.along and expect is self.config.expect)
                for plot in self._plots(key, measured, levels)
            ],
        }

    def judged(
        self,
        expected: Expectation,
        by: Mapping[str, Measured],
        measured: Found | None = None,
        levels: Levels | None = None,
        lead: str = "",
    ) -> tuple[Verdict, list[Figure]]:
        """The expectations for a base's variants, and the differences that decide them.

        Args:
            measured, levels: the measurements and levels to compare with.
            lead: the title of the base, a prefix of each comparison.
        """
        key = expected.metric or self.config.metric
        metric = self.metrics[key]
        of = "" if key == self.config.metric else f"{metric.label}, "
        figures = dict[str, Figure]()
        for name in expected.names:
            gain, against, level = self._against(expected, name, by, measured or {}, levels or {})
            what = f"{lead}{self.variant_title(name)}"
            verdict = expected.judged(gain._replace(what=f"{of}{what} against {against}"))
            points = key in by[name].items and by[name].items[key].dtype == bool
            other = f"{level} ({against})" if level else against
            sides = f"{_number(by[name].mean(key))} ({what}) against {other}"
            favour = -1 if expected.outcome in ("worse", "no better") else 1
            figures[name] = Figure(
                name,
                metric.label,
                f"{sides}, {_distance(gain, expected, points=points)}",
                verdict,
                favour * gain.mean / gain.half if gain.half else math.inf,
            )
        verdicts = {name: entry.verdict for name, entry in figures.items()}
        named = expected.each or [min(verdicts, key=lambda name: (not verdicts[name].holds, self._cost(by[name], key)))]
        return (every if expected.each else some)(verdicts.values()), [figures[name] for name in named]

    def _lead(self, base: str) -> str:
        """The title of a base as a prefix, if there are several bases."""
        return f"{base} " if len(self.config.bases) > 1 else ""

    def _columns(self) -> list[str]:
        """The metrics that have a column."""
        return [key for key, metric in self.metrics.items() if metric.scalar]

    def _each(self, expected: Iterable[Expectation]) -> Iterator[tuple[str, Expectation]]:
        """Title of a base, and its expectation."""
        for base in self.config.bases:
            yield from (
                (self.title(base), expectation)
                for expectation in expected
                if not expectation.of or str(base) in expectation.of
            )

    def _cost(self, measured: Measured, key: str) -> float:
        """The mean with the sign that makes lower better; infinite if a network has diverged."""
        value = mean(measured.values[key])
        return math.inf if math.isnan(value) else -value if self.metrics[key].more_is_better else value

    def _against(
        self, expected: Expectation, name: str, by: Mapping[str, Measured], measured: Found, levels: Levels
    ) -> tuple[Difference, str, str]:
        """The gain of a variant over the other side; the title of the other side, and its mean."""
        than, key, names = expected.than, expected.metric or self.config.metric, list(by)
        chosen = max(1, len(expected.some))
        if isinstance(than, float | int):
            return self._gain(by[name], float(than), key, expected, chosen), f"{than:g}", ""
        if than == BASELINE:
            return self._gain(by[name], levels[key], key, expected, chosen), f"the {BASELINE}", _number(levels[key])
        if than == BEST:
            others = [entry for entry in names if entry != name and math.isfinite(self._cost(by[entry], key))]
            others = others or [entry for entry in names if entry != name]
            gains = [self._gain(by[name], by[other], key, expected, chosen * len(others)) for other in others]
            best = others[min(range(len(others)), key=lambda index: gains[index].mean)]
            return from_best(gains), f"the best of the others, {self.variant_title(best)}", _number(by[best].mean(key))
        if than == BEFORE:
            than = names[names.index(name) - 1]
        title, other = self.variant_title(than), by.get(than)
        if other is None:
            title = self._base_titles()[than]
            other = measured[title][name]
        return self._gain(by[name], other, key, expected, chosen), title, _number(other.mean(key))

    def _base_titles(self) -> dict[str, str]:
        """Name of a base → its title."""
        return {str(base): self.title(base) for base in self.config.bases}

    def _gain(
        self, measured: Measured, other: Measured | float, key: str, expected: Expectation, intervals: int
    ) -> Difference:
        """The difference between two variants, positive if the first is better; so many intervals hold together."""
        confidence = 1 - (1 - CONFIDENCE) / intervals
        sides: list[Any] = [measured.sides(key), other.sides(key) if isinstance(other, Measured) else other]
        if self.metrics[key].of_runs:
            return self._gain_of_runs(measured, other, key, confidence)
        unequal = isinstance(other, Measured) and (key in measured.items) != (key in other.items)
        if isinstance(other, Measured) and (unequal or expected.factor is not None):
            sides = [side.values[key] for side in (measured, other)]
        if expected.factor is not None:
            sides = [np.log(np.maximum(side, LEAST)) for side in (measured.values[key], sides[1])]
        if not self.metrics[key].more_is_better:
            sides.reverse()
        return difference(sides[0], sides[1], confidence)

    def _gain_of_runs(self, measured: Measured, other: Measured | float, key: str, confidence: float) -> Difference:
        """See `_gain`; for a metric that is 0 or 1 of each run."""
        sides = [
            (side.mean(key), len(side.values[key])) if isinstance(side, Measured) else (side, 0)
            for side in (measured, other)
        ]
        if not self.metrics[key].more_is_better:
            sides.reverse()
        return of_shares(sides[0], sides[1], confidence, seeds=len(measured.values[key]))

    def _gates(self, base: str, expected: Expectation, measured: Found, levels: Levels) -> Iterator[Verdict]:
        """The conditions of an expectation of a base: those in `given`, and that its networks have learned."""
        config = self.config
        compared_base = self._base_titles().get(str(expected.than)) if expected.than not in measured[base] else None
        for of, condition in self._each(config.given):
            if of in (base, compared_base):
                verdict, figures = self.judged(condition, measured[of], measured, levels, lead=self._lead(of))
                text = "; ".join(f"{entry.label}: {entry.text}" for entry in figures if not entry.verdict.holds)
                lacking = f"; {verdict.reason}" if verdict.reason else ""
                yield Verdict(verdict.holds or None, f"{text}, where {condition.outcome} is needed{lacking}")
        compared = {
            condition.metric or config.metric
            for condition in (*config.expect, *config.given)
            if condition.than == BASELINE
        }
        for key in (level for level in levels if level not in compared):
            if expected.outcome == "better" or not (compared_base or expected.than in measured[base]):
                yield self._has_learnt(measured[base], None, key, levels[key], self._lead(base))
            elif compared_base:
                for name in expected.names:
                    yield self._has_learnt(measured[compared_base], name, key, levels[key], self._lead(compared_base))
            else:
                yield self._has_learnt(measured[base], str(expected.than), key, levels[key], self._lead(base))

    def _has_learnt(
        self, measured: Mapping[str, Measured], name: str | None, key: str, level: float, lead: str = ""
    ) -> Verdict:
        """Whether a variant of a base, or its best one, beats a level of a metric."""
        metric = self.metrics[key]
        name = min(measured, key=lambda variant: self._cost(measured[variant], key)) if name is None else name
        gate, what = above if metric.more_is_better else below, f"{lead}{self.variant_title(name)}"
        return gate(measured[name].sides(key), level, f"{what} has not learnt: its {metric.label}")

    def _numbers(self) -> list[float]:
        """The varied quantity, if it is numeric."""
        values = next(iter(self.config.vary.values()), [])
        return values if all(isinstance(value, int | float) for value in values) else []

    def _plots(self, key: str, measured: Found, levels: Levels) -> Iterator[Plot]:
        """Plots of a metric over the variants, a line per base; for a curve a plot per base, a line per variant."""
        metric, what = self.metrics[key], self.config.what
        if metric.along:
            for base, by in measured.items():
                of = f", {base}" if len(measured) > 1 else ""
                drawn = {name: measure.curves[key] for name, measure in by.items() if measure.curves.get(key)}
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
        elif metric.drawn or key in {expectation.metric for expectation in self.config.expect}:
            names, numbers = list(self.config.changes()), self._numbers()
            means = finite([measure.mean(key) for by in measured.values() for measure in by.values()])
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
                    for base, by in measured.items()
                ],
            )


def gathered(values: Sequence[Values], metrics: Iterable[str], parameters: int) -> Measured:
    """The measurements of a variant's networks, from the `Values` of each."""
    items, results, curves = dict[str, np.ndarray](), dict[str, list[float]](), dict[str, dict[Any, list[float]]]()
    for metric in metrics:
        kept: list[Any] = [value[metric] for value in values if metric in value]
        if kept and isinstance(kept[0], Mapping):
            curves[metric] = {point: [curve[point] for curve in kept if point in curve] for point in kept[0]}
            continue
        if kept and isinstance(kept[0], np.ndarray):
            items[metric] = np.stack(kept)  # (S, N)
        results[metric] = [float(np.mean(losses)) for losses in kept]
    return Measured(parameters, results, items, curves)


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "none"
    if LEAST < abs(value) < 0.001:
        return f"{value:.1e}"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"


def _positive(curve: Mapping[Any, list[float]]) -> dict[Any, list[float]]:
    """The value for a log axis."""
    return {index: [value if value > 0 else math.nan for value in values] for index, values in curve.items()}


def sentence(figures: Sequence[Figure], verdict: Verdict) -> str:
    """The differences that decide a verdict: those with the same outcome, of these the least sure ones."""
    deciding = [entry for entry in figures if entry.verdict.holds is verdict.holds] or list(figures)
    chosen = sorted(deciding, key=lambda entry: entry.sure)[:DECIDING]
    by = dict[str, list[str]]()
    for entry in figures:
        if entry in chosen:
            by.setdefault(entry.label, []).append(entry.text)
    differences = [judged.difference for entry in chosen for judged in entry.verdict.rests_on]
    seeds = min((entry.seeds for entry in differences if entry.seeds is not None), default=0)
    many = f"{seeds} seeds, 95 % intervals" if seeds > 1 else "one seed"
    return "; ".join(f"{label}: {'; '.join(texts)}" for label, texts in by.items()) + f"; {many}"


def _distance(gain: Difference, expected: Expectation, *, points: bool) -> str:
    """How far two sides are apart, as text: a positive number, unless the interval contains 0; in points for shares."""
    ends: list[float] = list((gain if gain.mean >= 0 else -gain)[:3])
    unit = " %" if expected.factor is not None else " points" if points else ""
    if expected.factor is not None:
        ends = [math.exp(min(value, 700.0)) - 1 for value in ends]
    mean, low, high = (f"{100 * value:.1f}" if unit else _number(value) for value in ends)
    if not math.isfinite(gain.low):
        return f"{mean}{unit} apart"
    return f"{mean}{unit} apart{' in every seed' if gain.low == gain.high else f' ({low} to {high})'}"
