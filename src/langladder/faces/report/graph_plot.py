"""A graph of computation as a drawing: a box a node, from what is given at the left to the loss at the right.

A box holds the node's name and value, and below a line ∂L/∂node. A node stands one column right of the furthest of its
parents; what is given stands one column left of what first uses it, so that no edge is longer than it must be.
"""

from matplotlib.axes import Axes
from matplotlib.text import Text

from langladder.experiments.findings import Graph, GraphNode
from langladder.faces.report.plots import GRID, INK, SERIES, drawing, new_figure, to_svg, visible

WIDE, HIGH = 1.42, 1.25  # inches of a column and of a row
BOX = {"boxstyle": "round,pad=0.35", "facecolor": "none", "linewidth": 1.2}


def graph_plot(graph: Graph, name: str) -> str | None:
    """The graph as an `<svg>` element; None where it has no node.

    Args:
        name: makes the ids unique on the page.
    """
    if not graph.nodes:
        return None
    places = layout(graph)
    columns = 1 + max(column for column, _ in places.values())
    rows = 1 + max(row for _, row in places.values())
    with drawing():
        figure, axes = new_figure(WIDE * columns + 0.4, HIGH * rows + 0.4)
        axes.set_axis_off()
        axes.set_xlim(-0.6, columns - 0.4)
        axes.set_ylim(rows - 0.4, -0.6)
        boxes = {node.name: _box(axes, node, places[node.name]) for node in graph.nodes}
        for node in graph.nodes:
            _edges(axes, node, boxes)
        return to_svg(figure, name, f"{graph.title}: {graph.caption}")


def layout(graph: Graph) -> dict[str, tuple[int, int]]:
    """Name → (column, row)."""
    columns: dict[str, int] = {}
    for node in graph.nodes:
        columns[node.name] = 1 + max((columns[parent] for parent in node.parents), default=-1)
    for node in graph.nodes:
        if not node.parents:
            users = [columns[other.name] for other in graph.nodes if node.name in other.parents]
            columns[node.name] = min(users, default=1) - 1
    taken: dict[int, int] = {}
    places = {}
    # what is computed keeps to the upper row; what is given to it stands below
    for node in sorted(graph.nodes, key=lambda node: not node.parents):
        column = columns[node.name]
        places[node.name] = (column, taken.get(column, 0))
        taken[column] = taken.get(column, 0) + 1
    return places


def _edges(axes: Axes, node: GraphNode, boxes: dict[str, Text]) -> None:
    """An arrow from the border of each parent's box to that of the node's."""
    end = boxes[node.name]
    for parent in node.parents:
        start = boxes[parent]
        ends = {"patchA": start.get_bbox_patch(), "patchB": end.get_bbox_patch(), "shrinkA": 1, "shrinkB": 1}
        arrow = {"arrowstyle": "->", "color": INK, "linewidth": 1.1, **ends}
        axes.annotate("", xy=end.get_position(), xytext=start.get_position(), arrowprops=arrow)


def _box(axes: Axes, node: GraphNode, place: tuple[int, int]) -> Text:
    made = f" ({visible(node.operation)})" if node.operation else ""
    text = f"{visible(node.name)}{made}\n{_rows(node.value)}\n─────\n{_rows(node.gradient)}"
    hue = SERIES[0] if node.parents else GRID
    return axes.text(*place, text, ha="center", va="center", fontsize=8.5, color=INK, bbox=BOX | {"edgecolor": hue})


def _rows(value: str) -> str:
    """A row of a matrix a line."""
    return "\n".join(visible(row) for row in value.split("; "))
