"""Matplotlib figures as inline SVG, and the plots that several families share: lines and dots, one a rung.

The same numbers give the same bytes, at home on light and dark pages:
- Colours are drawn from `INK`, `GRID` and `SERIES` and become CSS variables of the page, which knows two sets of them.
  The series are Okabe and Ito's (2008), told apart with colour-blind eyes; marks and dashes differ as well.
- Text stays text: it can be searched, follows the reader's font, and any script shows that the reader's system has.
  What runs to the left says so (`plain`); its place is still measured as if it ran to the right.
- The ids that matplotlib makes are the same in every figure; a page with several needs them prefixed.

Where there are many rungs a few lines stand in colour and the rest grey. Each line knows its rung: it shows its name
under the mouse, and the page's script colours those that the reader chooses. The legend is the page's.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import StringIO
from itertools import cycle, islice
from math import isfinite
from textwrap import fill
from types import MappingProxyType
from typing import Any
from xml.sax.saxutils import escape, unescape

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import TextToPath
from matplotlib.ticker import FuncFormatter, MaxNLocator
from rich.cells import cell_len

from langladder.evaluation.page import Interval, Page
from langladder.faces.report import numbers
from langladder.faces.report.bidi import plain
from langladder.faces.report.inputs import CurvePoint, Entry, P
from langladder.faces.report.selection import APPROACHES, COLOURED, Choice, Loss, choice, hue_of

INK, GRID = "#1b1e23", "#b9bec6"

LINE = "#7f8103"  # of a line that is a rung's: the page says which rungs have a colour, and which are grey

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")

BROAD, NARROW = "broad", "narrow"
"""Kinds of drawings of the same thing, in the page and on a screen as narrow as a phone's: the page shows one."""

NARROW_INCHES = 5.2

MARKERS = ("o", "s", "^", "D", "v", "P", "X")

DASHES = ("-", "--", "-.", ":")

_JOINING = "\u200c\u200d\u200e\u200f\u2066\u2067\u2068\u2069"  # join letters, say their direction; nothing is drawn

_VARIABLES = {INK: "currentColor", GRID: "var(--grid)", LINE: "var(--rung)"} | {
    hue: f"var(--series-{i})" for i, hue in enumerate(SERIES)
}

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "langladder",
    "text.parse_math": False,  # a corpus may hold dollar signs
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.5,
    "figure.dpi": 72,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.alpha": 0.45,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "image.interpolation": "none",
}


def hues(count: int) -> list[str]:
    """A colour for each of `count` series; they repeat after six, where marks and dashes go on differing."""
    return list(islice(cycle(SERIES), count))


@contextmanager
def drawing() -> Iterator[None]:
    """The house style, whatever the user's matplotlibrc says."""
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the reader's font has the last word
        yield


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of so many inches with one axes that fills it."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # measures text
    return figure, figure.add_subplot()


@cache
def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """In points, in DejaVu Sans: few fonts of a reader's system are wider."""
    if not text.isascii():  # it may lack the letters, which are as wide as in a terminal then
        return 0.7 * size * cell_len(text)
    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    return float(TextToPath().get_text_width_height_descent(text, font, ismath=False)[0])


def visible(text: str) -> str:
    """Text fit for a label: line ends and control characters as marks, since SVG must not hold them."""
    return "".join("⏎" if char == "\n" else char if char.isprintable() or char in _JOINING else "�" for char in text)


def shaded(weights: np.ndarray) -> np.ndarray:
    """Weights (rows, columns) as the pixels of a heat map, (rows, columns, 4): 0 is clear, 1 is full colour."""
    pixels = np.empty((*weights.shape, 4))
    pixels[..., :3], pixels[..., 3] = to_rgb(SERIES[0]), np.clip(weights, 0.0, 1.0)
    return pixels


def line_of(rung: str, part: str = "") -> str:
    """The `gid` of a line that is a rung's; `part` says which of several, e.g. `train`."""
    return f"rung:{part}:{rung}"


def to_svg(
    figure: Figure,
    name: str,
    label: str,
    choice: Choice | None = None,
    *,
    kind: str = "",
    titles: Mapping[str, str] = MappingProxyType({}),
    colours: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The figure as an `<svg>` element for the page.

    Args:
        name: makes its ids unique.
        label: says what it shows.
        choice: the rungs whose lines (`line_of`) are drawn, and which of them have a colour at first.
        kind: its class. What is drawn with the `gid` class:NAME has that class.
        titles: `gid` of what is drawn → what the mouse over it shows.
        colours: colour that is drawn with → the one of CSS that it stands for, beside those of the house.
    """
    text = _rounded(_render(figure))
    if choice is not None:
        text = _lines(text, choice)
    text = re.sub(r'<g id="class:(\w+)">', r'<g class="\1">', text)
    for gid, title in titles.items():
        text = text.replace(f'<g id="{gid}">', f"<g><title>{escape(visible(title))}</title>", 1)
    for hue, variable in {**_VARIABLES, **colours}.items():
        text = text.replace(hue, variable)
    return _prefix_ids(_named(text, label, kind), name)


def to_file(figure: Figure, label: str) -> str:
    """The figure as an SVG file of its own: fixed colours on a white panel, readable wherever it is shown."""
    figure.set_facecolor("white")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + _named(_render(figure), label) + "\n"


def _render(figure: Figure) -> str:
    buffer = StringIO()
    figure.savefig(buffer, format="svg", facecolor=figure.get_facecolor(), metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r"(<text[^>]*>)([^<]+)", lambda match: match[1] + escape(plain(unescape(match[2]))), text)
    return re.sub(r"\n\s*", "\n", text).strip()


def _rounded(svg: str) -> str:
    """Coordinates with two decimals, hundredths of a point, which makes a page with many drawings smaller."""
    return re.sub(r' (?:d|x|y|transform)="[^"]*"', lambda match: re.sub(r"(\.\d\d)\d+", r"\1", match[0]), svg)


def _lines(svg: str, choice: Choice) -> str:
    """Give each rung's lines their class, name and colour."""
    colours = choice.colours
    for rung, title in choice.titles.items():
        name, label = escape(rung, {'"': "&quot;"}), escape(visible(title))
        hue = colours.get(rung)
        style = "" if hue is None else f' style="--rung: var(--series-{hue})"'
        on = "" if hue is None else " on"
        svg = re.sub(
            rf'<g id="rung:(\w*):{re.escape(name)}">',
            lambda m, on=on, style=style, name=name, label=label: (  # type: ignore[misc]
                f'<g class="{f"rung {m[1]}".strip()}{on}" data-rung="{name}"{style}><title>{label}</title>'
            ),
            svg,
        )
    return svg


def _named(svg: str, label: str, kind: str = "") -> str:
    """Give the element the role of an image and a name for those who hear the page."""
    escaped = visible(label).replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    own = f'class="{kind}" ' if kind else ""
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escaped}" {own}', 1)


def _prefix_ids(svg: str, name: str) -> str:
    used = set(re.findall(r'(?:href="#|url\(#)([\w.-]+)', svg))
    svg = re.sub(r' id="([\w.-]+)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", svg)
    return re.sub(r'(href="#|url\(#)([\w.-]+)', rf"\g<1>{name}-\g<2>", svg)


ABOVE = 0.5  # room for training losses above the highest validation loss, as a share of what is below it

FEW_POINTS = 40  # of a line whose points are marked one by one

Points = list[tuple[float, float]]

Rungs = Sequence[Entry[Page]]


@dataclass(frozen=True)
class LinePlot:
    """The drawing, and the rungs in it to choose from."""

    svg: str
    choice: Choice
    narrow: str = ""


def curve_choice(rungs: Rungs) -> Choice:
    """The rungs of a family that have a learning curve, and their colours, in the report and the explorer."""
    last = {rung.name: _last(_validation(rung) or _training(rung)) for rung in rungs}
    drawn = [rung for rung in rungs if last[rung.name] is not None]
    return choice(drawn, lambda page: last[page.name], COLOURED)


def _training(rung: Entry[Page]) -> Points:
    return _points(rung.curve, lambda point: point.train_loss)


def _validation(rung: Entry[Page]) -> Points:
    return _points(rung.curve, lambda point: point.validation_loss)


def curves_plot(rungs: Rungs, name: str, title: str, *, standalone: bool = False) -> LinePlot | None:
    """Learning curves of the rungs of a family: validation loss strong, training loss faint.

    The training losses of the first steps are far above all others: they are left out where the lines would lie on each
    other otherwise.

    Args:
        standalone: an SVG file with a legend on a white panel instead of an element of the page.
    """
    train, valid = ({rung.name: read(rung) for rung in rungs} for read in (_training, _validation))
    chosen = curve_choice(rungs)
    rungs = [rung for rung in rungs if rung.name in chosen.titles]

    def draw(axes: Axes) -> None:
        for number, rung in enumerate(rungs):
            faint = bool(valid[rung.name])
            if train[rung.name]:
                axes.plot(*zip(*train[rung.name], strict=True), color=LINE, alpha=0.45 if faint else 1.0, linewidth=1.2)
                axes.lines[-1].set_gid(line_of(rung.name, "train" if faint else ""))
            draw_line(axes, rung, valid[rung.name], number, chosen)
        _over_steps(axes, "loss (nats)")
        measured = [value for points in valid.values() for _, value in points if isfinite(value)]
        if measured:
            low = min(measured + [value for points in train.values() for _, value in points if isfinite(value)])
            top = max(measured) + ABOVE * (max(measured) - low)
            if low < top < axes.get_ylim()[1]:
                axes.set_ylim(low - 0.05 * (top - low), top)

    label = f"Learning curves of the {title.lower()}"
    return line_plot(f"curves-{name}", label, chosen, draw, 4.2, standalone=standalone)


def bleu_curves_plot(rungs: Rungs, name: str, loss: Loss[Page]) -> LinePlot | None:
    """BLEU of the validation pairs over training; coloured first where `loss` of the page is lowest."""
    about = "BLEU of the validation pairs during training"
    return _measured(rungs, f"bleu-{name}", lambda point: point.validation_bleu, loss, (about, "BLEU, greedy"))


def entity_curves_plot(rungs: Rungs, name: str, loss: Loss[Page]) -> LinePlot | None:
    """Entity F₁ of the validation sentences over training, by which the weights are chosen."""
    about = "Entity F₁ of the validation sentences during training"
    return _measured(rungs, f"entities-{name}", lambda point: point.validation_entity_f1, loss, (about, "entity F₁"))


def reward_curves_plot(rungs: Rungs, name: str, loss: Loss[Page]) -> LinePlot | None:
    """Reward of answers to validation prompts over training: the gold judge's, where it stands beside another."""

    def reward(point: CurvePoint) -> float | None:
        return point.validation_reward if point.validation_gold is None else point.validation_gold

    about = "Reward of answers to validation prompts during training"
    return _measured(rungs, f"reward-{name}", reward, loss, (about, "reward"))


def _measured(
    rungs: Rungs, name: str, read: Callable[[CurvePoint], float | None], loss: Loss[Page], labels: tuple[str, str]
) -> LinePlot | None:
    """A measure over training; `said`: what is shown, and the label of its axis."""
    curves = {rung.name: _points(rung.curve, read) for rung in rungs}
    rungs = [rung for rung in rungs if curves[rung.name]]
    chosen = choice(rungs, loss, COLOURED)

    def draw(axes: Axes) -> None:
        for number, rung in enumerate(rungs):
            draw_line(axes, rung, curves[rung.name], number, chosen)
        _over_steps(axes, labels[1])

    return line_plot(f"curves-{name}", labels[0], chosen, draw)


def _points(curve: Sequence[CurvePoint], read: Callable[[CurvePoint], float | None]) -> Points:
    """What was measured; where a loss is infinite the line has a gap."""
    points = ((point.step, read(point)) for point in curve)
    return [(step, value) for step, value in points if value is not None]


def _last(points: Points) -> float | None:
    return points[-1][1] if points else None


def draw_line(
    axes: Axes, rung: Entry[Page], points: Sequence[tuple[float, float]], number: int, chosen: Choice
) -> None:
    """The line of one rung, with its mark where the points are few enough to be told apart."""
    if not points:
        return
    mark = MARKERS[number % len(MARKERS)] if len(points) <= FEW_POINTS else None
    above = 3 if rung.name in chosen.chosen else 2
    axes.plot(*zip(*points, strict=True), color=LINE, linewidth=2, marker=mark, markersize=4.5, zorder=above)
    axes.lines[-1].set_gid(line_of(rung.name))


def _over_steps(axes: Axes, measured: str) -> None:
    axes.set_xlabel("training step")
    axes.set_ylabel(measured)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))  # a step or two: no halves
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def line_plot(
    name: str,
    label: str,
    chosen: Choice,
    draw: Callable[..., None],
    height: float = 3.4,
    panels: int = 1,
    *,
    standalone: bool = False,
) -> LinePlot | None:
    """Axes with what `draw` draws in them; None where no rung has a point."""
    if not chosen.titles:
        return None
    with drawing():
        figure = _drawn(draw, 10.4, height, (1, panels))
        if standalone:
            _colour(figure, chosen)
            return LinePlot(to_file(figure, label), chosen)
        narrow = _drawn(draw, NARROW_INCHES, height * panels, (panels, 1))
        return LinePlot(
            to_svg(figure, name, label, chosen, kind=BROAD),
            chosen,
            to_svg(narrow, f"{name}-{NARROW}", label, chosen, kind=NARROW),
        )


def _drawn(draw: Callable[..., None], width: float, height: float, panels: tuple[int, int]) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # measures text
    draw(*figure.subplots(*panels, squeeze=False).flat)
    return figure


def _colour(figure: Figure, chosen: Choice) -> None:
    """What the page does by its script: a colour for each line that is shown at first, the others grey; a legend."""
    colours = {rung: SERIES[hue] for rung, hue in chosen.colours.items()}
    marks: dict[str, str] = {}
    for line in (line for axes in figure.axes for line in axes.get_lines() if line.get_gid()):
        _, part, rung = str(line.get_gid()).split(":", 2)
        line.set_color(colours.get(rung, GRID))
        line.set_gid(None)
        if not part:
            marks[rung] = str(line.get_marker())
    lines = [
        Line2D([], [], color=hue, marker=marks.get(rung, "None"), linewidth=2, label=visible(chosen.titles[rung]))
        for rung, hue in colours.items()
    ]
    figure.legend(handles=lines, loc="outside upper center", ncols=max(1, min(len(lines), 4)))


def folded(label: str) -> str:
    """The label of an axis for a narrow drawing, on several lines."""
    return fill(label, 40)


def dated(rung: Entry[Page]) -> str:
    """The title of a rung with the year of its method."""
    return rung.marked if rung.metadata.year is None else f"{rung.marked}, {rung.metadata.year}"


def approach_marks(figure: Figure, approaches: list[str]) -> dict[str, tuple[str, str]]:
    """Each approach's colour, with a mark where others share it, and a legend where there are several."""
    names = list(dict.fromkeys(approaches))
    free = [hue for hue in APPROACHES if hue not in map(hue_of, names)] or [*APPROACHES]
    marks: dict[str, tuple[str, str]] = {}
    for name in names:
        hue = hue_of(name)
        if hue is None:
            hue = free[len(marks) % len(free)]
        same = sum(colour == SERIES[hue] for colour, _ in marks.values())
        marks[name] = (SERIES[hue], MARKERS[same % len(MARKERS)])
    if len(names) > 1 and all(names):
        dots = [
            Line2D([], [], color=hue, marker=mark, linestyle="none", label=visible(name))
            for name, (hue, mark) in marks.items()
        ]
        widest = max(text_width(visible(name), _STYLE["font.size"]) for name in names) + A_MARK
        ncols = max(1, min(len(names), 5, int(72 * figure.get_figwidth() / widest)))
        figure.legend(handles=dots, loc="outside lower center", ncols=ncols, handletextpad=0.2)
    return marks


A_MARK = 40  # points, of a mark and the space around a name in a legend

Read = Callable[[P], tuple[float, Interval | None]]


def score_plot(
    rungs: Sequence[Entry[P]],
    read: Read[P],
    name: str,
    measure: str,
    *,
    best: float | None = None,
    line: str = "",
    kind: str = BROAD,
) -> str | None:
    """A row a rung, the first lowest.

    Args:
        read: of a page, a share in 0..1 and its interval.
        name: makes the drawing's ids unique. measure: what is shown, on the axis.
        best: where a line stands that no rung beats on average; line: what that is. kind: broad or narrow.
    """
    if not rungs:
        return None
    values = [read(rung.page) for rung in rungs]
    lows = [interval[0] if interval else value for value, interval in values]
    highs = [interval[1] if interval else value for value, interval in values]
    low, high = min(lows), max([*highs, *([] if best is None else [best])])
    spread = max(high - low, 0.02)
    with drawing():
        figure, axes = new_figure(NARROW_INCHES if kind == NARROW else 9.6, 1.3 + 0.42 * len(rungs))
        marks = approach_marks(figure, [rung.approach for rung in rungs])
        edge = high + 0.02 * spread
        for height, (rung, (value, _)) in enumerate(zip(rungs, values, strict=True)):
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
        axes.set_xlabel(folded(visible(measure)) if kind == NARROW else visible(measure))
        ending = "" if best is None else f"; {line} {numbers.share(best)}"
        if best is not None:
            axes.axvline(best, color=SERIES[1], linestyle="--", linewidth=1.5)
            top = (best, len(rungs) - 0.28)
            note = f"{line} {numbers.share(best)}"
            axes.annotate(note, top, (-6, 0), textcoords="offset points", color=SERIES[1], va="top", ha="right")
        return to_svg(figure, f"{name}-{kind}", f"{measure}, every rung{ending}", kind=kind)
