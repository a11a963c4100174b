"""The findings of an experiment: a sentence made from the measured numbers, a table, and plots as plain data.

This module does not draw; `reporting` does. Results that depend on the machine's speed (`timed`) are separate from
those that depend on the seed, because only the latter are the same in every run.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import BeforeValidator, Field, model_validator

from langladder.experiments.statistics import Verdict, finite, mean, spread
from langladder.ground.schema import Config

DIGITS = 6
"""Significant digits to keep; more than any of these measurements needs."""


def _measured(values: object) -> object:
    if not isinstance(values, dict):
        return values
    kept = {name: rounded(value) if isinstance(value, float) else value for name, value in values.items()}
    return {name: value for name, value in kept.items() if value is not None}


Numbers = Annotated[dict[str, float], BeforeValidator(_measured)]
"""Name → value, rounded; infinite values and NaN are left out, never replaced."""


class Series(Config):
    """One line or set of marks: x (N,) numbers or categories, y (N,) with None for missing values."""

    name: str
    x: list[float] | list[str]
    y: list[float | None]
    error: list[float | None] | None = None  # (N,) half the height of the error bars

    @model_validator(mode="after")
    def _one_y_an_x(self) -> Self:
        lengths = {len(self.x), len(self.y), len(self.x if self.error is None else self.error)}
        if len(lengths) > 1:
            raise ValueError(f"series {self.name!r}: x, y and error have different lengths {sorted(lengths)}")
        return self


class Plot(Config):
    """One drawing; all its series have numbers as x, or all have categories.

    Attributes:
        front: whether the report also shows it at the top, beside the ladder.
    """

    title: str
    x_label: str
    y_label: str
    series: list[Series]
    log_x: bool = False
    log_y: bool = False
    levels: Numbers = Field(default_factory=dict)  # horizontal lines to compare with: name → height
    front: bool = False


class GraphNode(Config):
    """One node of a computation graph: its value and gradient as text, and the names of its inputs."""

    name: str
    operation: str = ""
    value: str
    gradient: str
    parents: list[str] = Field(default_factory=list)


class Graph(Config):
    """A computation graph, each node after its inputs."""

    title: str
    caption: str
    nodes: list[GraphNode]

    @model_validator(mode="after")
    def _parents_come_first(self) -> Self:
        seen: set[str] = set()
        for node in self.nodes:
            if unknown := set(node.parents) - seen:
                raise ValueError(f"graph {self.title!r}: {node.name} uses {sorted(unknown)}, not defined before it")
            seen.add(node.name)
        if len(seen) < len(self.nodes):
            raise ValueError(f"graph {self.title!r}: two nodes have the same name")
        return self


Outcome = Literal["holds", "refuted", "not tested"]


class Compared(Config):
    """A difference on which a verdict is based; positive values support the claim.

    Attributes:
        what: the two compared sides; empty if the claim has only one comparison.
        low, high: of the 95 % interval; None: there is none, for example with one seed.
        seeds: the number of compared seeds; None: one model, with an interval over test items.
        least: the smallest difference that counts.
    """

    what: str = ""
    mean: float | None
    low: float | None
    high: float | None
    seeds: int | None
    least: float


class Shown(Config):
    """A sentence with its evidence; `holds`: whether the claim holds (None: not tested, with a reason)."""

    holds: bool | None
    reason: str = ""
    verdict: str
    rests_on: list[Compared] = Field(default_factory=list)
    columns: list[str]
    rows: list[list[str | float | None]]
    plots: list[Plot]
    graphs: list[Graph] = Field(default_factory=list)

    @model_validator(mode="after")
    def _rows_fit_columns(self) -> Self:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table: every row has {len(self.columns)} cells ({', '.join(self.columns)})")
        return self

    @property
    def outcome(self) -> Outcome:
        """The verdict in a word."""
        return "not tested" if self.holds is None else "holds" if self.holds else "refuted"

    @property
    def found(self) -> str:
        """The sentence of the numbers, without the verdict."""
        return self.verdict.removeprefix(opening(Verdict(self.holds, self.reason)))

    def untested(self, reason: str) -> dict[str, object]:
        """The changes for `model_copy` if these numbers must not give a verdict."""
        return {**opened(Verdict(None, reason), self.found), "rests_on": self.rests_on}


class Findings(Shown):
    """The findings of an experiment; `figures` go to the metrics."""

    figures: Numbers  # see `figure`
    timed: Shown | None = None  # results that depend on the machine's speed, never in a file that DVC hashes

    @model_validator(mode="after")
    def _figures_can_be_tracked(self) -> Self:
        if odd := [name for name in self.figures if not re.fullmatch(r"[\w\-.]+", name, re.ASCII)]:
            raise ValueError(
                f"figures: {odd}: only letters, digits, _, - and . are allowed, because tracking servers refuse others"
            )
        return self


def figure(*parts: str) -> str:
    """The name of a figure from titles: `figure("Kneser–Ney", "with all")` is kneser_ney_with_all."""
    return re.sub(r"[^a-z0-9]+", "_", " ".join(parts).lower()).strip("_")


def curves(results: Shown) -> list[dict[str, float]]:
    """Plots with whole numbers as x (labels, examples, parameters, steps), as rows of learning curves.

    Each row has the position as `step`, and `<plot>/<series>`, both named as in `figure`; duplicates get a number.
    """
    rows: list[dict[str, float]] = []
    names: set[str] = set()
    for plot in results.plots:
        xs = [x for line in plot.series for x in line.x]
        if any(isinstance(x, str) or x < 0 or not float(x).is_integer() for x in xs):
            continue
        for line in plot.series:
            name = plain = f"{figure(plot.title)}/{figure(line.name)}"
            while name in names:
                name = f"{plain}_{len(names)}"
            names.add(name)
            points = zip([float(x) for x in line.x], line.y, strict=True)
            result: list[dict[str, float]] = [{"step": x, name: y} for x, y in points if y is not None]
            rows += result if len(result) > 1 else []
    return rows


def series(
    name: str,
    x: Sequence[float] | Sequence[str],
    y: Iterable[float | None],
    error: Iterable[float | None] | None = None,
) -> Series:
    """A series with rounded numbers, without infinite values and NaN."""
    xs: list[float] | list[str] = [str(value) for value in x] if _names(x) else [float(value) for value in x]
    return Series(name=name, x=xs, y=list(map(rounded, y)), error=None if error is None else list(map(rounded, error)))


def _names(x: Sequence[float] | Sequence[str]) -> bool:
    return bool(len(x)) and isinstance(x[0], str)


def rounded(value: float | None) -> float | None:
    """To DIGITS significant digits; None for infinite values and NaN."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{DIGITS}g}")


class Opened(TypedDict):
    """The fields of `Shown` for a verdict."""

    holds: bool | None
    reason: str
    verdict: str
    rests_on: list[Compared]


Grid = Mapping[str, Mapping[Any, Sequence[float]]]
"""The usual measurements: title of a line → position on x → one value per seed."""


def lines(grid: Grid) -> list[Series]:
    """One line each: means over the seeds, with their spread."""
    return [series(name, list(by), map(mean, by.values()), _spreads(by.values())) for name, by in grid.items()]


def _spreads(values: Iterable[Sequence[float]]) -> list[float | None] | None:
    spreads = [spread(finite(some)) for some in values]
    return None if all(value is None for value in spreads) else spreads


def opening(verdict: Verdict) -> str:
    """The beginning of its sentence."""
    if verdict.holds is None:
        return f"Not tested ({verdict.reason}): "
    return "It holds: " if verdict.holds else "It is refuted here: "


def opened(verdict: Verdict, text: str) -> Opened:
    """A verdict, and the sentence with its numbers, which begins with the verdict: `Findings(**opened(verdict, …),
    …)`."""
    rests_on = [
        Compared(
            what=difference.what,
            mean=rounded(difference.mean),
            low=rounded(difference.low),
            high=rounded(difference.high),
            seeds=difference.seeds,
            least=by,
        )
        for difference, by in verdict.rests_on
    ]
    return {
        "holds": verdict.holds,
        "reason": verdict.reason,
        "verdict": opening(verdict) + text,
        "rests_on": rests_on,
    }
