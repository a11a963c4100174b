"""A section of the page: where it stands in the contents, which template shows it, and of what."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from langladder.faces.report.choosing import Choice
from langladder.faces.report.line_plots import LinePlot


@dataclass(frozen=True)
class Figure:
    """A drawing with what stands below it, and over it; the rungs to choose from, where it is a line plot."""

    svg: Markup
    caption: str = ""
    heading: str = ""
    choice: Choice | None = None


def drawn_lines(plot: LinePlot, heading: str = "") -> Figure:
    """A line plot as a figure of the page."""
    return Figure(Markup(plot.svg), heading=heading, choice=plot.choice)


@dataclass(frozen=True)
class RungFigures:
    """The drawings of one rung."""

    name: str
    title: str
    figures: list[Figure]


@dataclass(frozen=True)
class Section:
    """A section with something to show.

    Attributes:
        id: its anchor; title: its heading, and its line in the contents.
        template: a file of faces/report/templates/; context: what it shows, by the names that it uses.
    """

    id: str
    title: str
    template: str
    context: Mapping[str, Any] = field(default_factory=dict)
