"""Matplotlib figures as inline SVG: the same bytes for the same numbers, at home on light and dark pages.

- Colours are drawn from `INK`, `GRID` and `SERIES` and become CSS variables of the page, which knows two sets of them.
  The series are Okabe and Ito's (2008), told apart with colour-blind eyes; marks and dashes differ as well.
- Text stays text: it can be searched, follows the reader's font, and any script shows that the reader's system has.
- The ids that matplotlib makes are the same in every figure; a page with several needs them prefixed.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import cycle, islice
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

INK, GRID = "#1b1e23", "#b9bec6"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")

_VARIABLES = {INK: "currentColor", GRID: "var(--grid)"} | {hue: f"var(--series-{i})" for i, hue in enumerate(SERIES)}

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
    return "".join("⏎" if char == "\n" else char if char.isprintable() else "�" for char in text)


def to_svg(figure: Figure, name: str, label: str) -> str:
    """The figure as an `<svg>` element for the page; `name` makes its ids unique, `label` says what it shows."""
    text = _render(figure)
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
    return re.sub(r"\n\s*", "\n", text).strip()


def _named(svg: str, label: str) -> str:
    """Give the element the role of an image and a name for those who hear the page."""
    escaped = visible(label).replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escaped}" ', 1)


def _prefix_ids(svg: str, name: str) -> str:
    used = set(re.findall(r'(?:href="#|url\(#)([\w.-]+)', svg))
    svg = re.sub(r' id="([\w.-]+)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", svg)
    return re.sub(r'(href="#|url\(#)([\w.-]+)', rf"\g<1>{name}-\g<2>", svg)
