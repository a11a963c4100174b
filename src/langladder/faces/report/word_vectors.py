"""Word vectors in the report: their table, what lies near what, maps; a map as a file of its own."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import cycle
from math import ceil
from string import Template

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from langladder.evaluation.maps import WordMap
from langladder.evaluation.word_vectors import MapPoint, WordVectorsPage
from langladder.faces.report import numbers
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.plots import MARKERS, drawing, hues, new_figure, to_file, to_svg, visible
from langladder.faces.report.section import Column, Picture, RungPictures, Section, page_columns
from langladder.faces.report.selection import BESIDE, COLOURED, Aligned, aligned, choice

BRIEF_SETS = 2  # similarity sets, of however many there are

WordVectorRungs = Sequence[Entry[WordVectorsPage]]


def loss(page: WordVectorsPage) -> float | None:
    """Wrong analogies; where there are none, what similarity lacks."""
    analogy = page.scores.analogy
    if analogy is not None and analogy.overall.accuracy is not None:
        return 1 - analogy.overall.accuracy
    return next((1 - result.spearman for result in page.scores.similarity if result.spearman is not None), None)


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Neighbours, with the analogies by section; maps."""
    rungs = inputs.rungs_with(family, WordVectorsPage)
    near = [rung for rung in rungs if rung.page.neighbours]
    with_analogies = [rung for rung in rungs if rung.page.scores.analogy and rung.page.scores.analogy.sections]
    if near or with_analogies:
        context = {
            "neighbours": aligned(near, lambda page: ((neighbour.word, neighbour) for neighbour in page.neighbours)),
            "near": choice(near, loss, BESIDE),
            "sections": analogy_sections(with_analogies),
            "asked": choice(with_analogies, loss, COLOURED),
        }
        yield Section("neighbours", "Nearest neighbours", "neighbours.html.j2", context)
    if drawn := list(maps(rungs)):
        mapped = [rung for rung in rungs if rung.name in {entry.name for entry in drawn}]
        context = {"maps": drawn, "mapped": choice(mapped, loss, 1, most=2)}
        yield Section("map", "Maps of the word vectors", "map.html.j2", context)


def maps(rungs: WordVectorRungs) -> Iterable[RungPictures]:
    """The map of each rung that has one."""
    for i, rung in enumerate(rungs):
        if svg := map_plot(rung.page.map, rung.title, f"map-{i}"):
            yield RungPictures(rung.name, rung.title, [Picture(Markup(svg))])


def analogy_sections(rungs: WordVectorRungs) -> Aligned[str, str]:
    """A row a section: accuracy, and how many of its questions were answered where that is not all."""

    def shares(page: WordVectorsPage) -> Iterable[tuple[str, str]]:
        for section in page.scores.analogy.sections if page.scores.analogy else ():
            text = numbers.DASH if section.accuracy is None else numbers.share(section.accuracy)
            few = "" if section.answered == section.questions else f" ({section.answered:,} of {section.questions:,})"
            yield section.name, text + few

    return aligned(rungs, shares)


def columns(pages: Sequence[WordVectorsPage]) -> list[Column[WordVectorsPage]]:
    """Of the similarity sets the first is compared, and the first few are brief."""
    sets = [f"ρ {name}" for name in dict.fromkeys(result.name for page in pages for result in page.scores.similarity)]
    return [
        replace(column, brief=column.title in sets[:BRIEF_SETS], compared=column.title == sets[0])
        if column.title in sets
        else column
        for column in page_columns(pages)
    ]


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
        label_points(figure, axes, [(point.word, point.x, point.y) for point in points])
        return to_svg(figure, name, f"Map of word vectors: {title}")


# Where a label may stand about its point: offset in points, horizontal and vertical alignment.
_SIDES = ((5, 0, "left", "center"), (-5, 0, "right", "center"), (0, 5, "center", "bottom"), (0, -5, "center", "top"))

_MARK = 2.5  # half a mark, which a label must not touch


def label_points(figure: Figure, axes: Axes, points: Sequence[tuple[str, float, float]]) -> None:
    """Label the points in order, each at the first place where it hides neither point nor label; else not at all."""
    figure.draw_without_rendering()  # fixes the layout, so that places on the page are known
    spots = axes.transData.transform([(x, y) for _, x, y in points])  # (points, 2) in pixels
    frame = axes.get_window_extent()
    occupied = np.empty((0, 4))  # x0, y0, x1, y1
    for word, x, y in points:
        for dx, dy, horizontal, vertical in _SIDES:
            label: Annotation = axes.annotate(
                visible(word), (x, y), (dx, dy), textcoords="offset points", ha=horizontal, va=vertical, fontsize=9
            )
            label.set_in_layout(False)
            box = np.array(label.get_window_extent().extents)
            inside = (spots > box[:2] - _MARK).all(axis=1) & (spots < box[2:] + _MARK).all(axis=1)
            overlaps = (occupied[:, :2] < box[2:]).all(axis=1) & (occupied[:, 2:] > box[:2]).all(axis=1)
            if not inside.any() and not overlaps.any() and frame.x0 <= box[0] and box[2] <= frame.x1:
                occupied = np.vstack([occupied, box])
                break
            label.remove()


_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>$title</title>
<style>body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
svg { width: 100%; height: auto }</style></head>
<body><h1>$title</h1>
<figure>$svg<figcaption>$caption</figcaption></figure>
</body></html>
""")


def word_map_svg(word_map: WordMap, groups: Mapping[str, str], label: str) -> str:
    """The map as an SVG file.

    Args:
        groups: word → name of its group, which has a colour and a mark; words without one are of group "".
        label: says what is shown, for those who hear the page.
    """
    positions = dict(zip(word_map.words, word_map.points.tolist(), strict=True))
    members: dict[str, list[str]] = {}
    for word in word_map.words:
        members.setdefault(groups.get(word, ""), []).append(word)
    with drawing():
        figure, axes = new_figure(10.4, 7.4)
        for number, (name, hue, mark) in enumerate(zip(members, hues(len(members)), cycle(MARKERS), strict=False)):
            x, y = zip(*(positions[word] for word in members[name]), strict=True)
            axes.plot(x, y, mark, color=hue, markersize=5, gid=f"words-{number}", label=visible(name) or "other")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[["top", "right"]].set_visible(True)
        axes.margins(0.06)
        if len(members) > 1:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=min(6, len(members)))
        label_points(figure, axes, [(word, x, y) for word, (x, y) in positions.items()])
        svg = to_file(figure, label)
    for number, words in enumerate(members.values()):
        svg = _name_points(svg, f"words-{number}", words)
    return svg


def word_map_html(svg: str, title: str, caption: str) -> str:
    """A page that holds the SVG and needs nothing else."""
    inner = svg[svg.index("<svg") :]
    return _PAGE.substitute(title=escape(title), svg=inner, caption=escape(caption))


def _name_points(svg: str, group: str, words: list[str]) -> str:
    """Give each point of a group, in the order drawn, a `<title>`."""
    start = svg.index(f'<g id="{group}">')
    points: Iterator[str] = iter(words)

    def named(match: re.Match[str]) -> str:
        return f"<use{match[1]}><title>{escape(visible(next(points)))}</title></use>"

    head, rest = svg[:start], svg[start:]
    return head + re.sub(r"<use([^>]*)/>", named, rest, count=len(words))
