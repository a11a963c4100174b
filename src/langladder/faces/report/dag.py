"""The pipeline drawn as layers (Sugiyama, Tagawa and Toda 1981): stages from top to bottom, edges only downwards.

1. Jobs of one matrix stage are one box, unless one waits for another of them through other stages; 2. edges that a
longer way implies are left out (transitive reduction), or the first stage would point at everything; 3. a stage's layer
is its longest way from a source; 4. long edges get a place of their own in each layer that they cross; 5. sweeps put
every node near the mean of its neighbours; 6. boxes and curves.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import networkx as nx
from markupsafe import Markup

from langladder.faces.report.inputs import Stage
from langladder.ground.errors import InputError

BOX_WIDTH, BOX_HEIGHT, LANE_WIDTH, GAP, ROW = 176, 46, 26, 22, 88  # in px
_SWEEPS = 12


@dataclass
class Node:
    """One stage with its jobs (empty where it is no matrix)."""

    name: str
    desc: str
    jobs: list[str] = field(default_factory=list)
    depends: dict[str, None] = field(default_factory=dict)  # an ordered set


def grouped(stages: Iterable[Stage]) -> list[Node]:
    """One node a stage, the jobs of a matrix together, in the order of first mention.

    Where that would make a circle (one job of a stage waits for another of its jobs through a third stage), the stage's
    jobs are nodes of their own.
    """
    listed = list(stages)
    nodes = _nodes(listed, set())
    circles = {name for part in nx.strongly_connected_components(_graph(nodes)) if len(part) > 1 for name in part}
    return _nodes(listed, circles) if circles else nodes


def _nodes(stages: Iterable[Stage], apart: set[str]) -> list[Node]:
    def box(stage: str) -> str:
        return stage if stage.partition("@")[0] in apart else stage.partition("@")[0]

    nodes: dict[str, Node] = {}
    for stage in stages:
        name = box(stage.stage)
        node = nodes.setdefault(name, Node(name, stage.desc))
        if name != stage.stage:
            node.jobs.append(stage.stage.partition("@")[2])
        node.depends |= dict.fromkeys(box(other) for other in stage.depends)
    for node in nodes.values():
        node.depends = {name: None for name in node.depends if name in nodes and name != node.name}
    return list(nodes.values())


def _graph(nodes: Iterable[Node]) -> Any:
    """A directed graph of names, an edge from what is waited for."""
    graph = nx.DiGraph()
    graph.add_nodes_from(node.name for node in nodes)
    graph.add_edges_from((name, node.name) for node in nodes for name in node.depends)
    return graph


def draw_dag(stages: Iterable[Stage]) -> Markup | None:
    """The pipeline as an `<svg>` element, or `None` where there is none.

    Raises:
        InputError: the stages depend on each other in a circle.
    """
    nodes = {node.name: node for node in grouped(stages)}
    if not nodes:
        return None
    layers, edges = _layers(list(nodes.values()))
    places, width = _places(layers, nodes)
    height = ROW * (len(layers) - 1) + BOX_HEIGHT + 4
    parts = [
        Markup('<svg role="img" aria-label="The pipeline: stages and what they wait for" class="dag"'),
        Markup(' width="{w}" height="{h}" viewBox="0 0 {w} {h}">').format(w=round(width), h=height),
        *(_curve([places[point] for point in way], nodes, way) for way in edges),
        *(_box(node, *places[node.name]) for node in nodes.values()),
        Markup("</svg>"),
    ]
    return Markup("\n").join(parts)


Way = list[str]  # an edge: stage, places in the layers between, stage


def _layers(nodes: list[Node]) -> tuple[list[list[str]], list[Way]]:
    """Names in each layer, in order from left to right, and the ways of the edges."""
    graph = _graph(nodes)
    if not nx.is_directed_acyclic_graph(graph):
        raise InputError(f"dag: the stages depend on each other in a circle: {nx.find_cycle(graph)}")
    order = {node.name: i for i, node in enumerate(nodes)}
    layers = [sorted(layer, key=order.__getitem__) for layer in nx.topological_generations(graph)]
    level = {name: i for i, layer in enumerate(layers) for name in layer}
    ways: list[Way] = []
    for start, end in sorted(nx.transitive_reduction(graph).edges, key=lambda edge: (order[edge[0]], order[edge[1]])):
        between = [f"{start}→{end} {i}" for i in range(level[start] + 1, level[end])]
        for i, name in enumerate(between, level[start] + 1):
            layers[i].append(name)
        ways.append([start, *between, end])
    return _untangled(layers, ways), ways


def _untangled(layers: list[list[str]], ways: list[Way]) -> list[list[str]]:
    """Order each layer by the mean place of the neighbours above, then below, and again: fewer crossings."""
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for way in ways:
        for start, end in pairwise(way):
            above.setdefault(end, []).append(start)
            below.setdefault(start, []).append(end)
    for sweep in range(_SWEEPS):
        neighbours = above if sweep % 2 == 0 else below
        place = {name: (i + 0.5) / len(layer) for layer in layers for i, name in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {name: _mean([place[other] for other in neighbours.get(name, [name])]) for name in layer}
            layer.sort(key=wanted.__getitem__)
            place |= {name: (i + 0.5) / len(layer) for i, name in enumerate(layer)}
    return layers


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _places(layers: list[list[str]], nodes: dict[str, Node]) -> tuple[dict[str, tuple[float, float]], float]:
    """Centre of every name, (x, y) in px, and the width of the picture; layers are centred."""
    sizes = [[BOX_WIDTH if name in nodes else LANE_WIDTH for name in layer] for layer in layers]
    widths = [sum(layer) + GAP * (len(layer) - 1) for layer in sizes]
    width = max(widths) + 4
    places = {}
    for i, (layer, layer_sizes) in enumerate(zip(layers, sizes, strict=True)):
        x = (width - widths[i]) / 2
        for name, size in zip(layer, layer_sizes, strict=True):
            places[name] = (x + size / 2, i * ROW + BOX_HEIGHT / 2 + 2)
            x += size + GAP
    return places, width


def _curve(points: list[tuple[float, float]], nodes: dict[str, Node], way: Way) -> Markup:
    """A line down through the points, upright where it meets a box or crosses a layer."""
    half = BOX_HEIGHT / 2
    path, (x0, y0) = f"M{points[0][0]:.1f} {points[0][1] + half:.1f}", (points[0][0], points[0][1] + half)
    for (x, y), name in zip(points[1:], way[1:], strict=True):
        top = y - half
        middle = (y0 + top) / 2
        path += f" C{x0:.1f} {middle:.1f} {x:.1f} {middle:.1f} {x:.1f} {top:.1f}"
        if name not in nodes:
            path += f" V{y + half:.1f}"
        x0, y0 = x, y + half
    return Markup('<path class="edge" d="{}"/>').format(path)


def _box(node: Node, x: float, y: float) -> Markup:
    left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
    names = ", ".join(node.jobs)
    second = names if len(names) <= 24 else f"{len(node.jobs)} jobs"
    text = Markup('<text x="{:.1f}" y="{:.1f}" class="{}">{}</text>')
    lines = [text.format(x, y - 3 if second else y + 4, "stage", node.name)]
    lines += [text.format(x, y + 14, "jobs", second)] if second else []
    behind = Markup('<rect x="{:.1f}" y="{:.1f}" width="{}" height="{}" rx="7" class="behind"/>')
    box = Markup('<rect x="{:.1f}" y="{:.1f}" width="{}" height="{}" rx="7"/>')
    stack = behind.format(left + 4, top + 4, BOX_WIDTH - 4, BOX_HEIGHT - 2) if len(node.jobs) > 1 else Markup("")
    size = (BOX_WIDTH - 4, BOX_HEIGHT - 2) if len(node.jobs) > 1 else (BOX_WIDTH, BOX_HEIGHT)
    title = Markup("<title>{}</title>").format(f"{node.name}: {node.desc}" + (f" ({names})" if names else ""))
    return Markup("<g>") + title + stack + box.format(left, top, *size) + Markup("").join(lines) + Markup("</g>")
