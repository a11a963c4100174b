"""Claims of the literature in the report: each with the sentence that the numbers make, its plots and its table.

A plot is described by the experiment as data: lines over numbers, marks over categories, bars of spread.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from langladder.experiments.findings import Plot, Series, Shown
from langladder.experiments.page import ClaimPage
from langladder.faces.report.graphs import draw_computation
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.numbers import DASH, significant
from langladder.faces.report.plots import (
    DASHES,
    INK,
    MARKERS,
    SERIES,
    drawing,
    hues,
    new_figure,
    to_file,
    to_svg,
    visible,
)
from langladder.faces.report.section import Picture, Section
from langladder.faces.report.tables import markdown_row

MOST_MARKS = 24  # points of a line that are marked one by one

FEW_TICKS = 12

HEIGHT, A_NAME = 3.4, 0.24  # inches of a plot, and of a name in its legend: many names make it higher

LEVELS = (":", (0, (6, 3)), "-.")

LETTER, ALONG = 6.5, 480.0  # points of a letter of a tick's label, and of the axis that the labels share

NEAR = 1e4  # a log axis over less has labels between the powers of ten

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Claims = Sequence[Entry[ClaimPage]]

ABOUT: Mapping[str, Sequence[str]] = {
    "foundations": ("lm", "classifier"),
    "language": ("lm",),
    "translation": ("translator",),
    "reading": ("classifier", "tagger"),
    "tagger_comparison": ("tagger",),
    "pretraining": ("encoder", "classifier"),
    "alignment": ("align", "instruct", "reward"),
}
"""Package, or module, of experiments → the families whose rungs they are about."""


@dataclass(frozen=True)
class ShownView:
    """A sentence, its drawings and its table, ready for the page."""

    verdict: str
    figures: list[Markup]
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class ClaimView:
    """One claim, ready for the page: what the seed decides, then what the machine's speed decides."""

    name: str
    title: str
    claim: str
    paper: str | None
    mark: str
    parts: list[ShownView]


def pictures(inputs: ReportInputs, family: str) -> Iterable[Picture]:
    """The first plot that a claim has for the head of the report."""
    for claim in inputs.rungs_with(family, ClaimPage):
        for plot in claim.page.findings.plots:
            if plot.front and (svg := findings_plot(plot, f"front-{claim.name}")):
                link = Markup('<a href="#claim-{}">{}</a>').format(claim.name, claim.title)
                caption = Markup("{}, with the spread between seeds: {}.").format(plot.title, link)
                yield Picture(Markup(svg), caption, finding=claim.page.findings.verdict)
                return


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """All claims, of experiments and of probes; what was measured of those that are about no rung here."""
    if claims := inputs.rungs_with(family, ClaimPage):
        placed = {claim.name for claims in placed_claims(inputs).values() for claim in claims}
        alone = claim_views([claim for claim in claims if claim.name not in placed])
        context = {"claims": claim_views(claims, drawn=False), "alone": alone}
        yield Section("claims", "Claims, measured", "claims.html.j2", context)


def placed_claims(inputs: ReportInputs) -> dict[tuple[str, str], list[Entry[ClaimPage]]]:
    """The claims about rungs of the ladder: (first of the families that are judged alike, rung or "" for all) → claims.

    A claim is about the last of the networks that it trains of which the ladder has a rung of that name, else about
    all rungs of the first family that its experiments are about.
    """
    kinds = {
        family.name: [rung for rung in inputs.rungs_with(family.name, family.page()) if not rung.inside]
        for family in inputs.families
        if family.trained
    }
    claims: dict[tuple[str, str], list[Entry[ClaimPage]]] = {}
    for family in inputs.families:
        for claim in inputs.rungs_with(family.name, ClaimPage):
            if key := _rung_of(claim, kinds):
                claims.setdefault(key, []).append(claim)
    return claims


def _rung_of(claim: Entry[ClaimPage], kinds: Mapping[str, Sequence[Entry[Any]]]) -> tuple[str, str] | None:
    _, package, name, *_ = (*(claim.metadata.module or "").split("."), "", "", "")
    subjects = ABOUT.get(name) or ABOUT.get(package, ())
    own = [(kind, rung.name) for kind in subjects for rung in kinds.get(kind, ()) if rung.metadata.module]
    for trained in reversed(claim.metadata.trains):
        if key := next((rung for rung in own if rung[1] == trained), None):
            return key
    return (own[0][0], "") if own and package != "foundations" else None


def claim_views(claims: Claims, *, drawn: bool = True) -> list[ClaimView]:
    """The claims in the order of history; if not `drawn`, the findings beside the mark are omitted."""
    return [
        ClaimView(
            claim.name,
            claim.title,
            claim.metadata.claim or claim.title,
            claim.metadata.paper,
            mark([findings for findings in (claim.page.findings, claim.timing.timed) if findings is not None]),
            list(_parts(claim)) if drawn else [],
        )
        for claim in claims
    ]


def prompts_markdown(inputs: ReportInputs) -> str:
    """What the language models do with tasks in words, a row each, in Markdown; "" if there were none."""
    tasks = [
        task
        for family in inputs.families
        if family.experiment == "prompts"
        for task in inputs.rungs_with(family.name, ClaimPage)
    ]
    rows = [
        (f"`{task.name}`", f"{task.title}: {task.metadata.claim or ''}", mark([findings]), findings.found)
        for task in tasks
        for findings in [task.page.findings]
    ]
    if not rows:
        return ""
    lines = [("name", "task", "found", "figures"), ("---",) * 4, *rows]
    return "\n**Tasks in words**\n\n" + "".join(map(markdown_row, lines))


def mark(parts: Iterable[Shown]) -> str:
    """What the seed and the machine's speed decide, in a word: that of the part that was tested, where it is one."""
    tested = sorted({part.outcome for part in parts} - {"not tested"})
    return "holds in part" if len(tested) == 2 else tested[0] if tested else "not tested"


def _parts(claim: Entry[ClaimPage]) -> Iterator[ShownView]:
    for number, part in enumerate((claim.page.findings, claim.timing.timed)):
        if part is not None:
            name = f"claim-{claim.name}-{number}"
            drawn = (findings_plot(plot, f"{name}-{i}") for i, plot in enumerate(part.plots))
            graphs = (draw_computation(graph, f"{name}-graph-{i}") for i, graph in enumerate(part.graphs))
            rows = [[_cell(value) for value in row] for row in part.rows]
            yield ShownView(part.verdict, [Markup(svg) for svg in (*graphs, *drawn) if svg], part.columns, rows)


def _cell(value: str | float | None) -> str:
    if value is None:
        return DASH
    return value if isinstance(value, str) else significant(value)


def findings_plot(plot: Plot, name: str) -> str | None:
    """The plot as an `<svg>` element; None where no point was measured.

    Args:
        name: makes the ids unique on the page.
    """
    if not any(y is not None for line in plot.series for y in line.y):
        return None
    with drawing():
        return to_svg(_figure(plot), name, _label(plot))


def findings_file(plot: Plot) -> str:
    """The plot as an SVG file of its own."""
    with drawing():
        return to_file(_figure(plot), _label(plot))


def _label(plot: Plot) -> str:
    return f"{plot.title}: {plot.y_label} by {plot.x_label}"


def _figure(plot: Plot) -> Figure:
    categories = list(dict.fromkeys(x for line in plot.series for x in line.x if isinstance(x, str)))
    figure, axes = new_figure(10.4, max(HEIGHT, (len(plot.series) + len(plot.levels) + 1) * A_NAME))
    for i, (line, hue) in enumerate(zip(plot.series, hues(len(plot.series)), strict=True)):
        _draw(axes, line, i, hue, categories, alone=len(plot.series) == 1)
    for (level, height), style in zip(plot.levels.items(), cycle(LEVELS)):
        axes.axhline(height, color=INK, linestyle=style, linewidth=1.2, label=visible(level))
    if categories:
        axes.set_xticks(range(len(categories)), [visible(category) for category in categories])
        axes.margins(x=0.12)
    else:
        _position_axis(axes, sorted({float(x) for line in plot.series for x in line.x}), log=plot.log_x)
    if plot.log_y:
        _log_values(axes)
    axes.set_xlabel(plot.x_label)
    axes.set_ylabel(plot.y_label)
    if len(axes.get_legend_handles_labels()[1]) > 1 or plot.levels:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def _draw(axes: Axes, line: Series, number: int, hue: str, categories: list[str], *, alone: bool) -> None:
    """One series; what was not measured leaves a gap."""
    positions: Mapping[str | float, float] = {category: position for position, category in enumerate(categories)}
    spread = line.error or [None] * len(line.y)
    points = [(x, y, e or 0.0) for x, y, e in zip(line.x, line.y, spread, strict=True) if y is not None]
    if not points:
        return
    x, y, error = zip(*points, strict=True)
    style: dict[str, Any] = {"color": hue, "linewidth": 2, "linestyle": DASHES[number // len(SERIES) % len(DASHES)]}
    if len(points) <= MOST_MARKS:
        style |= {"marker": MARKERS[number % len(MARKERS)], "markersize": 5.5}
    if categories and alone:
        style["linestyle"] = ""  # nothing lies between two categories
    axes.errorbar(
        [positions[position] if categories else position for position in x],
        y,
        yerr=error if line.error is not None else None,
        capsize=3,
        elinewidth=1,
        label=visible(line.name),
        **style,
    )


def _position_axis(axes: Axes, positions: list[float], *, log: bool) -> None:
    """Along x: a tick at every measured place where these are few."""
    if log:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    if len(positions) <= FEW_TICKS:
        axes.set_xticks(separated(positions, log=log))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _number_text(value)))


def separated(positions: list[float], *, log: bool) -> list[float]:
    """Those of the rising places whose labels do not touch, taken from left to right; the first and the last always."""
    if len(positions) < 3 or (log and positions[0] <= 0):
        return positions
    *inner, last = [math.log(position) if log else position for position in positions]
    points = [ALONG * (position - inner[0]) / (last - inner[0]) for position in [*inner, last]]

    def clear(hue: int, other: int) -> bool:
        return (
            points[other] - points[hue]
            > LETTER * (len(_number_text(positions[hue])) + len(_number_text(positions[other])) + 1) / 2
        )

    kept = [0]
    for i in range(1, len(inner)):
        if clear(kept[-1], i) and clear(i, len(inner)):
            kept.append(i)
    return [positions[i] for i in [*kept, len(inner)]]


def _number_text(value: float) -> str:
    return f"{value:,.10g}"


def _log_values(axes: Axes) -> None:
    """Along y: ones, twos and fives over a few powers of ten, powers alone over more."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    near = high / low < NEAR
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if near else (1.0,), numticks=8))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}" if near else _power(value)))
    axes.yaxis.set_minor_locator(NullLocator())


def _power(value: float) -> str:
    """10⁻⁸ for 1e-8."""
    return "10" + str(round(math.log10(value))).translate(_RAISED)
