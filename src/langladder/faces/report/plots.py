"""Maps of words and of attention, each a function from figures to an `<svg>` element; `None`: nothing to draw."""

from collections.abc import Sequence
from itertools import cycle
from math import ceil

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from langladder.evaluation.translation import Translation
from langladder.evaluation.word_vectors import MapPoint
from langladder.faces.report.enclosed import plain
from langladder.faces.report.svg import GRID, MARKERS, SERIES, drawing, hues, new_figure, to_file, to_svg, visible
from langladder.text.words.direction import direction


def map_plot(points: Sequence[MapPoint], title: str, name: str) -> str | None:
    """Words of the embedding map as points with labels, coloured (and marked) by group."""
    if not points:
        return None
    groups = list(dict.fromkeys(point.group for point in points))
    with drawing():
        figure, axes = new_figure(10.4, 6.6)
        for group, hue, mark in zip(groups, hues(len(groups)), cycle(MARKERS), strict=False):
            x, y = zip(*((point.x, point.y) for point in points if point.group == group), strict=True)
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
        place_labels(figure, axes, [(point.word, point.x, point.y) for point in points])
        return to_svg(figure, name, f"Map of word vectors: {title}")


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
