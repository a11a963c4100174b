"""A tree drawn over its words: at every node what was said of it, in the label's colour, the fuller the surer.

Constituents stand over their parts, the words in a row below; in a tree of dependencies each word is a node, and hangs
below the one that it depends on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from markupsafe import Markup
from rich.cells import cell_len

from langladder.evaluation.classifier import Node
from langladder.faces.report import numbers
from langladder.faces.report.bidi import plain
from langladder.faces.report.plots import SERIES, visible
from langladder.text.words.direction import clusters, direction

MOST_NODES = 79  # of a tree that is drawn
_LETTER, _GAP, _ROW, _RADIUS, _EDGE = 7.2, 14, 40, 11, 16  # px


@dataclass(frozen=True)
class Place:
    """Where a node stands: px from the left, rows from the top."""

    x: float
    row: int


def marks(labels: Sequence[str]) -> dict[str, str]:
    """A sign of a letter or two for each label: + and −, itself where it is short, its first letter, or its number."""
    if list(labels) == ["negative", "positive"]:
        return {"negative": "−", "positive": "+"}
    if all(cell_len(label) <= 2 for label in labels):
        return {label: label for label in labels}
    first = ["".join(clusters(label)[:1]) for label in labels]
    alike = len(set(first)) < len(first)
    return {label: str(place) if alike else first[place - 1] for place, label in enumerate(labels, start=1)}


def colours(labels: Sequence[str]) -> dict[str, str]:
    """Of each label: two, or numbers in order, go from red to blue; others have a hue each."""
    scale = len(labels) == 2 or all(label.isdecimal() for label in labels)
    if not scale:
        return {label: f"var(--series-{place % len(SERIES)})" for place, label in enumerate(labels)}
    last = len(labels) - 1
    middle = "var(--grid)"
    found = {}
    for place, label in enumerate(labels):
        strength = abs(2 * place - last) / max(last, 1)  # 1 at both ends, 0 between
        hue = "var(--series-1)" if 2 * place < last else "var(--series-0)"
        found[label] = f"color-mix(in srgb, {hue} {100 * strength:.0f}%, {middle})"
    return found


def tree_plot(nodes: Sequence[Node], words: Sequence[str], labels: Sequence[str], title: str) -> Markup | None:
    """The tree as an `<svg>` element; None where it is too large to be read.

    Args:
        nodes: children first, the root last. words: from left to right.
        labels: in the order of their ids. title: says what is shown, for those who hear the page.
    """
    if not nodes or len(nodes) > MOST_NODES:
        return None
    words = [visible(word) for word in words]
    places, width = _places(nodes, words)
    rows = max(place.row for place in places)
    foot = _EDGE + rows * _ROW + 2 * _RADIUS + 14  # baseline of the words
    size = Markup(' width="{w:.0f}" height="{h:.0f}" viewBox="0 0 {w:.0f} {h:.0f}">').format(w=width, h=foot + 6)
    return Markup("\n").join(
        [
            Markup('<svg role="img" aria-label="{}" class="parse"').format(title) + size,
            *_edges(nodes, places, foot),
            *_circles(nodes, words, places, labels),
            *_words(nodes, words, places, foot),
            Markup("</svg>"),
        ]
    )


def _places(nodes: Sequence[Node], words: Sequence[str]) -> tuple[list[Place], float]:
    """The place of each node, and the width of the drawing; words that are read from the right stand so."""
    centres, x = [], float(_EDGE)
    for word in words:
        size = max(_LETTER * cell_len(word), 2.0 * _RADIUS)
        centres.append(x + size / 2)
        x += size + _GAP
    rows = _rows(nodes)
    found: list[Place] = []
    for node, row in zip(nodes, rows, strict=True):
        centre = centres[node.word] if node.word is not None else mean(found[child].x for child in node.children)
        found.append(Place(centre, row))
    width = x - _GAP + _EDGE
    if direction(" ".join(words)) == "rtl":
        found = [replace(place, x=width - place.x) for place in found]
    return found, width


def _rows(nodes: Sequence[Node]) -> list[int]:
    """0 at the root. Constituents: as low as their parts allow; dependencies: as deep as they hang."""
    heights: list[int] = []
    for node in nodes:
        heights.append(1 + max((heights[child] for child in node.children), default=-1))
    if all(node.word is None or not node.children for node in nodes):
        return [heights[-1] - height for height in heights]
    depths = [0] * len(nodes)
    for place in range(len(nodes) - 1, -1, -1):
        for child in nodes[place].children:
            depths[child] = depths[place] + 1
    return depths


def _y(place: Place) -> float:
    return _EDGE + place.row * _ROW


def _edges(nodes: Sequence[Node], places: Sequence[Place], foot: float) -> Iterator[Markup]:
    line = Markup('<path class="{}" d="M{:.0f} {:.0f}L{:.0f} {:.0f}"/>')
    for node, place in zip(nodes, places, strict=True):
        for child in node.children:
            yield line.format("edge", place.x, _y(place), places[child].x, _y(places[child]))
        if node.word is not None:
            yield line.format("down", place.x, _y(place) + _RADIUS, place.x, foot - 12)


def _circles(
    nodes: Sequence[Node], words: Sequence[str], places: Sequence[Place], labels: Sequence[str]
) -> Iterator[Markup]:
    signs, hues = marks(labels), colours(labels)
    covered = _covered(nodes)
    back = Markup('<circle cx="{:.0f}" cy="{:.0f}" r="{}" class="back"/>')
    circle = Markup(
        '<circle cx="{:.0f}" cy="{:.0f}" r="{}"{} style="fill:{};stroke:{}" fill-opacity="{:.2f}">'
        "<title>{}</title></circle>"
    )
    sign = Markup('<text x="{:.0f}" y="{:.0f}" class="sign">{}</text>')
    for number, (node, place) in enumerate(zip(nodes, places, strict=True)):
        text = " ".join(words[word] for word in covered[number])
        wrong = node.label in hues and node.label != node.said
        told = f"{plain(text)}: {plain(node.said)} ({numbers.share(node.probability)})"
        told += f", really {plain(str(node.label))}" if wrong else ""
        kind = Markup(' class="wrong"') if wrong else ""
        full = 0.12 + 0.48 * node.probability  # ink stays readable on it
        hue = hues[node.said]
        yield back.format(place.x, _y(place), _RADIUS)
        yield circle.format(place.x, _y(place), _RADIUS, kind, hue, hue, full, told)
        yield sign.format(place.x, _y(place) + 4, signs[node.said])


def _covered(nodes: Sequence[Node]) -> list[list[int]]:
    """The words below each node, its own among them, in order."""
    found: list[list[int]] = []
    for node in nodes:
        own = [] if node.word is None else [node.word]
        found.append(sorted(own + [word for child in node.children for word in found[child]]))
    return found


def _words(nodes: Sequence[Node], words: Sequence[str], places: Sequence[Place], foot: float) -> Iterator[Markup]:
    text = Markup('<text x="{:.0f}" y="{:.0f}" class="word">{}</text>')
    for node, place in zip(nodes, places, strict=True):
        if node.word is not None:
            yield text.format(place.x, foot, plain(words[node.word]))


def legend(labels: Sequence[str]) -> Mapping[str, tuple[str, str]]:
    """Label → its sign and its colour."""
    signs, hues = marks(labels), colours(labels)
    return {label: (signs[label], hues[label]) for label in labels}
