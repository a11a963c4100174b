"""Graphs as drawings: the pipeline, the family tree, a graph of computation, a tree over its words.

Each is a set of boxes and edges that `draw_graph` draws with Matplotlib. `layered` says where the boxes of all but the
last stand (Sugiyama, Tagawa and Toda 1981): columns from left to right, an edge only to the right.

1. The column of a node is its longest path from a source; a source stands just left of what first uses it.
2. A long edge gets a point in each column that it crosses, so that it runs between the boxes there.
3. Sweeps to the right and to the left order each column by the mean height of the neighbours in the column before, and
   move its nodes as near to that mean as their order and sizes allow: an isotonic regression.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from statistics import mean
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import networkx as nx
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path
from rich.cells import cell_len

from langladder.answers.classify import words_below
from langladder.evaluation.classifier import Node
from langladder.experiments.findings import Graph
from langladder.faces.report import numbers
from langladder.faces.report.bidi import plain
from langladder.faces.report.inputs import ReportInputs, Stage
from langladder.faces.report.plots import INK, SERIES, drawing, text_width, to_svg, visible
from langladder.faces.report.section import Section
from langladder.ground.errors import InputError
from langladder.text.words.direction import clusters, direction

DPI = 72
HEADING, SIZE, LINE = 9.5, 8.5, 12.0  # points: of a heading, of other text, from line to line
LETTER = 0.58  # of the size: a letter of a word in a tree
PAD, GAP, CHANNEL, MARGIN = 7.0, 8.0, 28.0, 3.0  # beside a text, between boxes, between columns, around the drawing
CIRCLE = 17.0  # across a node of a tree
STACK = 3.0  # by which the second of several boxes stands aside
SWEEPS = 24
MOST_NODES = 79  # of a tree over words that is drawn


@dataclass(frozen=True)
class Box:
    """How a node is drawn.

    Attributes:
        text: one or several lines; `heading`: the first of them is bold.
        title: what the mouse over it shows.
        colour: of its outline, fill: of what is inside, both of CSS; opacity: of the fill.
        stacked: as the first of several.
    """

    text: str
    heading: bool = False
    title: str = ""
    shape: Literal["box", "circle", "none"] = "box"
    colour: str = "var(--grid)"
    fill: str = "var(--panel)"
    opacity: float = 1.0
    outline: float = 1.0
    stacked: bool = False

    @property
    def width(self) -> float:
        """In points."""
        if self.shape == "circle":
            return CIRCLE
        first, *others = self.text.split("\n")
        heading = text_width(first, HEADING if self.heading else SIZE, bold=self.heading)
        text = max([heading, *(text_width(line, SIZE) for line in others)])
        return text if self.shape == "none" else text + 2 * PAD + self.shift

    @property
    def height(self) -> float:
        """In points."""
        return CIRCLE if self.shape == "circle" else LINE * (self.text.count("\n") + 1) + PAD + self.shift

    @property
    def shift(self) -> float:
        """By which the box in front is smaller than all of a stack."""
        return STACK if self.stacked else 0.0


class Edge(NamedTuple):
    """From one node to another, as a line or dashed, or dotted."""

    start: str
    end: str
    line: Literal["-", "--", ":"] = "-"


class Spot(NamedTuple):
    """The middle of a box, in points from the upper left, and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """Where everything stands.

    Attributes:
        spots: of the nodes, and of the points where a long edge crosses a column.
        routes: of an edge the names of these points; none of an edge from one column to the next.
        down: whether edges leave a box below and enter it above, instead of at its right and at its left.
    """

    spots: Mapping[str, Spot]
    routes: Mapping[Edge, Sequence[str]] = field(default_factory=dict)
    down: bool = False


def draw_graph(
    boxes: Mapping[str, Box], edges: Sequence[Edge], layout: Layout, name: str, label: str, *, arrows: bool = True
) -> Markup:
    """The graph as an `<svg>` element.

    Args:
        name: makes its ids unique on the page.
        label: says what is shown, for those who hear the page.
        arrows: whether edges have heads.
    """
    spots = layout.spots
    width = max(spot.x + spot.width / 2 for spot in spots.values()) + MARGIN
    height = max(spot.y + spot.height / 2 for spot in spots.values()) + MARGIN
    colours = dict.fromkeys(colour for box in boxes.values() for colour in (box.colour, box.fill))
    paints = {colour: f"#fe{number:04x}" for number, colour in enumerate(colours)}
    with drawing():
        figure = Figure(figsize=(width / DPI, height / DPI))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        for edge in edges:
            points = [spots[node] for node in (edge.start, *layout.routes.get(edge, ()), edge.end)]
            _draw_edge(axes, edge, points, arrows=arrows, down=layout.down)
        for number, (node, box) in enumerate(boxes.items()):
            _draw_box(axes, box, spots[node], paints, f"node-{number}")
        titles = {f"node-{number}": box.title for number, box in enumerate(boxes.values()) if box.title}
        paints = {paint: colour for colour, paint in paints.items()}
        return Markup(to_svg(figure, name, label, kind="graph", titles=titles, colours=paints))


def _draw_box(axes: Axes, box: Box, spot: Spot, paints: Mapping[str, str], gid: str) -> None:
    x, y = spot.x - box.shift / 2, spot.y - box.shift / 2  # the middle of the one in front
    width, height = spot.width - box.shift, spot.height - box.shift
    face = (paints[box.fill], box.opacity)
    paint: dict[str, Any] = {"facecolor": face, "edgecolor": paints[box.colour], "linewidth": box.outline}
    if box.shape == "circle":
        axes.add_patch(Circle((x, y), width / 2, clip_on=False, gid=gid, **paint))
    elif box.shape == "box":
        style = "round,pad=0,rounding_size=5"
        for shift in dict.fromkeys((box.shift, 0.0)):  # the one in front last
            corner, own = (x - width / 2 + shift, y - height / 2 + shift), None if shift else gid
            axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle=style, clip_on=False, gid=own, **paint))
    lines = box.text.split("\n")
    for number, line in enumerate(lines):
        size, weight = (HEADING, "bold") if box.heading and number == 0 else (SIZE, "normal")
        middle = y + LINE * (number - (len(lines) - 1) / 2)
        axes.text(x, middle, line, ha="center", va="center", fontsize=size, fontweight=weight, clip_on=False)


def _draw_edge(axes: Axes, edge: Edge, points: Sequence[Spot], *, arrows: bool, down: bool) -> None:
    """A curve from the border of the first box to that of the last, straight through the columns between."""
    vertices: list[tuple[float, float]] = []
    codes: list[np.uint8] = []
    for number, (start, other) in enumerate(pairwise(points)):
        sizes = (start.height, other.height) if down else (start.width, other.width)
        (x0, y0), (x1, y1) = ((p.y, p.x) if down else (p.x, p.y) for p in (start, other))
        x0, x1 = x0 + sizes[0] / 2, x1 - sizes[1] / 2
        middle = (x0 + x1) / 2
        vertices += [(x0, y0), (middle, y0), (middle, y1), (x1, y1)]
        codes += [Path.LINETO if number else Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    patch = FancyArrowPatch(
        path=Path([(y, x) for x, y in vertices] if down else vertices, codes),
        arrowstyle="-|>,head_length=3.5,head_width=1.8" if arrows else "-",
        mutation_scale=1.0,
        color=SERIES[1] if edge.line == "--" else INK,
        alpha=1.0 if edge.line == "--" else 0.55,
        linestyle=edge.line,
        linewidth=1.0,
        clip_on=False,
        gid="class:edge",
    )
    axes.add_patch(patch)


def layered(boxes: Mapping[str, Box], edges: Sequence[Edge]) -> Layout:
    """Columns from left to right; all boxes of a column are as wide as the widest.

    Raises:
        networkx.NetworkXUnfeasible: there is a circle.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from(boxes)
    graph.add_edges_from((edge.start, edge.end) for edge in edges)
    column = {node: number for number, layer in enumerate(nx.topological_generations(graph)) for node in layer}
    for node in boxes:
        if not graph.pred[node] and graph.succ[node]:
            column[node] = min(column[other] for other in graph.succ[node]) - 1
    columns: list[list[str]] = [[] for _ in range(1 + max(column.values()))]
    for node in boxes:
        columns[column[node]].append(node)
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    routes: dict[Edge, list[str]] = {}
    for edge in edges:
        between = range(column[edge.start] + 1, column[edge.end])
        routes[edge] = [f"{edge.start} {edge.line} {edge.end} {number}" for number in between]
        for number, point in zip(between, routes[edge], strict=True):
            columns[number].append(point)
        for start, other in pairwise([edge.start, *routes[edge], edge.end]):
            before.setdefault(other, []).append(start)
            after.setdefault(start, []).append(other)
    heights = {node: boxes[node].height + GAP if node in boxes else GAP for nodes in columns for node in nodes}
    ys: dict[str, float] = {}
    for nodes in columns:
        ys |= _spread(nodes, [0.0] * len(nodes), heights)
    for sweep in range(SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for nodes in columns if sweep % 2 == 0 else reversed(columns):
            wanted = {node: mean(ys[other] for other in neighbours.get(node, [node])) for node in nodes}
            nodes.sort(key=wanted.__getitem__)
            ys |= _spread(nodes, [wanted[node] for node in nodes], heights)
    top = min(ys[node] - heights[node] / 2 for node in ys) - MARGIN
    spots: dict[str, Spot] = {}
    left = MARGIN
    for nodes in columns:
        width = max(boxes[node].width for node in nodes if node in boxes)
        for node in nodes:
            spots[node] = Spot(left + width / 2, ys[node] - top, width, boxes[node].height if node in boxes else 0.0)
        left += width + CHANNEL
    return Layout(spots, routes)


def _spread(nodes: Sequence[str], wanted: Sequence[float], heights: Mapping[str, float]) -> dict[str, float]:
    """Heights that are nearest to those wanted (least squares), in this order and without overlap."""
    from scipy.optimize import isotonic_regression  # takes time to load

    sizes = [heights[node] for node in nodes]
    steps = list(accumulate((size + other) / 2 for size, other in pairwise(sizes)))
    stacked = [0.0, *steps]
    positions = isotonic_regression([y - low for y, low in zip(wanted, stacked, strict=True)]).x
    return {node: float(y) + low for node, y, low in zip(nodes, positions, stacked, strict=True)}


# ---- the pipeline ----------------------------------------------------------------------------------------------------


@dataclass
class StageNode:
    """One stage with its jobs (empty where it is no matrix)."""

    name: str
    desc: str
    jobs: list[str] = field(default_factory=list)
    depends: dict[str, None] = field(default_factory=dict)  # an ordered set


def grouped(stages: Iterable[Stage]) -> list[StageNode]:
    """One node a stage, the jobs of a matrix together, in the order of first mention.

    Where that would make a circle (one job of a stage waits for another of its jobs through a third stage), the stage's
    jobs are nodes of their own.
    """
    listed = list(stages)
    nodes = _stage_nodes(listed, set())
    circles = {name for part in nx.strongly_connected_components(_waiting(nodes)) if len(part) > 1 for name in part}
    return _stage_nodes(listed, circles) if circles else nodes


def _stage_nodes(stages: Iterable[Stage], single: set[str]) -> list[StageNode]:
    """`single`: stages whose jobs are nodes of their own."""

    def node_of(stage: str) -> str:
        return stage if stage.partition("@")[0] in single else stage.partition("@")[0]

    nodes: dict[str, StageNode] = {}
    for stage in stages:
        name = node_of(stage.stage)
        node = nodes.setdefault(name, StageNode(name, stage.desc))
        if name != stage.stage:
            node.jobs.append(stage.stage.partition("@")[2])
        node.depends |= dict.fromkeys(node_of(other) for other in stage.depends)
    for node in nodes.values():
        node.depends = {name: None for name in node.depends if name in nodes and name != node.name}
    return list(nodes.values())


def _waiting(nodes: Iterable[StageNode]) -> "nx.DiGraph":
    """An edge from what is waited for."""
    graph = nx.DiGraph()
    graph.add_nodes_from(node.name for node in nodes)
    graph.add_edges_from((name, node.name) for node in nodes for name in node.depends)
    return graph


def draw_pipeline(stages: Iterable[Stage]) -> Markup | None:
    """The pipeline as an `<svg>` element, or `None` where there is none.

    Edges that a longer path implies are left out (transitive reduction), or the first stage would point at everything.

    Raises:
        InputError: the stages depend on each other in a circle.
    """
    nodes = grouped(stages)
    if not nodes:
        return None
    graph = _waiting(nodes)
    if not nx.is_directed_acyclic_graph(graph):
        raise InputError(f"dag: the stages depend on each other in a circle: {nx.find_cycle(graph)}")
    needed = nx.transitive_reduction(graph).edges
    edges = [Edge(start, end) for start, end in graph.edges if (start, end) in needed]
    boxes = {node.name: _stage_box(node) for node in nodes}
    return draw_graph(boxes, edges, layered(boxes, edges), "dag", "The pipeline: stages and what they wait for")


def _stage_box(node: StageNode) -> Box:
    names = ", ".join(node.jobs)
    jobs = names if len(names) <= 24 else f"{len(node.jobs)} jobs"
    title = f"{node.name}: {node.desc}" + (f" ({names})" if names else "")
    return Box(f"{node.name}\n{jobs}" if jobs else node.name, True, title, stacked=len(node.jobs) > 1)


# ---- the family tree -------------------------------------------------------------------------------------------------

MODELS = "models/"


def family_tree_sections(inputs: ReportInputs) -> Iterable[Section]:
    """A drawing of the rungs that grew from another, and of those that they grew from; nothing where none did."""
    rungs = {f"{family.name}/{rung.name}": rung for family in inputs.families for rung in inputs.of(family.name)}
    bases = {key: base for key, rung in rungs.items() if (base := rung.grew_from) is not None}
    reads = {key: rung.metadata.reads for key, rung in rungs.items()}
    if bases:
        known = [key for key in rungs if key in bases or key in bases.values()]
        keys = dict.fromkeys([*known, *bases.values()])
        titles = {key: rungs[key].title if key in rungs else key for key in keys}
        edges = [((key, titles[key]), (base, titles[base]), reads.get(key)) for key, base in bases.items()]
        taught = {key: folder.removeprefix(MODELS) for key, folder in reads.items() if folder and key in titles}
        taught = {key: other for key, other in taught.items() if other in titles}
        tree = draw_family_tree(titles, bases, "The family tree: which rung grew from which", taught)
        context = {"tree": tree, "edges": edges, "taught": bool(taught), "reads": any(reads.values())}
        yield Section("tree", "Family tree", "tree.html.j2", context)


def draw_family_tree(
    titles: Mapping[str, str], bases: Mapping[str, str], label: str, taught: Mapping[str, str] = MappingProxyType({})
) -> Markup:
    """At the left the rungs that others grew from, a column further what grew from them.

    Args:
        titles: family/rung → its title.
        bases: family/rung → the one that it grew from; both are among the titles.
        taught: family/rung → another that it learnt from (a reward model): a dashed line.

    Raises:
        InputError: rungs start from each other in a circle.
    """
    edges = [Edge(base, key) for key, base in bases.items()] + [Edge(other, key, "--") for key, other in taught.items()]
    circles = nx.strongly_connected_components(nx.DiGraph((edge.start, edge.end) for edge in edges))
    if lost := sorted(key for part in circles if len(part) > 1 for key in part):
        raise InputError(f"family tree: {', '.join(lost)} start from each other in a circle")
    boxes = {key: Box(f"{visible(title)}\n{visible(key)}", heading=True) for key, title in titles.items()}
    return draw_graph(boxes, edges, layered(boxes, edges), "family-tree", label, arrows=False)


# ---- graphs of computation -------------------------------------------------------------------------------------------


def draw_computation(graph: Graph, name: str) -> Markup | None:
    """From what is given at the left to the loss at the right; None where it has no node.

    A box holds the node's name and value, and below a line ∂L/∂node.
    """
    if not graph.nodes:
        return None
    boxes = {}
    for node in graph.nodes:
        operation = f" ({visible(node.operation)})" if node.operation else ""
        text = f"{visible(node.name)}{operation}\n{_rows(node.value)}\n─────\n{_rows(node.gradient)}"
        boxes[node.name] = Box(text, True, colour="var(--series-0)" if node.parents else "var(--grid)")
    edges = list(dict.fromkeys(Edge(parent, node.name) for node in graph.nodes for parent in node.parents))
    return draw_graph(boxes, edges, layered(boxes, edges), name, f"{graph.title}: {graph.caption}")


def _rows(value: str) -> str:
    """A row of a matrix a line."""
    return "\n".join(visible(row) for row in value.split("; "))


# ---- trees over words ------------------------------------------------------------------------------------------------


def label_signs(labels: Sequence[str]) -> dict[str, str]:
    """A sign of a letter or two for each label: + and −, itself where it is short, its first letter, or its number."""
    if list(labels) == ["negative", "positive"]:
        return {"negative": "−", "positive": "+"}
    if all(cell_len(label) <= 2 for label in labels):
        return {label: label for label in labels}
    first = ["".join(clusters(label)[:1]) for label in labels]
    ambiguous = len(set(first)) < len(first)
    return {label: str(number) if ambiguous else first[number - 1] for number, label in enumerate(labels, start=1)}


def label_colours(labels: Sequence[str]) -> dict[str, str]:
    """Of each label: two, or numbers in order, go from red to blue; others have a hue each."""
    if len(labels) != 2 and not all(label.isdecimal() for label in labels):
        return {label: f"var(--series-{number % len(SERIES)})" for number, label in enumerate(labels)}
    last = len(labels) - 1
    colours = {}
    for number, label in enumerate(labels):
        strength = abs(2 * number - last) / max(last, 1)  # 1 at both ends, 0 between
        hue = "var(--series-1)" if 2 * number < last else "var(--series-0)"
        colours[label] = f"color-mix(in srgb, {hue} {100 * strength:.0f}%, var(--grid))"
    return colours


def legend(labels: Sequence[str]) -> Mapping[str, tuple[str, str]]:
    """Label → its sign and its colour."""
    signs, colours = label_signs(labels), label_colours(labels)
    return {label: (signs[label], colours[label]) for label in labels}


def draw_tree(nodes: Sequence[Node], words: Sequence[str], labels: Sequence[str], title: str) -> Markup | None:
    """A tree over its words; None where it is too large to be read.

    At every node what was predicted there, in the label's colour, the fuller the surer; a thick ring where the corpus
    has another label. Constituents stand over their parts, the words in a row below; in a tree of dependencies each
    word is a node, and hangs below the one that it depends on.

    Args:
        nodes: children first, the root last. words: from left to right.
        labels: in the order of their ids. title: says what is shown, for those who hear the page.
    """
    if not nodes or len(nodes) > MOST_NODES:
        return None
    words = [visible(word) for word in words]
    signs, colours = label_signs(labels), label_colours(labels)
    boxes: dict[str, Box] = {}
    edges: list[Edge] = []
    for number, (node, covered) in enumerate(zip(nodes, words_below(nodes), strict=True)):
        wrong = node.label in colours and node.label != node.said
        about = f"{plain(' '.join(words[word] for word in covered))}: {plain(node.said)}"
        about += f" ({numbers.share(node.probability)})" + (f", really {plain(str(node.label))}" if wrong else "")
        colour = colours[node.said]
        opacity = 0.12 + 0.48 * node.probability  # ink stays readable on it
        outline = 2.4 if wrong else 1.0
        boxes[f"node {number}"] = Box(signs[node.said], False, about, "circle", colour, colour, opacity, outline)
        edges += [Edge(f"node {number}", f"node {child}") for child in node.children]
        if node.word is not None:
            boxes[f"word {number}"] = Box(words[node.word], shape="none")
            edges.append(Edge(f"node {number}", f"word {number}", ":"))
    return draw_graph(boxes, edges, _tree_layout(nodes, words), "tree", title, arrows=False)


def _tree_layout(nodes: Sequence[Node], words: Sequence[str]) -> Layout:
    """Words in a row, each node in the middle of its children; words that are read from the right stand so."""
    middles, x = [], MARGIN + CIRCLE / 2
    for word in words:
        width = max(LETTER * SIZE * cell_len(word), CIRCLE)
        middles.append(x + width / 2)
        x += width + GAP
    if direction(" ".join(words)) == "rtl":
        middles = [x - middle for middle in middles]
    depths = _depths(nodes)
    foot = MARGIN + CIRCLE * (1.75 * max(depths) + 2)
    spots: dict[str, Spot] = {}
    for number, (node, depth) in enumerate(zip(nodes, depths, strict=True)):
        below = [spots[f"node {child}"].x for child in node.children]
        middle = mean(below) if node.word is None else middles[node.word]
        spots[f"node {number}"] = Spot(middle, MARGIN + CIRCLE * (1.75 * depth + 0.5), CIRCLE, CIRCLE)
        if node.word is not None:
            spots[f"word {number}"] = Spot(middle, foot, LETTER * SIZE * cell_len(words[node.word]), LINE)
    return Layout(spots, down=True)


def _depths(nodes: Sequence[Node]) -> list[int]:
    """0 at the root. Constituents: as low as their parts allow; dependencies: as deep as they hang."""
    heights: list[int] = []
    for node in nodes:
        heights.append(1 + max((heights[child] for child in node.children), default=-1))
    if all(node.word is None or not node.children for node in nodes):
        return [heights[-1] - height for height in heights]
    depths = [0] * len(nodes)
    for number in range(len(nodes) - 1, -1, -1):
        for child in nodes[number].children:
            depths[child] = depths[number] + 1
    return depths
