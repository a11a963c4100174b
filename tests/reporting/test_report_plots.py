"""Plots: what is drawn where, and that they are the same every time and fit for light and dark."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from langladder.errors import InputError
from langladder.reporting import plots
from langladder.reporting.dag import draw_dag, grouped
from langladder.reporting.inputs import CurvePoint, ReportInputs
from langladder.reporting.rungs import EmbeddingRung, Meta, Stage, Translation
from langladder.reporting.svg import visible

NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


def test_ladder_picture_shows_rungs_and_floor(inputs: ReportInputs) -> None:
    svg = plots.ladder_plot(inputs)
    assert svg is not None
    assert {"LSTM", "GPT", "entropy floor 31.42", "34.10  (+9 %)"} <= set(texts(svg))
    assert svg == plots.ladder_plot(inputs)
    assert "currentColor" in svg
    assert "var(--series-0)" in svg


def test_ladder_picture_as_a_file_needs_no_page(inputs: ReportInputs) -> None:
    svg = plots.ladder_plot(inputs, standalone=True)
    assert svg is not None
    assert svg.startswith("<?xml")
    assert "var(" not in svg
    assert "currentColor" not in svg
    assert "fill: #ffffff" in svg
    assert ElementTree.fromstring(svg.encode()).tag == f"{NAMESPACE}svg"


def test_nothing_measured_nothing_drawn() -> None:
    empty = ReportInputs(Meta(), [], [], [])
    assert plots.ladder_plot(empty) is None
    assert plots.curves_plot(empty, "lm") is None
    assert plots.bleu_curves_plot(empty) is None
    assert plots.length_plot([]) is None
    assert plots.map_plot(EmbeddingRung(name="a", title="a"), "m") is None
    assert plots.attention_plot(Translation(source="a", reference="b", output="b"), "a", "t") is None


def test_curves_name_the_rungs_that_have_one(inputs: ReportInputs) -> None:
    svg = plots.curves_plot(inputs, "lm")
    assert svg is not None
    assert {"LSTM", "GPT"} <= set(texts(svg))
    assert "Kneser–Ney 3-gram" not in texts(svg)


def test_bleu_of_the_validations_is_drawn_where_it_was_taken(inputs: ReportInputs) -> None:
    assert plots.bleu_curves_plot(inputs) is None
    curve = [CurvePoint(10, train_loss=2.0), CurvePoint(20, validation_bleu=12.5), CurvePoint(40, validation_bleu=31.0)]
    svg = plots.bleu_curves_plot(replace(inputs, curves={("translator", "attention"): curve}))
    assert svg is not None
    assert {"BLEU, greedy", inputs.translators[0].title} <= set(texts(svg))


def test_attention_labels_stand_in_order_whatever_they_hold() -> None:
    example = Translation(
        source="$x$",
        reference="y",
        output="y",
        source_tokens=["$x$", "<b>", "国王"],
        output_tokens=["a\nb", "\x00"],
        attention=[[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]],
    )
    svg = plots.attention_plot(example, "attention-0", "T")
    assert svg is not None
    assert texts(svg) == ["$x$", "<b>", "国王", "a⏎b", "�"]


def test_map_labels_do_not_cover_each_other() -> None:
    points = [{"word": f"word{i}", "x": i % 3 * 1e-4, "y": 0.0, "group": "g"} for i in range(30)]
    points.append({"word": "far", "x": 5.0, "y": 5.0, "group": "h"})
    svg = plots.map_plot(EmbeddingRung.model_validate({"name": "a", "map": points}), "map-0")
    assert svg is not None
    shown = texts(svg)
    assert "far" in shown
    assert sum(text.startswith("word") for text in shown) <= 6


@pytest.mark.parametrize(("text", "shown"), [("a\nb", "a⏎b"), ("\x07", "�"), ("é国 x", "é国 x")])
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def stages(*edges: str) -> list[Stage]:
    """`a<b,c` is: a waits for b and c."""
    split = [edge.partition("<") for edge in edges]
    return [Stage(stage=name, depends=needs.split(",") if needs else []) for name, _, needs in split]


def test_dag_groups_the_jobs_of_a_matrix() -> None:
    nodes = grouped(stages("make@a", "make@b", "use<make@a,make@b,elsewhere"))
    assert [(node.name, node.jobs, list(node.depends)) for node in nodes] == [
        ("make", ["a", "b"], []),
        ("use", [], ["make"]),
    ]


def test_dag_leaves_out_edges_that_a_longer_way_implies() -> None:
    svg = draw_dag(stages("a", "b<a", "c<a,b", "d<a,b,c"))
    assert svg is not None
    assert svg.count('class="edge"') == 3


def test_dag_boxes_never_overlap_and_edges_go_down() -> None:
    edges = ["r", *(f"s{i}<r" for i in range(5)), "t<s0,s4", "u<t,s2", "v<u,s1,s3"]
    svg = str(draw_dag(stages(*edges)))
    boxes = [tuple(map(float, found)) for found in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="(\d+)"', svg)]
    for i, (x, y, width) in enumerate(boxes):
        assert all(other_y != y or other_x >= x + width or other_x + width <= x for other_x, other_y, _ in boxes[:i])
    for path in re.findall(r'd="([^"]+)"', svg):
        ends = [float(y) for y in re.findall(r"[\d.]+ ([\d.]+)(?= [CV]|$)", path)]
        assert ends == sorted(ends)


def test_dag_refuses_a_circle() -> None:
    with pytest.raises(InputError, match="circle"):
        draw_dag(stages("a<b", "b<a"))


def test_dag_of_nothing() -> None:
    assert draw_dag([]) is None
