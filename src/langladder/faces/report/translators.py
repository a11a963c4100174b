"""Translators in the report: translations side by side, BLEU by length, search errors, attention."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from langladder.evaluation.translation import Translation, TranslatorPage, WidthResult
from langladder.faces.report.bidi import isolated, plain
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.plots import (
    GRID,
    LinePlot,
    draw_line,
    drawing,
    line_plot,
    new_figure,
    shaded,
    to_file,
    to_svg,
    visible,
)
from langladder.faces.report.section import Column, Picture, RungPictures, Section, drawn_lines, page_columns
from langladder.faces.report.selection import BESIDE, COLOURED, Loss, aligned, choice
from langladder.text.words.direction import direction

# Figures are most of the file's size: rungs share these.
MAX_ATTENTION_MAPS = 24

MAPS_A_RUNG = 4

LONGEST_MAP = 40  # tokens; longer sentences make maps that nobody can read

TranslatorRungs = Sequence[Entry[TranslatorPage]]


def loss(page: TranslatorPage) -> float:
    """What chrF or BLEU lacks, whichever is the figure to go by."""
    return 100 - (page.scores.chrf if page.scores.main == "chrf" else page.scores.bleu)


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Translations side by side, BLEU by length and how it comes about, search errors, n-best lists, attention."""
    rungs = inputs.rungs_with(family, TranslatorPage)
    if not rungs:
        return
    lengths, widths = length_plot(rungs, loss), search_errors_plot(rungs, loss)
    examined = [rung for rung in rungs if rung.page.examples]
    attention = list(_attention(rungs, inputs.languages))
    attentive = [rung for rung in examined if rung.name in {drawn.name for drawn in attention}]
    context: dict[str, object] = {
        "rungs": rungs,
        "translations": aligned(
            examined, lambda page: (((seen.source, seen.reference), seen) for seen in page.examples)
        ),
        "shown": choice(examined, loss, BESIDE),
        "attention": attention,
        "attentive": choice(attentive, loss, 1, most=2),
        "by_length": lengths and drawn_lines(lengths),
        "search_errors": widths and drawn_lines(widths),
    }
    yield Section("translations", "Translations and attention", "translations.html.j2", context)


def _attention(rungs: TranslatorRungs, languages: Mapping[str, str | None]) -> Iterator[RungPictures]:
    """Maps of the first sentences of each rung that has attention."""
    drawable = [
        (rung, [seen for seen in rung.page.examples if seen.attention and len(seen.source_tokens) <= LONGEST_MAP])
        for rung in rungs
    ]
    drawable = [(rung, examples) for rung, examples in drawable if examples]
    each = min(MAPS_A_RUNG, max(1, MAX_ATTENTION_MAPS // max(1, len(drawable))))
    for i, (rung, examples) in enumerate(drawable):
        drawn = [
            Picture(
                Markup(svg),
                isolated(example.source, languages.get("source"))
                + " → "
                + isolated(example.output, languages.get("target")),
            )
            for j, example in enumerate(examples[:each])
            if (svg := attention_plot(example, f"attention-{i}-{j}", rung.title))
        ]
        yield RungPictures(rung.name, rung.title, drawn)


def columns(pages: Sequence[TranslatorPage]) -> list[Column[TranslatorPage]]:
    """The columns; chrF first where it is the figure to go by, for BLEU then counts characters or so."""
    results = page_columns(pages)
    if not any(page.scores.main == "chrf" for page in pages):
        return results
    return sorted(results, key=lambda column: column.title != "chrF")


def length_plot(translators: Sequence[Entry[TranslatorPage]], loss: Loss[TranslatorPage]) -> LinePlot | None:
    """BLEU by source length, a line a rung."""
    lengths = list(dict.fromkeys(bucket.length for rung in translators for bucket in rung.page.by_length))
    lines = {
        rung.name: [
            (lengths.index(bucket.length), bucket.bleu) for bucket in rung.page.by_length if bucket.bleu is not None
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


def search_errors_plot(translators: Sequence[Entry[TranslatorPage]], loss: Loss[TranslatorPage]) -> LinePlot | None:
    """What a wider beam buys: search errors (per cent of the wrong translations) and BLEU by beam width."""
    widths = sorted({result.width for rung in translators for result in rung.page.by_width})
    rungs = [rung for rung in translators if rung.page.by_width]
    chosen = choice(rungs, loss, COLOURED)

    def draw(errors: Axes, bleu: Axes) -> None:
        for axes, read in ((errors, _share), (bleu, _bleu)):
            for number, rung in enumerate(rungs):
                results = [(widths.index(point.width), read(point)) for point in rung.page.by_width]
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


def attention_plot(example: Translation, name: str, title: str, *, standalone: bool = False) -> str | None:
    """Heat map of attention: a row an output token, a column a source token; nothing is clear, 1 is full colour.

    Args:
        standalone: an SVG file on a white panel instead of an element of the page.
    """
    if not example.attention:
        return None
    weights = np.array(example.attention)  # (output, source)
    rows, columns = weights.shape
    with drawing():
        figure, axes = new_figure(1.2 + 0.22 * columns, 1.0 + 0.22 * rows)
        axes.imshow(shaded(weights), aspect="equal")
        axes.set_xticks(range(columns), [visible(token) for token in example.source_tokens], rotation=55, ha="left")
        axes.set_yticks(range(rows), [visible(token) for token in example.output_tokens])
        if direction(example.source) == "rtl":
            axes.invert_xaxis()  # its tokens are read from the right
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
        caption = f"Attention of {title}, from {plain(example.source)} to {plain(example.output)}"
        return to_file(figure, caption) if standalone else to_svg(figure, name, caption)
