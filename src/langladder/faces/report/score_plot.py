"""Rungs by a share that they reach, such as accuracy: dots with their intervals under the best that can be known."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.ticker import FuncFormatter

from langladder.evaluation.page import Interval
from langladder.faces.report import numbers
from langladder.faces.report.entries import Entry
from langladder.faces.report.ladder_plot import approach_marks, dated
from langladder.faces.report.svg import SERIES, drawing, new_figure, to_svg, visible

Read = Callable[[Any], tuple[float, Interval | None]]


def score_plot(
    rungs: Sequence[Entry[Any]], read: Read, name: str, measure: str, *, best: float | None = None, line: str = ""
) -> str | None:
    """A row a rung, the first lowest.

    Args:
        read: of a page, a share in 0..1 and its interval.
        name: makes the drawing's ids unique. measure: what is shown, on the axis.
        best: where a line stands that no rung beats on average; line: what that is.
    """
    if not rungs:
        return None
    found = [read(rung.page) for rung in rungs]
    lows = [interval[0] if interval else value for value, interval in found]
    highs = [interval[1] if interval else value for value, interval in found]
    low, high = min(lows), max([*highs, *([] if best is None else [best])])
    spread = max(high - low, 0.02)
    with drawing():
        figure, axes = new_figure(9.6, 1.3 + 0.42 * len(rungs))
        marks = approach_marks(figure, [rung.approach for rung in rungs])
        edge = high + 0.02 * spread
        for height, (rung, (value, _)) in enumerate(zip(rungs, found, strict=True)):
            hue, mark = marks[rung.approach]
            axes.hlines(height, lows[height], highs[height], colors=hue, linewidth=2.2, alpha=0.55)
            axes.plot(value, height, mark, color=hue, markersize=8, clip_on=False)
            axes.annotate(numbers.share(value), (edge, height), (6, 0), textcoords="offset points", va="center")
        axes.set_xlim(max(0.0, low - 0.06 * spread), high + 0.14 * spread)
        axes.set_yticks(range(len(rungs)), [visible(dated(rung)) for rung in rungs])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(-0.6, len(rungs) - 0.2)
        axes.grid(axis="y", visible=False)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g} %"))
        axes.set_xlabel(visible(measure))
        told = "" if best is None else f"; {line} {numbers.share(best)}"
        if best is not None:
            axes.axvline(best, color=SERIES[1], linestyle="--", linewidth=1.5)
            top = (best, len(rungs) - 0.28)
            note = f"{line} {numbers.share(best)}"
            axes.annotate(note, top, (-6, 0), textcoords="offset points", color=SERIES[1], va="top", ha="right")
        return to_svg(figure, name, f"{measure}, every rung{told}")
