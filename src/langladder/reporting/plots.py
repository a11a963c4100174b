"""The report's plots, each a function from inputs to an `<svg>` element; `None` where there is nothing to draw."""

from collections.abc import Sequence
from itertools import cycle
from math import ceil, isfinite

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from langladder.reporting import numbers
from langladder.reporting.inputs import ReportInputs, Task
from langladder.reporting.rungs import EmbeddingRung, Translation, TranslatorRung
from langladder.reporting.svg import DASHES, GRID, MARKERS, SERIES, drawing, hues, new_figure, to_file, to_svg, visible

TASK_NAMES: dict[Task, str] = {"lm": "language models", "embedding": "word vectors", "translator": "translators"}
_LOG_FROM = 6.0  # a log axis pays once the largest value is so many times the smallest


def ladder_plot(inputs: ReportInputs, *, standalone: bool = False) -> str | None:
    """The project's picture: perplexity a word of each language model over the entropy floor, first rung lowest.

    Args:
        standalone: an SVG file on a white panel (for README and docs) instead of an element of the page.
    """
    rungs = [(rung, value) for rung in inputs.lms if (value := rung.scores.perplexity_per_word) is not None]
    if not rungs:
        return None
    floor, values = inputs.floor, [value for _, value in rungs]
    with drawing():
        figure, axes = new_figure(9.6, 1.3 + 0.42 * len(rungs))
        finite = [value for value in values if isfinite(value)]
        _value_axis(axes, [*finite, *([floor] if floor else [])] or [1.0])
        values = [min(value, axes.get_xlim()[1]) for value in values]  # what is infinite stands at the edge
        left = floor if floor else axes.get_xlim()[0]
        axes.hlines(range(len(rungs)), left, values, color=SERIES[0], linewidth=2.2, alpha=0.55)
        axes.plot(values, range(len(rungs)), "o", color=SERIES[0], markersize=8)
        for height, ((rung, value), place) in enumerate(zip(rungs, values, strict=True)):
            above = rung.scores.above_floor_percent
            text = numbers.perplexity(value) + (f"  (+{above:.0f} %)" if above is not None and isfinite(above) else "")
            axes.annotate(text, (place, height), (9, 0), textcoords="offset points", va="center")
        axes.set_yticks(range(len(rungs)), [visible(rung.title) for rung, _ in rungs])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(-0.6, len(rungs) - 0.2)
        axes.grid(axis="y", visible=False)
        if floor:
            axes.axvline(floor, color=SERIES[1], linestyle="--", linewidth=1.5)
            note = f"entropy floor {numbers.perplexity(floor)}"
            top = (floor, len(rungs) - 0.28)
            axes.annotate(note, top, (6, 0), textcoords="offset points", color=SERIES[1], va="top")
        axes.set_xlabel("perplexity a word on the test text (lower is better)")
        label = "Perplexity a word of every language model" + (f"; entropy floor {floor:.4g}" if floor else "")
        return to_file(figure, label) if standalone else to_svg(figure, "ladder", label)


def _value_axis(axes: Axes, values: list[float]) -> None:
    """Limits with room for the numbers at the right; logarithmic where values lie far apart."""
    low, high = min(values), max(values)
    if high / low >= _LOG_FROM:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(low * (low / high) ** 0.06, high * (high / low) ** 0.25)
    else:
        spread = (high - low) or high
        axes.set_xlim(low - 0.06 * spread, high + 0.25 * spread)


def curves_plot(inputs: ReportInputs, task: Task) -> str | None:
    """Learning curves of all rungs of a task: validation loss strong, training loss faint."""
    rungs = inputs.rungs(task)
    with drawing():
        figure, axes = new_figure(10.4, max(3.6, 0.5 + 0.24 * len(rungs)))
        for i, (rung, hue) in enumerate(zip(rungs, hues(len(rungs)), strict=True)):
            curve = inputs.curves.get((task, rung.name), [])
            train = [(p.step, p.train_loss) for p in curve if p.train_loss is not None]
            valid = [(p.step, p.validation_loss) for p in curve if p.validation_loss is not None]
            if train:
                dash = DASHES[i // len(SERIES) % len(DASHES)]
                axes.plot(
                    *zip(*train, strict=True), color=hue, alpha=0.45 if valid else 1.0, linewidth=1.2, linestyle=dash
                )
            if valid:
                _marked_line(axes, valid, i, hue)
            if train or valid:
                axes.lines[-1].set_label(visible(rung.title))
        if not axes.lines:
            return None
        _over_steps(axes, "loss (nats)")
        return to_svg(figure, f"curves-{task}", f"Learning curves of the {TASK_NAMES[task]}")


def bleu_curves_plot(inputs: ReportInputs) -> str | None:
    """BLEU of greedy translations at every validation, for the translators that were chosen by it."""
    rungs = inputs.translators
    with drawing():
        figure, axes = new_figure(10.4, 3.2)
        for i, (rung, hue) in enumerate(zip(rungs, hues(len(rungs)), strict=True)):
            curve = inputs.curves.get(("translator", rung.name), [])
            if points := [(p.step, p.validation_bleu) for p in curve if p.validation_bleu is not None]:
                _marked_line(axes, points, i, hue)
                axes.lines[-1].set_label(visible(rung.title))
        if not axes.lines:
            return None
        _over_steps(axes, "BLEU, greedy")
        return to_svg(figure, "curves-bleu", "BLEU of the validation pairs during training")


def _marked_line(axes: Axes, points: list[tuple[int, float]], number: int, hue: str) -> None:
    """The strong line of rung `number`, with its mark where the points are few enough to be told apart."""
    mark = MARKERS[number % len(MARKERS)] if len(points) <= 40 else None
    dash = DASHES[number // len(SERIES) % len(DASHES)]
    axes.plot(*zip(*points, strict=True), color=hue, linewidth=2, linestyle=dash, marker=mark, markersize=4.5)


def _over_steps(axes: Axes, measured: str) -> None:
    """Axes and legend of a curve over training steps."""
    axes.set_xlabel("training step")
    axes.set_ylabel(measured)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))


def map_plot(rung: EmbeddingRung, name: str) -> str | None:
    """Words of the embedding map as points with labels, coloured (and marked) by group."""
    if not rung.map:
        return None
    groups = list(dict.fromkeys(point.group for point in rung.map))
    with drawing():
        figure, axes = new_figure(10.4, 6.6)
        for group, hue, mark in zip(groups, hues(len(groups)), cycle(MARKERS), strict=False):
            x, y = zip(*((point.x, point.y) for point in rung.map if point.group == group), strict=True)
            axes.plot(x, y, mark, color=hue, markersize=5, label=visible(group) or "other")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[["top", "right"]].set_visible(True)
        axes.margins(0.06)
        axes.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.01),
            ncols=ceil(len(groups) / ceil(len(groups) / 6)),
            handletextpad=0.2,
        )
        place_labels(figure, axes, [(point.word, point.x, point.y) for point in rung.map])
        return to_svg(figure, name, f"Map of word vectors: {rung.title}")


# Where a label may stand about its point: offset in points, horizontal and vertical alignment.
_PLACES = ((5, 0, "left", "center"), (-5, 0, "right", "center"), (0, 5, "center", "bottom"), (0, -5, "center", "top"))

_MARK = 2.5  # half a mark, which a label must not touch


def place_labels(figure: Figure, axes: Axes, points: Sequence[tuple[str, float, float]]) -> None:
    """Label the points in order, each at the first place where it hides neither point nor label; else not at all."""
    figure.draw_without_rendering()  # fixes the layout, so that places on the page are known
    spots = axes.transData.transform([(x, y) for _, x, y in points])  # (points, 2) in pixels
    frame = axes.get_window_extent()
    taken = np.empty((0, 4))  # x0, y0, x1, y1
    for word, x, y in points:
        for dx, dy, horizontal, vertical in _PLACES:
            label: Annotation = axes.annotate(
                visible(word), (x, y), (dx, dy), textcoords="offset points", ha=horizontal, va=vertical, fontsize=9
            )
            label.set_in_layout(False)
            box = np.array(label.get_window_extent().extents)
            inside = (spots > box[:2] - _MARK).all(axis=1) & (spots < box[2:] + _MARK).all(axis=1)
            overlaps = (taken[:, :2] < box[2:]).all(axis=1) & (taken[:, 2:] > box[:2]).all(axis=1)
            if not inside.any() and not overlaps.any() and frame.x0 <= box[0] and box[2] <= frame.x1:
                taken = np.vstack([taken, box])
                break
            label.remove()


def attention_plot(example: Translation, name: str, title: str, *, standalone: bool = False) -> str | None:
    """Heat map of attention: a row an output token, a column a source token; nothing is clear, 1 is full colour.

    Args:
        standalone: an SVG file on a white panel instead of an element of the page.
    """
    if not example.attention:
        return None
    weights = np.clip(np.array(example.attention), 0.0, 1.0)  # (output, source)
    rows, columns = weights.shape
    picture = np.empty((rows, columns, 4))
    picture[..., :3] = to_rgb(SERIES[0])
    picture[..., 3] = weights
    with drawing():
        figure, axes = new_figure(1.2 + 0.22 * columns, 1.0 + 0.22 * rows)
        axes.imshow(picture, aspect="equal")
        axes.set_xticks(range(columns), [visible(token) for token in example.source_tokens], rotation=55, ha="left")
        axes.set_yticks(range(rows), [visible(token) for token in example.output_tokens])
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
        caption = f"Attention of {title}, from {example.source} to {example.output}"
        return to_file(figure, caption) if standalone else to_svg(figure, name, caption)


def length_plot(rungs: Sequence[TranslatorRung]) -> str | None:
    """BLEU by source length, a line a rung."""
    lengths = list(dict.fromkeys(bucket.length for rung in rungs for bucket in rung.by_length))
    if not lengths:
        return None
    with drawing():
        figure, axes = new_figure(10.4, 3.2)
        for i, (rung, hue) in enumerate(zip(rungs, hues(len(rungs)), strict=True)):
            points = [
                (lengths.index(bucket.length), bucket.bleu) for bucket in rung.by_length if bucket.bleu is not None
            ]
            if points:
                dash, mark = DASHES[i // len(SERIES) % len(DASHES)], MARKERS[i % len(MARKERS)]
                x, y = zip(*points, strict=True)
                axes.plot(x, y, linestyle=dash, marker=mark, color=hue, linewidth=2, label=visible(rung.title))
        if not axes.lines:
            return None
        axes.set_xticks(range(len(lengths)), [visible(length) for length in lengths])
        axes.set_xlabel("words of the source sentence")
        axes.set_ylabel("BLEU")
        axes.set_ylim(0, 105)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        return to_svg(figure, "by-length", "BLEU by length of the source sentence")
