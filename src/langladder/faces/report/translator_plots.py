"""Translators, a line a rung: BLEU by length, search errors and BLEU by beam width."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from langladder.evaluation.search_errors import WidthResult
from langladder.evaluation.translation import TranslatorPage
from langladder.faces.report.choosing import COLOURED, Loss, choice
from langladder.faces.report.entries import Entry
from langladder.faces.report.line_plots import LinePlot, draw_line, line_plot
from langladder.faces.report.svg import visible


def length_plot(translators: Sequence[Entry[TranslatorPage]], loss: Loss) -> LinePlot | None:
    """BLEU by source length, a line a rung."""
    lengths = list(dict.fromkeys(bucket.length for rung in translators for bucket in rung.page.by_length))
    lines = {
        rung.name: [
            (lengths.index(found.length), found.bleu) for found in rung.page.by_length if found.bleu is not None
        ]
        for rung in translators
    }
    rungs = [rung for rung in translators if lines[rung.name]]
    chosen = choice(rungs, loss, COLOURED)

    def draw(axes: Axes) -> None:
        for number, rung in enumerate(rungs):
            draw_line(axes, rung, lines[rung.name], number, chosen)
        axes.set_xticks(range(len(lengths)), [visible(length) for length in lengths])
        axes.set_xlabel("words of the source sentence")
        axes.set_ylabel("BLEU")
        axes.set_ylim(0, 105)

    return line_plot("by-length", "BLEU by length of the source sentence", chosen, draw)


def search_errors_plot(translators: Sequence[Entry[TranslatorPage]], loss: Loss) -> LinePlot | None:
    """What a wider beam buys: search errors (per cent of the wrong translations) and BLEU by beam width."""
    widths = sorted({result.width for rung in translators for result in rung.page.by_width})
    rungs = [rung for rung in translators if rung.page.by_width]
    chosen = choice(rungs, loss, COLOURED)

    def draw(errors: Axes, bleu: Axes) -> None:
        for axes, read in ((errors, _share), (bleu, _bleu)):
            for number, rung in enumerate(rungs):
                results = [(widths.index(found.width), read(found)) for found in rung.page.by_width]
                draw_line(axes, rung, [(x, y) for x, y in results if y is not None], number, chosen)
            axes.set_xticks(range(len(widths)), [str(width) for width in widths])
            axes.set_xlabel("beam width")
        errors.set_ylabel("search errors, % of the wrong")
        errors.set_ylim(bottom=0)
        bleu.set_ylabel("BLEU")

    return line_plot("search-errors", "Search errors and BLEU by beam width", chosen, draw, panels=2)


def _share(result: WidthResult) -> float | None:
    share = result.errors.share
    return None if share is None else 100 * share


def _bleu(result: WidthResult) -> float | None:
    return result.bleu
