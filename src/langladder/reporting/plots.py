"""The report's plots, each a function from inputs to an `<svg>` element; `None` where there is nothing to draw."""

from collections.abc import Sequence
from itertools import cycle
from math import ceil, isfinite

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from langladder.evaluation.translator_page import Translation
from langladder.reporting import numbers
from langladder.reporting.inputs import ReportInputs
from langladder.reporting.rungs import EmbeddingRung, LanguageModelRung
from langladder.reporting.svg import GRID, MARKERS, SERIES, drawing, hues, new_figure, to_file, to_svg, visible

_DECADES_FROM = 500.0  # so many times, and a log axis has labels at the powers of ten only
_LOG_FROM = 6.0  # a log axis pays once the largest value is so many times the smallest


def ladder_plot(inputs: ReportInputs, *, standalone: bool = False) -> str | None:
    """The project's picture: perplexity a word of each language model over the entropy floor, first rung lowest.

    Args:
        standalone: an SVG file on a white panel (for README and docs) instead of an element of the page.
    """
    rungs = [(rung, value) for rung in inputs.lms if (value := rung.scores.perplexity_per_word) is not None]
    if not rungs:
        return None
    floor, values = inputs.floor, [value for _, value in rungs]
    with drawing():
        figure, axes = new_figure(9.6, 1.3 + 0.42 * len(rungs))
        finite = [value for value in values if isfinite(value)]
        _value_axis(axes, [*finite, *([floor] if floor else [])] or [1.0])
        values = [min(value, axes.get_xlim()[1]) for value in values]  # what is infinite stands at the edge
        left = floor if floor else axes.get_xlim()[0]
        hue = _approach_hues(figure, [rung.approach for rung, _ in rungs])
        colours = [hue[rung.approach] for rung, _ in rungs]
        axes.hlines(range(len(rungs)), left, values, colors=colours, linewidth=2.2, alpha=0.55)
        for height, (value, colour) in enumerate(zip(values, colours, strict=True)):
            axes.plot(value, height, "o", color=colour, markersize=8, clip_on=False)
        for height, ((rung, value), place) in enumerate(zip(rungs, values, strict=True)):
            above = rung.scores.above_floor_percent
            text = numbers.perplexity(value) + (f"  (+{above:,.0f} %)" if above is not None and isfinite(above) else "")
            axes.annotate(text, (place, height), (9, 0), textcoords="offset points", va="center")
        axes.set_yticks(range(len(rungs)), [visible(_dated(rung, inputs)) for rung, _ in rungs])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(-0.6, len(rungs) - 0.2)
        axes.grid(axis="y", visible=False)
        if floor:
            axes.axvline(floor, color=SERIES[1], linestyle="--", linewidth=1.5)
            note = f"entropy floor {numbers.perplexity(floor)}"
            top = (floor, len(rungs) - 0.28)
            axes.annotate(note, top, (6, 0), textcoords="offset points", color=SERIES[1], va="top")
        text = f"the test text of {inputs.meta.text}" if inputs.meta.text else "the test text"
        axes.set_xlabel(visible(f"perplexity a word on {text} (lower is better)"))
        label = "Perplexity a word of every language model" + (f"; entropy floor {floor:.4g}" if floor else "")
        return to_file(figure, label) if standalone else to_svg(figure, "ladder", label)


def _dated(rung: LanguageModelRung, inputs: ReportInputs) -> str:
    year = inputs.years.get(("lm", rung.name))
    return rung.title if year is None else f"{rung.title}, {year}"


def _approach_hues(figure: Figure, approaches: list[str]) -> dict[str, str]:
    """A colour for each approach, and a legend that tells them where there are several."""
    names = list(dict.fromkeys(approaches))
    others = [hue for hue in SERIES if hue != SERIES[1]]  # which is the floor's
    found = dict(zip(names, cycle(others), strict=False))
    if len(names) > 1 and all(names):
        dots = [
            Line2D([], [], color=hue, marker="o", linestyle="none", label=visible(name)) for name, hue in found.items()
        ]
        figure.legend(handles=dots, loc="outside lower center", ncols=len(names), handletextpad=0.2)
    return found


def _value_axis(axes: Axes, values: list[float]) -> None:
    """Limits with room for the numbers at the right; logarithmic where values lie far apart."""
    low, high = min(values), max(values)
    if high / low >= _LOG_FROM:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < _DECADES_FROM else (1.0,)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(low * (low / high) ** 0.06, high * (high / low) ** 0.25)
    else:
        spread = (high - low) or high
        axes.set_xlim(low - 0.06 * spread, high + 0.25 * spread)


def map_plot(rung: EmbeddingRung, name: str) -> str | None:
    """Words of the embedding map as points with labels, coloured (and marked) by group."""
    if not rung.map:
        return None
    groups = list(dict.fromkeys(point.group for point in rung.map))
    with drawing():
        figure, axes = new_figure(10.4, 6.6)
        for group, hue, mark in zip(groups, hues(len(groups)), cycle(MARKERS), strict=False):
            x, y = zip(*((point.x, point.y) for point in rung.map if point.group == group), strict=True)
            axes.plot(x, y, mark, color=hue, markersize=5, label=visible(group) or "other")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[["top", "right"]].set_visible(True)
        axes.margins(0.06)
        axes.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.01),
            ncols=ceil(len(groups) / ceil(len(groups) / 6)),
            handletextpad=0.2,
        )
        place_labels(figure, axes, [(point.word, point.x, point.y) for point in rung.map])
        return to_svg(figure, name, f"Map of word vectors: {rung.title}")


# Where a label may stand about its point: offset in points, horizontal and vertical alignment.
_PLACES = ((5, 0, "left", "center"), (-5, 0, "right", "center"), (0, 5, "center", "bottom"), (0, -5, "center", "top"))

_MARK = 2.5  # half a mark, which a label must not touch


def place_labels(figure: Figure, axes: Axes, points: Sequence[tuple[str, float, float]]) -> None:
    """Label the points in order, each at the first place where it hides neither point nor label; else not at all."""
    figure.draw_without_rendering()  # fixes the layout, so that places on the page are known
    spots = axes.transData.transform([(x, y) for _, x, y in points])  # (points, 2) in pixels
    frame = axes.get_window_extent()
    taken = np.empty((0, 4))  # x0, y0, x1, y1
    for word, x, y in points:
        for dx, dy, horizontal, vertical in _PLACES:
            label: Annotation = axes.annotate(
                visible(word), (x, y), (dx, dy), textcoords="offset points", ha=horizontal, va=vertical, fontsize=9
            )
            label.set_in_layout(False)
            box = np.array(label.get_window_extent().extents)
            inside = (spots > box[:2] - _MARK).all(axis=1) & (spots < box[2:] + _MARK).all(axis=1)
            overlaps = (taken[:, :2] < box[2:]).all(axis=1) & (taken[:, 2:] > box[:2]).all(axis=1)
            if not inside.any() and not overlaps.any() and frame.x0 <= box[0] and box[2] <= frame.x1:
                taken = np.vstack([taken, box])
                break
            label.remove()


def attention_plot(example: Translation, name: str, title: str, *, standalone: bool = False) -> str | None:
    """Heat map of attention: a row an output token, a column a source token; nothing is clear, 1 is full colour.

    Args:
        standalone: an SVG file on a white panel instead of an element of the page.
    """
    if not example.attention:
        return None
    weights = np.clip(np.array(example.attention), 0.0, 1.0)  # (output, source)
    rows, columns = weights.shape
    picture = np.empty((rows, columns, 4))
    picture[..., :3] = to_rgb(SERIES[0])
    picture[..., 3] = weights
    with drawing():
        figure, axes = new_figure(1.2 + 0.22 * columns, 1.0 + 0.22 * rows)
        axes.imshow(picture, aspect="equal")
        axes.set_xticks(range(columns), [visible(token) for token in example.source_tokens], rotation=55, ha="left")
        axes.set_yticks(range(rows), [visible(token) for token in example.output_tokens])
        axes.tick_params(length=0, pad=3, top=False, labeltop=True, labelbottom=False)
        axes.tick_params(axis="x", pad=1)
        axes.tick_params(labelsize=9)
        for label in axes.get_xticklabels():
            label.set_rotation_mode("anchor")
        axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
        axes.grid(visible=False, which="major")
        axes.grid(visible=True, which="minor", color=GRID, linewidth=0.5)
        axes.tick_params(which="minor", length=0)
        axes.spines[["left", "bottom"]].set_visible(False)
        caption = f"Attention of {title}, from {example.source} to {example.output}"
        return to_file(figure, caption) if standalone else to_svg(figure, name, caption)
