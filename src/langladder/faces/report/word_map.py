"""A map of words as a file of its own: SVG, or an HTML page that holds it; the mouse over a point tells its word."""

import re
from collections.abc import Iterator, Mapping
from html import escape
from itertools import cycle
from string import Template

from langladder.evaluation.maps import WordMap
from langladder.faces.report.plots import place_labels
from langladder.faces.report.svg import MARKERS, drawing, hues, new_figure, to_file, visible

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>$title</title>
<style>body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
svg { width: 100%; height: auto }</style></head>
<body><h1>$title</h1>
<figure>$svg<figcaption>$caption</figcaption></figure>
</body></html>
""")


def word_map_svg(found: WordMap, groups: Mapping[str, str], label: str) -> str:
    """The map as an SVG file.

    Args:
        groups: word → name of its group, which has a colour and a mark; words without one are of group "".
        label: says what is shown, for those who hear the page.
    """
    places = dict(zip(found.words, found.points.tolist(), strict=True))
    members: dict[str, list[str]] = {}
    for word in found.words:
        members.setdefault(groups.get(word, ""), []).append(word)
    with drawing():
        figure, axes = new_figure(10.4, 7.4)
        for number, (name, hue, mark) in enumerate(zip(members, hues(len(members)), cycle(MARKERS), strict=False)):
            x, y = zip(*(places[word] for word in members[name]), strict=True)
            axes.plot(x, y, mark, color=hue, markersize=5, gid=f"words-{number}", label=visible(name) or "other")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[["top", "right"]].set_visible(True)
        axes.margins(0.06)
        if len(members) > 1:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=min(6, len(members)))
        place_labels(figure, axes, [(word, x, y) for word, (x, y) in places.items()])
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

    def named(found: re.Match[str]) -> str:
        return f"<use{found[1]}><title>{escape(visible(next(points)))}</title></use>"

    head, rest = svg[:start], svg[start:]
    return head + re.sub(r"<use([^>]*)/>", named, rest, count=len(words))
