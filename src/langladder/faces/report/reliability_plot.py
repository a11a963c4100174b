"""Reliability diagram: how often a rung is right, over how sure it is, a line a rung (Guo et al. 2017, figure 1)."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from langladder.evaluation.label_scores import Bin
from langladder.faces.report.choosing import COLOURED, Loss, choice
from langladder.faces.report.entries import Entry
from langladder.faces.report.line_plots import LinePlot, draw_line, line_plot
from langladder.faces.report.svg import INK


def reliability_plot(
    rungs: Sequence[Entry[Any]], read: Callable[[Any], Sequence[Bin]], loss: Loss, name: str
) -> LinePlot | None:
    """At the left the share that is right over the mean probability of each bin, at the right the share of the test.

    Args:
        read: of a page, its bins. loss: of a page; the rungs where it is lowest have a colour at first.
        name: makes the drawing's ids unique.
    """
    rungs = [rung for rung in rungs if read(rung.page)]
    chosen = choice(rungs, loss, COLOURED)

    def draw(right: Axes, held: Axes) -> None:
        right.plot([0, 1], [0, 1], color=INK, linestyle="--", linewidth=1)
        for number, rung in enumerate(rungs):
            bins = read(rung.page)
            total = sum(one.count for one in bins)
            draw_line(right, rung, [(one.confidence, one.accuracy) for one in bins], number, chosen)
            draw_line(held, rung, [(one.confidence, one.count / total) for one in bins], number, chosen)
        for axes, measured in ((right, "of these, right"), (held, "of all test items")):
            axes.set_xlabel("probability that the rung gives its answer")
            axes.set_ylabel(measured)
            axes.set_ylim(-0.02, 1.02)
            axes.set_xlim(0, 1.02)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))

    label = "Reliability diagram: how often each rung is right, over how sure it is"
    return line_plot(name, label, chosen, draw, 3.8, panels=2)
