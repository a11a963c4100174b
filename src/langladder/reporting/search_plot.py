"""What a wider beam buys: search errors and BLEU against beam width, side by side."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from langladder.reporting.rungs import TranslatorRung, WidthErrors
from langladder.reporting.svg import DASHES, MARKERS, SERIES, drawing, hues, to_svg, visible


def search_errors_plot(rungs: Sequence[TranslatorRung]) -> str | None:
    """Search errors (per cent of the wrong translations) and BLEU by beam width, a line a rung."""
    widths = sorted({result.width for rung in rungs for result in rung.search_errors.by_width})
    if not widths:
        return None
    with drawing():
        figure = Figure(figsize=(10.4, 3.2), layout="constrained")
        FigureCanvasAgg(figure)  # measures text
        errors, bleu = figure.subplots(1, 2)
        _lines(errors, rungs, widths, lambda result: None if result.share is None else 100 * result.share)
        _lines(bleu, rungs, widths, lambda result: result.bleu)
        errors.set_ylabel("search errors, % of the wrong")
        errors.set_ylim(bottom=0)
        bleu.set_ylabel("BLEU")
        bleu.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        return to_svg(figure, "search-errors", "Search errors and BLEU by beam width")


def _lines(
    axes: Axes, rungs: Sequence[TranslatorRung], widths: list[int], read: Callable[[WidthErrors], float | None]
) -> None:
    for i, (rung, hue) in enumerate(zip(rungs, hues(len(rungs)), strict=True)):
        found = [(widths.index(r.width), value) for r in rung.search_errors.by_width if (value := read(r)) is not None]
        dash, mark = DASHES[i // len(SERIES) % len(DASHES)], MARKERS[i % len(MARKERS)]
        x, y = zip(*found, strict=True) if found else ((), ())
        axes.plot(x, y, linestyle=dash, marker=mark, color=hue, linewidth=2, label=visible(rung.title))
    axes.set_xticks(range(len(widths)), [str(width) for width in widths])
    axes.set_xlabel("beam width")
