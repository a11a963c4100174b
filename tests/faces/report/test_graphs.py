"""Drawings of graphs: every box legible, however many there are, none over another, edges to the right."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import pytest
import yaml
from instructed_files import whole

from langladder.faces.report.graphs import (
    HEADING,
    SIZE,
    Box,
    Edge,
    Layout,
    draw_family_tree,
    draw_graph,
    draw_pipeline,
    grouped,
    layered,
)
from langladder.faces.report.graphs import family_tree_sections as sections
from langladder.faces.report.inputs import Stage
from langladder.faces.report.plots import drawing, new_figure
from langladder.families import families
from langladder.ground.errors import InputError
from pipeline.settings import params

READS = {"ppo": {"reads": "models/reward/reward"}, "dpo": {"reads": "data/preferences/sft"}}


def layout_of(*edges: str) -> Layout:
    """`a<b,c` is: a comes after b and c; each node after those that it names."""
    boxes, result = {}, []
    for edge in edges:
        name, _, parents = edge.partition("<")
        boxes[name] = Box(name)
        result += [Edge(parent, name) for parent in parents.split(",") if parent]
    return layered(boxes, result)


def separate(layout: Layout, names: Iterable[str]) -> bool:
    """Whether no two boxes touch."""
    return all(
        abs(item.x - other.x) > (item.width + other.width) / 2
        or abs(item.y - other.y) > (item.height + other.height) / 2
        for item, other in combinations([layout.spots[name] for name in names], 2)
    )


def test_a_parent_stands_in_the_middle_of_its_children() -> None:
    spots = layout_of("a", "b<a", "c<a", "d<c", "e<c", "x", "y<x").spots
    assert spots["a"].x < spots["b"].x == spots["c"].x == spots["y"].x < spots["d"].x == spots["e"].x
    assert spots["a"].y == pytest.approx((spots["b"].y + spots["c"].y) / 2, abs=1)
    assert spots["c"].y == pytest.approx((spots["d"].y + spots["e"].y) / 2, abs=1)
    assert spots["x"].y == pytest.approx(spots["y"].y, abs=1)


def test_a_source_stands_beside_what_uses_it_and_a_long_edge_between_boxes() -> None:
    layout = layout_of("r", "s<r", "t<s", "bias", "u<t,bias,r", "other", "v<other")
    spots = layout.spots
    assert spots["bias"].x == spots["t"].x and spots["r"].x < spots["s"].x < spots["t"].x < spots["u"].x
    (route,) = (route for edge, route in layout.routes.items() if edge == Edge("r", "u"))
    assert [spots[point].x for point in route] == [spots["s"].x, spots["t"].x]
    assert separate(layout, spots)


def test_boxes_never_touch_and_edges_go_to_the_right() -> None:
    edges = ["r", *(f"s{i}<r" for i in range(5)), "t<s0,s4", "u<t,s2", "v<u,s1,s3"]
    layout = layout_of(*edges)
    assert separate(layout, layout.spots)
    for edge, route in layout.routes.items():
        xs = [layout.spots[node].x for node in (edge.start, *route, edge.end)]
        assert xs == sorted(set(xs))


def test_two_trees_that_touch_nowhere_do_not_cross() -> None:
    ys = {name: spot.y for name, spot in layout_of("a", "x", "b<a", "y<x", "c<a", "z<x").spots.items()}
    first, second = sorted([[ys[name] for name in "abc"], [ys[name] for name in "xyz"]])
    assert max(first) < min(second)


def test_what_stands_in_a_box_is_text_and_colours_are_those_of_the_page() -> None:
    boxes = {"a": Box("<i>\n$x$", heading=True, title="<b> & co"), "b": Box("b", colour="var(--series-3)")}
    edges = [Edge("a", "b", "--")]
    svg = draw_graph(boxes, edges, layered(boxes, edges), "one", '"quoted"')
    assert svg.startswith("<svg") and 'aria-label="&quot;quoted&quot;" class="graph"' in svg and " id=" not in svg
    assert "<title>&lt;b&gt; &amp; co</title>" in svg and ">&lt;i&gt;</text>" in svg and ">$x$</text>" in svg
    assert not re.search(r"#(?!ffffff|000000)[0-9a-f]{6}", svg) and "stroke: var(--series-3)" in svg
    assert svg.count('class="edge"') == 1 and "stroke-dasharray" in svg
    assert svg == draw_graph(boxes, edges, layered(boxes, edges), "one", '"quoted"')


def stages(*edges: str) -> list[Stage]:
    """`a<b,c` is: a waits for b and c."""
    split = [edge.partition("<") for edge in edges]
    return [Stage(stage=name, depends=needs.split(",") if needs else []) for name, _, needs in split]


def test_the_jobs_of_a_matrix_are_one_node() -> None:
    nodes = grouped(stages("make@a", "make@b", "use<make@a,make@b,elsewhere"))
    assert [(node.name, node.jobs, list(node.depends)) for node in nodes] == [
        ("make", ["a", "b"], []),
        ("use", [], ["make"]),
    ]


def test_jobs_that_wait_for_each_other_through_a_third_stage_are_nodes_of_their_own() -> None:
    listed = stages(
        "clean@labels", "filter<clean@labels", "clean@text<filter", "use@a<clean@text", "use@b<clean@labels"
    )
    assert [(node.name, node.jobs, list(node.depends)) for node in grouped(listed)] == [
        ("clean@labels", [], []),
        ("filter", [], ["clean@labels"]),
        ("clean@text", [], ["filter"]),
        ("use", ["a", "b"], ["clean@text", "clean@labels"]),
    ]
    assert draw_pipeline(listed) is not None


def test_the_pipeline_leaves_out_edges_that_a_longer_path_implies() -> None:
    svg = draw_pipeline(stages("a", "b<a", "c<a,b", "d<a,b,c"))
    assert svg is not None and svg.count('class="edge"') == 3
    assert draw_pipeline([]) is None


def test_stages_that_wait_for_each_other_are_refused() -> None:
    with pytest.raises(InputError, match="circle"):
        draw_pipeline(stages("a<b", "b<a"))


def full_ladder() -> tuple[dict[str, str], dict[str, str]]:
    """Titles and bases of every rung of conf/ that grows, and of those that they grow from."""
    titles, bases = {}, {}
    for family in families():
        for name in params.conf_names(family):
            settings = yaml.safe_load(params.conf_file(family, name).read_text(encoding="utf-8"))
            titles[f"{family}/{settings['name']}"] = settings["title"]
            if "base" in settings:
                bases[f"{family}/{settings['name']}"] = settings["base"]
    return {key: title for key, title in titles.items() if key in bases or key in bases.values()}, bases


def test_every_rung_of_the_full_ladder_has_a_box_as_wide_as_its_title() -> None:
    titles, bases = full_ladder()
    svg = draw_family_tree(titles, bases, "all")
    labels = set(re.findall(r">([^<]+)</text>", svg))
    assert set(titles) <= labels and svg.count('class="edge"') == len(bases)
    boxes = {key: Box(f"{title}\n{key}", heading=True) for key, title in titles.items()}
    layout = layered(boxes, [Edge(base, key) for key, base in bases.items()])
    assert separate(layout, layout.spots)
    assert all(layout.spots[key].width >= drawn_width(title, bold=True) for key, title in titles.items())
    assert max(spot.x for spot in layout.spots.values()) < 800
    assert max(spot.y for spot in layout.spots.values()) < 45 * len(titles)


def drawn_width(text: str, *, bold: bool) -> float:
    """In points, as Matplotlib draws it."""
    with drawing():
        _, axes = new_figure(9.0, 1.0)
        weight, size = ("bold", HEADING) if bold else ("normal", SIZE)
        return float(axes.text(0, 0, text, fontsize=size, fontweight=weight).get_window_extent().width)


@pytest.mark.parametrize("stacked", [False, True])
def test_a_label_of_wide_letters_stays_in_its_box(stacked: bool) -> None:
    """In the box in front of a stack, which is smaller than the stack."""
    box = Box("MWMWMWMWMWMWMW\nill", heading=True, stacked=stacked)
    svg = draw_graph({"a": box}, [], layered({"a": box}, []), "x", "x")
    [*_, front] = re.findall(r"M ([\d.]+) [\d.]+ *\nL ([\d.]+) [\d.]+ *\nQ", svg)  # its upper edge, between the corners
    left, right = (float(x) for x in front)
    middles = [float(x) for x in re.findall(r'<text [^>]*x="([\d.]+)"', svg)]
    assert len(middles) == 2 and all(middle == pytest.approx((left + right) / 2, abs=0.1) for middle in middles)
    corner = 5.0
    assert right - left + 2 * corner >= drawn_width("MWMWMWMWMWMWMW", bold=True)


def test_what_a_rung_learnt_from_beside_its_base_is_a_dashed_line() -> None:
    titles = dict.fromkeys(["instruct/sft", "reward/reward", "align/ppo", "align/dpo"], "x")
    bases = dict.fromkeys(list(titles)[1:], "instruct/sft")
    plain = draw_family_tree(titles, bases, "all")
    svg = draw_family_tree(titles, bases, "all", {"align/ppo": "reward/reward"})
    assert "stroke-dasharray" not in plain and svg.count("stroke-dasharray") == 1
    assert plain.count('class="edge"') == 3 and svg.count('class="edge"') == 4


def test_the_report_draws_the_family_tree_and_lists_it() -> None:
    """Of a reward model in the report; data that a rung reads stands in the table."""
    inputs = whole()
    rungs = {
        name: [replace(item, metadata=item.metadata.model_copy(update=READS.get(item.page.name, {}))) for item in some]
        for name, some in inputs.rungs.items()
    }
    (section,) = sections(replace(inputs, rungs=rungs))
    assert section.context["tree"].count("stroke-dasharray") == 1 and section.context["taught"]
    reads = {key: read for (key, _), _, read in section.context["edges"]}
    assert reads["align/ppo"] == "models/reward/reward" and reads["align/dpo"] == "data/preferences/sft"
    (section,) = sections(inputs)
    assert not section.context["taught"] and not section.context["reads"]


def test_rungs_with_each_other_as_base_are_refused() -> None:
    with pytest.raises(InputError, match="a, b start from each other in a circle"):
        draw_family_tree({"a": "A", "b": "B", "c": "C", "d": "D"}, {"a": "b", "b": "a", "d": "c"}, "none")
