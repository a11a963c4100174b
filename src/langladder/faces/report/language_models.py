"""Language models and encoders in the report: their tables, the ladder's picture over the entropy floor, what they
write, what encoders put into gaps."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from langladder.evaluation.attention_maps import AttentionMaps
from langladder.evaluation.encoder import EncoderPage, Gap
from langladder.evaluation.language_model import LanguageModelPage, Sample
from langladder.faces.report import numbers
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.plots import (
    BROAD,
    INK,
    NARROW,
    NARROW_INCHES,
    SERIES,
    LinePlot,
    approach_marks,
    dated,
    draw_line,
    drawing,
    folded,
    line_plot,
    new_figure,
    shaded,
    to_file,
    to_svg,
    visible,
)
from langladder.faces.report.section import (
    Column,
    Picture,
    RungPictures,
    Section,
    drawn_lines,
    in_two_widths,
    page_columns,
)
from langladder.faces.report.selection import BESIDE, COLOURED, Aligned, aligned, choice
from langladder.faces.report.steps import ALIKE, ladder_steps, representatives
from langladder.text.words.segmentation import description_of

_DECADES_FROM = 500.0  # so many times, and a log axis has labels at the powers of ten only

HEADS_A_ROW = 4  # of the maps of a layer

_LOG_FROM = 6.0  # a log axis pays once the largest value is so many times the smallest

LanguageModels = Sequence[Entry[LanguageModelPage]]


def columns(pages: Sequence[LanguageModelPage] | Sequence[EncoderPage]) -> list[Column[Any]]:
    """The columns; where words are graphemes, bits per character of language models come first.

    Perplexity per word says what a word was.
    """
    units = {page.scores.word_unit for page in pages if isinstance(page, LanguageModelPage)}
    if not units:
        return page_columns(pages)
    results = {column.title: column for column in page_columns(pages)}
    words = all(page.text_unit == "word" for page in pages)
    title = f"perplexity per {'word' if words else 'grapheme'}"
    counted = "; ".join(map(description_of, sorted(units)))
    explanation = f"{results[title].explanation}. What counts as a word here: {counted}"
    results[title] = replace(results[title], explanation=explanation, brief=words, compared=words)
    if words:
        return [*results.values()]
    return [replace(results.pop("bits per character"), brief=True, compared=True), *results.values()]


def loss(page: LanguageModelPage | EncoderPage) -> float:
    """The figure by which language models are compared, see `TextScores.headline`; of encoders pseudo-perplexity."""
    if isinstance(page, EncoderPage):
        return page.pseudo.per_word
    return page.scores.headline[1]


def headline(inputs: ReportInputs, family: str) -> tuple[str, str] | None:
    """The first sentence of the report: what is best, and which rung it is with how much."""
    rungs = inputs.rungs_with(family, LanguageModelPage)
    measured = [rung for rung in rungs if isfinite(loss(rung.page))]
    if not measured:
        return None
    best = min(measured, key=lambda rung: loss(rung.page))
    name, value = best.page.scores.headline
    text = f"{best.title_with_given}, with {name} {headline_text(name, value)}"
    above = best.page.scores.above_floor_percent
    text += "" if above is None else f", {numbers.percent(above)} above the floor"
    return "Best language model on this text", text


def pictures(inputs: ReportInputs, family: str) -> Iterable[Picture]:
    """The ladder; how well each rung predicts lines further down in a document."""
    rungs = inputs.rungs_with(family, LanguageModelPage)
    if not rungs:
        return
    name = rungs[0].page.scores.headline[0]
    caption = f"{name.capitalize()} on the test text, from the oldest rung (bottom) to the newest (top)."
    floor = rungs[0].page.scores.floor_perplexity_per_word
    if floor:
        caption += " The dashed line is the entropy floor: the true uncertainty of the text, which no model can beat."
        caption += _what_context_is_worth(_windows(inputs), floor)
    figures = columns([rung.page for rung in rungs])
    ladder = in_two_widths(partial(ladder_plot, rungs, inputs.meta.text, sentence_floor=sentence_floor(inputs)))
    yield replace(ladder, caption=caption, finding=ladder_steps(rungs, figures))
    if drawn := positions_plot(rungs):
        title = f"Perplexity per {rungs[0].page.text_unit} by position in the document"
        caption = "Perplexity of the lines at each position of the test documents, numbered from 1."
        if any(position.floor for position in rungs[0].page.scores.positions):
            caption += " The dashed line is the entropy floor of a reader of all previous lines."
        yield drawn_lines(drawn, title, caption, positions_finding(representatives(rungs, figures)[-2:]))


def _windows(inputs: ReportInputs) -> Sequence[Mapping[str, float]]:
    """The floors for a reader of less than the whole document, where the corpus knows them."""
    windows: Sequence[Mapping[str, float]] = inputs.data.get("text", {}).get("floors", {}).get("windows", ())
    return windows


def sentence_floor(inputs: ReportInputs) -> float | None:
    """The floor for a reader of one sentence alone; None where the corpus does not know it."""
    return next((window["perplexity"] for window in _windows(inputs) if window["sentences"] == 0), None)


def _what_context_is_worth(windows: Sequence[Mapping[str, float]], floor: float) -> str:
    """The floors for a reader of less than the whole document."""
    if not windows:
        return ""
    figures = []
    for window in windows:
        seen = int(window["sentences"])
        who = {0: "the sentence alone", 1: "one sentence before it"}.get(seen, f"{seen} sentences before it")
        above = 100 * (window["perplexity"] / floor - 1)
        figures.append(
            f"{who} {numbers.perplexity(window['perplexity'])} (+{above:.1f} ± {window['error_percent']:.1f} %)"
        )
    return (
        f" It is {numbers.perplexity(floor)} for a reader of the whole document so far. With less context: "
        f"{', '.join(figures)}. The dotted line is the floor for the sentence alone. A "
        "model that also reads the sentences before it can be below that line."
    )


def positions_plot(rungs: LanguageModels) -> LinePlot | None:
    """Perplexity by the position of a line in its document, a line a rung; None where all lines stand at one."""
    groups = {
        (position.first, position.last): position.floor for rung in rungs for position in rung.page.scores.positions
    }
    order = sorted(groups)
    points = {
        rung.name: [
            (float(order.index((position.first, position.last))), position.perplexity)
            for position in rung.page.scores.positions
            if position.perplexity is not None
        ]
        for rung in rungs
    }
    rungs = [rung for rung in rungs if points[rung.name]]
    chosen = choice(rungs, loss, COLOURED)
    if len(order) < 2:
        return None

    def draw(axes: Axes) -> None:
        for number, rung in enumerate(rungs):
            draw_line(axes, rung, points[rung.name], number, chosen)
        floors = [(index, floor) for index, key in enumerate(order) if (floor := groups[key])]
        if floors:
            axes.plot(*zip(*floors, strict=True), color=INK, linestyle="--", linewidth=1.5, zorder=3)
            axes.annotate("entropy floor", floors[-1], (0, -14), textcoords="offset points", ha="right")
        values = [floor for _, floor in floors] + [value for line in points.values() for _, value in line]
        if max(values) / min(values) >= _LOG_FROM:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        axes.margins(y=0.12)
        axes.set_xticks(range(len(order)), [_span(*key) for key in order])
        axes.set_xlabel("position of the line in its document")
        axes.set_ylabel(f"perplexity per {rungs[0].page.text_unit} (lower is better)")

    label = "Perplexity of every language model by position in the document"
    return line_plot("positions", label, chosen, draw, 4.2)


def positions_finding(rungs: LanguageModels) -> str:
    """How far perplexity changes from the first lines of a document to the last, of the rungs of the last step.

    A document's first line is often of a kind of its own (a title, an introduction): the second begins, where a
    third position is known.

    Args:
        rungs: the older before the newer; or one.
    """
    where, changes, floors = "", list[float](), list[str]()
    for rung in rungs:
        positions = rung.page.scores.positions
        positions = positions[1:] if len(positions) > 2 else positions
        values = [
            position.perplexity for position in positions if position.perplexity and isfinite(position.perplexity)
        ]
        if len(values) < max(2, len(positions)):
            return ""
        first, last = positions[0], positions[-1]
        where = f"From {_lines(first.first, first.last)} of a document to {_lines(last.first, last.last)}"
        changes.append(values[-1] / values[0] - 1)
        if first.floor and last.floor:
            floors = [f"the entropy floor {_change(last.floor / first.floor - 1)}"]
    parts = [f"the perplexity of {rung.title} {_change(change)}" for rung, change in zip(rungs, changes, strict=True)]
    if not parts:
        return ""
    clauses = [*floors, *reversed(parts)]
    sentence = f"{where}, {', '.join(clauses[:-1])}{' and ' * (len(clauses) > 1)}{clauses[-1]}"
    if len(changes) < 2:
        return f"{sentence}."
    (old, new), gap = (rung.title for rung in rungs), changes[1] - changes[0]
    gaining = [rung.title for rung, change in zip(rungs, changes, strict=True) if change < 0]
    if len(gaining) < 2:
        which = f"of the two, only {gaining[0]} gains" if gaining else "neither gains"
        return f"{sentence}: {which} from the lines in between."
    if abs(gap) < ALIKE:
        return f"{sentence}: {new} and {old} gain about equally from the lines in between."
    return f"{sentence}: {new} gains {'more' if gap < 0 else 'less'} from the lines in between than {old}."


def _lines(first: int, last: int | None) -> str:
    return f"line {first}" if first == last else f"lines {_span(first, last)}"


def _change(share: float) -> str:
    """`falls by 18 %`."""
    text = f"{100 * abs(share):.0f} %"
    return "stays the same" if text == "0 %" else f"{'rises' if share > 0 else 'falls'} by {text}"


def _span(first: int, last: int | None) -> str:
    """A group of positions: 1, 3–4, 51 …"""
    return f"{first} …" if last is None else f"{first}" if first == last else f"{first}–{last}"


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """What each rung makes of the same prompts, what encoders put into the same gaps."""
    writers = [rung for rung in inputs.rungs_with(family, LanguageModelPage) if rung.page.samples]
    if writers:
        context: dict[str, object] = {"generations": generations(writers)}
        context["writers"] = choice(writers, loss, BESIDE)
        yield Section("generations", "What the language models write", "generations.html.j2", context)
    encoders = [rung for rung in inputs.rungs_with(family, EncoderPage) if rung.page.gaps]
    if encoders:
        filled = aligned(encoders, lambda page: map(_guessed, page.gaps))
        context = {"filled": filled, "fillers": choice(encoders, loss, BESIDE)}
        context["truth"] = any(
            guess.true is not None for rung in encoders for gap in rung.page.gaps for guess in gap.guesses
        )
        yield Section("gaps", "What encoders put into gaps", "gaps.html.j2", context)
    every: list[Entry[Any]] = [*inputs.rungs_with(family, LanguageModelPage)]
    every += inputs.rungs_with(family, EncoderPage)
    attentive = [rung for rung in every if rung.page.attention]
    if attentive:
        title = "What encoders read" if encoders else "What GPT reads"
        reads = "An encoder reads both sides" if encoders else "A GPT reads only what stands before"
        context = {"attention": list(_attention(attentive, family)), "attentive": choice(attentive, loss, 1, most=2)}
        context["direction"] = f"{reads}."
        yield Section(f"attention-{family}", f"{title}: attention by layer and head", "attention.html.j2", context)


def _attention(rungs: Sequence[Entry[Any]], family: str) -> Iterable[RungPictures]:
    """A figure a layer with a map a head, for each rung."""
    for i, rung in enumerate(rungs):
        maps: AttentionMaps = rung.page.attention
        drawn = [
            Picture(
                Markup(heads_plot(maps.tokens, heads, f"{family}-attention-{i}-{j}", f"{rung.title}, layer {j + 1}")),
                heading=f"Layer {j + 1} of {len(maps.layers)}",
            )
            for j, heads in enumerate(maps.layers)
        ]
        yield RungPictures(rung.name, rung.title, drawn)


def heads_plot(tokens: Sequence[str], heads: Sequence[Sequence[Sequence[float]]], name: str, title: str) -> str:
    """Small heat maps of the heads of a layer side by side: a row a token that reads, a column one that is read."""
    T, each = len(tokens), min(len(heads), HEADS_A_ROW)
    rows = -(-len(heads) // each)
    with drawing():
        figure, first = new_figure(1.1 + each * (0.3 + 0.14 * T), rows * (1.3 + 0.14 * T))
        first.remove()
        for number, axes in enumerate(figure.subplots(rows, each, squeeze=False).flat):
            if number >= len(heads):
                axes.remove()
                continue
            axes.imshow(shaded(np.array(heads[number])), aspect="equal")
            axes.set_title(f"head {number + 1}", fontsize=8)
            axes.set_xticks(range(T), [visible(token) for token in tokens], rotation=90, fontsize=6)
            axes.set_yticks(range(T), [visible(token) for token in tokens] if number % each == 0 else [], fontsize=6)
            axes.tick_params(length=0, pad=1)
            axes.grid(visible=False)
        return to_svg(figure, name, f"Attention of {title}, a map for each head")


def generations(rungs: LanguageModels) -> Aligned[tuple[str, int], Sample]:
    """A row a prompt (its second sample is a row of its own: keys are prompt and number)."""

    def numbered(page: LanguageModelPage) -> Iterable[tuple[tuple[str, int], Sample]]:
        seen: Counter[str] = Counter()
        for sample in page.samples:
            seen[sample.prompt] += 1
            yield (sample.prompt, seen[sample.prompt]), sample

    return aligned(rungs, numbered)


def ladder_plot(
    rungs: Sequence[Entry[LanguageModelPage]],
    corpus: str | None,
    *,
    sentence_floor: float | None = None,
    standalone: bool = False,
    kind: str = BROAD,
) -> str | None:
    """The project's picture: perplexity per word of each language model over the entropy floor, first rung lowest.

    Where words are graphemes, it shows bits per character, without the floor.

    Args:
        corpus: name of the text.
        sentence_floor: the floor for a reader of one sentence alone, of documents.
        standalone: an SVG file on a white panel (for README and docs) instead of an element of the page.
        kind: broad or narrow.
    """
    if not rungs:
        return None
    name = rungs[0].page.scores.headline[0]
    losses = [rung.page.scores.headline[1] for rung in rungs]
    floor = rungs[0].page.scores.floor_perplexity_per_word if name == "perplexity per word" else None
    with drawing():
        figure, axes = new_figure(NARROW_INCHES if kind == NARROW else 9.6, 1.3 + 0.42 * len(rungs))
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
        for height, (rung, value) in enumerate(zip(rungs, values, strict=True)):
            above = rung.page.scores.above_floor_percent
            text = headline_text(name, losses[height]) + (
                f"  (+{above:,.0f} %)" if above is not None and isfinite(above) else ""
            )
            axes.annotate(text, (value, height), (9, 0), textcoords="offset points", va="center")
        axes.set_yticks(range(len(rungs)), [visible(dated(rung)) for rung in rungs])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(-0.6, len(rungs) - 0.2)
        axes.grid(axis="y", visible=False)
        if floor:
            axes.axvline(floor, color=SERIES[1], linestyle="--", linewidth=1.5)
            if sentence_floor:
                axes.axvline(sentence_floor, color=SERIES[1], linestyle=":", linewidth=1.5)
                low = (sentence_floor, -0.5)
                axes.annotate("of the sentence alone", low, (6, 0), textcoords="offset points", color=SERIES[1])
            note = f"entropy floor {numbers.perplexity(floor)}"
            top = (floor, len(rungs) - 0.28)
            axes.annotate(note, top, (6, 0), textcoords="offset points", color=SERIES[1], va="top")
        text = f"the test text of {corpus}" if corpus else "the test text"
        axis = visible(f"{name} on {text} (lower is better)")
        axes.set_xlabel(folded(axis) if kind == NARROW else axis)
        label = f"{name.capitalize()} of every language model" + (f"; entropy floor {floor:.4g}" if floor else "")
        return to_file(figure, label) if standalone else to_svg(figure, f"ladder-{kind}", label, kind=kind)


def headline_text(name: str, value: float) -> str:
    """A headline figure as text, see `TextScores.headline`."""
    return numbers.decimals(3)(value) if name == "bits per character" else numbers.perplexity(value)


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


def _guessed(gap: Gap) -> tuple[tuple[str, str, str], list[dict[str, Any]]]:
    """A gap and what was put into it."""
    guesses = [
        {
            "word": guess.word,
            "share": numbers.share(guess.probability),
            "true": None if guess.true is None else numbers.share(guess.true),
            "right": guess.word == gap.word,
        }
        for guess in gap.guesses
    ]
    return (gap.before, gap.word, gap.after), guesses
