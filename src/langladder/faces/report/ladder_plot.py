"""The ladder's picture: every language model over the entropy floor."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from langladder.evaluation.language_model import LanguageModelPage
from langladder.faces.report import numbers
from langladder.faces.report.entries import Entry
from langladder.faces.report.svg import MARKERS, SERIES, drawing, new_figure, to_file, to_svg, visible

_DECADES_FROM = 500.0  # so many times, and a log axis has labels at the powers of ten only
_LOG_FROM = 6.0  # a log axis pays once the largest value is so many times the smallest


def ladder_plot(
    rungs: Sequence[Entry[LanguageModelPage]], corpus: str | None, *, standalone: bool = False
) -> str | None:
    """The project's picture: perplexity per word of each language model over the entropy floor, first rung lowest.

    Where words are graphemes, it shows bits per character, without the floor.

    Args:
        corpus: name of the text.
        standalone: an SVG file on a white panel (for README and docs) instead of an element of the page.
    """
    if not rungs:
        return None
    name = rungs[0].page.scores.headline[0]
    losses = [rung.page.scores.headline[1] for rung in rungs]
    floor = rungs[0].page.scores.floor_perplexity_per_word if name == "perplexity per word" else None
    with drawing():
        figure, axes = new_figure(9.6, 1.3 + 0.42 * len(rungs))
        finite = [value for value in losses if isfinite(value)]
        _value_axis(axes, [*finite, *([floor] if floor else [])] or [1.0])
        values = [min(value, axes.get_xlim()[1]) for value in losses]  # what is infinite stands at the edge
        left = floor if floor else axes.get_xlim()[0]
        marks = approach_marks(figure, [rung.approach for rung in rungs])
        colours = [marks[rung.approach][0] for rung in rungs]
        axes.hlines(range(len(rungs)), left, values, colors=colours, linewidth=2.2, alpha=0.55)
        for height, (rung, value) in enumerate(zip(rungs, values, strict=True)):
            hue, mark = marks[rung.approach]
            axes.plot(value, height, mark, color=hue, markersize=8, clip_on=False)
        for height, (rung, place) in enumerate(zip(rungs, values, strict=True)):
            above = rung.page.scores.above_floor_percent
            text = headline_text(name, losses[height]) + (
                f"  (+{above:,.0f} %)" if above is not None and isfinite(above) else ""
            )
            axes.annotate(text, (place, height), (9, 0), textcoords="offset points", va="center")
        axes.set_yticks(range(len(rungs)), [visible(dated(rung)) for rung in rungs])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(-0.6, len(rungs) - 0.2)
        axes.grid(axis="y", visible=False)
        if floor:
            axes.axvline(floor, color=SERIES[1], linestyle="--", linewidth=1.5)
            note = f"entropy floor {numbers.perplexity(floor)}"
            top = (floor, len(rungs) - 0.28)
            axes.annotate(note, top, (6, 0), textcoords="offset points", color=SERIES[1], va="top")
        text = f"the test text of {corpus}" if corpus else "the test text"
        axes.set_xlabel(visible(f"{name} on {text} (lower is better)"))
        label = f"{name.capitalize()} of every language model" + (f"; entropy floor {floor:.4g}" if floor else "")
        return to_file(figure, label) if standalone else to_svg(figure, "ladder", label)


def headline_text(name: str, value: float) -> str:
    """A headline figure as text, see `TextScores.headline`."""
    return numbers.decimals(3)(value) if name == "bits per character" else numbers.perplexity(value)


def dated(rung: Entry[Any]) -> str:
    """The title of a rung with its year."""
    return rung.title if rung.told.year is None else f"{rung.title}, {rung.told.year}"


def approach_marks(figure: Figure, approaches: list[str]) -> dict[str, tuple[str, str]]:
    """A colour and a mark for each approach, and a legend that tells them where there are several."""
    names = list(dict.fromkeys(approaches))
    others = [hue for hue in SERIES if hue != SERIES[1]]  # which is the floor's
    found = {name: (others[i % len(others)], MARKERS[i // len(others) % len(MARKERS)]) for i, name in enumerate(names)}
    if len(names) > 1 and all(names):
        dots = [
            Line2D([], [], color=hue, marker=mark, linestyle="none", label=visible(name))
            for name, (hue, mark) in found.items()
        ]
        figure.legend(handles=dots, loc="outside lower center", ncols=min(len(names), 5), handletextpad=0.2)
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
