"""Matplotlib figures as inline SVG: the same bytes for the same numbers, at home on light and dark pages.

- Colours are drawn from `INK`, `GRID` and `SERIES` and become CSS variables of the page, which knows two sets of them.
  The series are Okabe and Ito's (2008), told apart with colour-blind eyes; marks and dashes differ as well.
- Text stays text: it can be searched, follows the reader's font, and any script shows that the reader's system has.
  What runs to the left says so (`plain`); its place is still measured as if it ran to the right.
- The ids that matplotlib makes are the same in every figure; a page with several needs them prefixed.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import cycle, islice
from typing import Any
from xml.sax.saxutils import escape, unescape

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from langladder.faces.report.choosing import Choice
from langladder.faces.report.enclosed import plain

INK, GRID = "#1b1e23", "#b9bec6"
LINE = "#7f8103"  # of a line that is a rung's: the page says which rungs have a colour, and which are grey
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
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


def visible(text: str) -> str:
    """Text fit for a label: line ends and control characters as marks, since SVG must not hold them."""
    return "".join("⏎" if char == "\n" else char if char.isprintable() or char in _JOINING else "�" for char in text)


def line_of(rung: str, part: str = "") -> str:
    """The `gid` of a line that is a rung's; `part` says which of several, e.g. `train`."""
    return f"rung:{part}:{rung}"


def to_svg(figure: Figure, name: str, label: str, choice: Choice | None = None) -> str:
    """The figure as an `<svg>` element for the page.

    Args:
        name: makes its ids unique.
        label: says what it shows.
        choice: the rungs whose lines (`line_of`) are drawn, and which of them have a colour at first.
    """
    text = _render(figure)
    if choice is not None:
        text = _lines(text, choice)
    for hue, variable in _VARIABLES.items():
        text = text.replace(hue, variable)
    return _prefix_ids(_named(text, label), name)


def to_file(figure: Figure, label: str) -> str:
    """The figure as an SVG file of its own: fixed colours on a white panel, readable wherever it is shown."""
    figure.set_facecolor("white")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + _named(_render(figure), label) + "\n"


def _render(figure: Figure) -> str:
    buffer = StringIO()
    figure.savefig(buffer, format="svg", facecolor=figure.get_facecolor(), metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r"(<text[^>]*>)([^<]+)", lambda found: found[1] + escape(plain(unescape(found[2]))), text)
    return re.sub(r"\n\s*", "\n", text).strip()


def _lines(svg: str, choice: Choice) -> str:
    """Give each rung's lines their class, name and colour."""
    for rung, title in choice.titles.items():
        name, shown = escape(rung, {'"': "&quot;"}), escape(visible(title))
        place = choice.chosen.index(rung) if rung in choice.chosen else None
        style = "" if place is None else f' style="--rung: var(--series-{place % len(SERIES)})"'
        on = "" if place is None else " on"
        svg = re.sub(
            rf'<g id="rung:(\w*):{re.escape(name)}">',
            lambda m, on=on, style=style, name=name, shown=shown: (  # type: ignore[misc]
                f'<g class="{f"rung {m[1]}".strip()}{on}" data-rung="{name}"{style}><title>{shown}</title>'
            ),
            svg,
        )
    return svg


def _named(svg: str, label: str) -> str:
    """Give the element the role of an image and a name for those who hear the page."""
    escaped = visible(label).replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escaped}" ', 1)


def _prefix_ids(svg: str, name: str) -> str:
    used = set(re.findall(r'(?:href="#|url\(#)([\w.-]+)', svg))
    svg = re.sub(r' id="([\w.-]+)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", svg)
    return re.sub(r'(href="#|url\(#)([\w.-]+)', rf"\g<1>{name}-\g<2>", svg)
