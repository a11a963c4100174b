"""Plots: what is drawn where, and that they are the same every time and fit for light and dark."""

import math
import re
from dataclasses import replace
from importlib import import_module
from typing import Any
from xml.etree import ElementTree

import pytest
from many_rungs import many_rungs
from small_run_files import with_rungs

from langladder.evaluation.translation import Translation
from langladder.evaluation.word_vectors import MapPoint
from langladder.faces.report import plots
from langladder.faces.report.inputs import CurvePoint, ReportInputs
from langladder.faces.report.language_models import ladder_plot, pictures
from langladder.faces.report.picture_files import picture_files
from langladder.faces.report.plots import approach_marks, drawing, new_figure, visible
from langladder.faces.report.selection import hue_of
from langladder.faces.report.translators import attention_plot, length_plot, loss
from langladder.faces.report.word_vectors import map_plot
from pipeline import ROOT

NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


def lines(svg: str) -> dict[str, list[ElementTree.Element]]:
    """The lines of each rung."""
    result: dict[str, list[ElementTree.Element]] = {}
    for element in ElementTree.fromstring(svg).iter(f"{NAMESPACE}g"):
        if rung := element.get("data-rung"):
            result.setdefault(rung, []).append(element)
    return result


def curves(inputs: ReportInputs) -> plots.LinePlot | None:
    return plots.curves_plot(inputs.of("lm"), "lm", "Language models")


def titled(element: ElementTree.Element) -> str | None:
    return element.findtext(f"{NAMESPACE}title")


def test_ladder_picture_shows_rungs_and_floor(inputs: ReportInputs) -> None:
    svg = ladder_plot(inputs.of("lm"), None)
    assert svg is not None
    assert {"LSTM", "GPT", "entropy floor 31.42", "34.10  (+9 %)"} <= set(texts(svg))
    assert svg == ladder_plot(inputs.of("lm"), None)
    assert "currentColor" in svg
    assert "var(--series-0)" in svg


def test_drawings_have_a_narrow_form_in_which_all_rungs_fit(inputs: ReportInputs) -> None:
    ladder, _ = pictures(inputs, "lm")
    drawn = curves(inputs)
    assert drawn is not None
    for broad, narrow in ((ladder.svg, ladder.narrow), (drawn.svg, drawn.narrow)):
        item, other = ElementTree.fromstring(broad), ElementTree.fromstring(narrow)
        assert (item.get("class"), other.get("class")) == ("broad", "narrow")
        assert float(other.get("width", "")[:-2]) == pytest.approx(72 * plots.NARROW_INCHES, abs=1)
        assert other.get("aria-label") == item.get("aria-label")
    assert {"LSTM", "GPT", "34.10  (+9 %)"} <= set(texts(ladder.narrow))
    assert "(lower is better)" in " ".join(texts(ladder.narrow)).replace("lower is\n", "lower is ")
    assert [*lines(drawn.narrow)] == [*lines(drawn.svg)]


def test_the_first_training_losses_do_not_press_the_curves_together(inputs: ReportInputs) -> None:
    points = [CurvePoint(step=1, train_loss=90.0), CurvePoint(step=50, train_loss=2.0, validation_loss=2.1)]
    points += [CurvePoint(step=100, train_loss=1.5, validation_loss=1.7)]
    drawn = plots.curves_plot([replace(rung, curve=points) for rung in inputs.of("lm")], "lm", "Language models")
    assert drawn is not None
    numbers = [float(text) for text in texts(drawn.svg) if re.fullmatch(r"\d\.\d+", text)]
    assert numbers and max(numbers) < 3


def test_what_context_is_worth_stands_with_the_ladder(inputs: ReportInputs) -> None:
    ladder, _ = pictures(inputs, "lm")
    assert {"entropy floor 31.42", "of the sentence alone"} <= set(texts(str(ladder.svg)))
    assert "It is 31.42 for a reader of the whole document so far" in ladder.caption
    assert "the sentence alone 42.50 (+35.3 ± 3.5 %), one sentence before it 41.50 (+32.1 ± 3.5 %)" in ladder.caption
    without = replace(inputs, data={})
    ladder, _ = pictures(without, "lm")
    assert "alone" not in ladder.caption and "of the sentence alone" not in texts(str(ladder.svg))


def test_perplexity_by_position_has_a_line_a_rung_and_the_floor(inputs: ReportInputs) -> None:
    _, drawn = pictures(inputs, "lm")
    assert {"1", "2", "3–4", "entropy floor"} <= set(texts(str(drawn.svg)))
    assert set(lines(str(drawn.svg))) == {"kneser_ney", "lstm", "gpt"}
    assert drawn.heading == "Perplexity per word by position in the document" and "floor" in drawn.caption


def test_perplexity_by_position_needs_positions_and_leaves_gaps(inputs: ReportInputs) -> None:
    """Where each line is a document there is nothing to show; what a model rules out is no point."""

    def with_positions(change: Any) -> ReportInputs:
        return with_rungs(
            inputs,
            "lm",
            [
                replace(
                    rung,
                    page=rung.page.model_copy(
                        update={
                            "scores": rung.page.scores.model_copy(
                                update={"positions": change(rung.name, rung.page.scores.positions)}
                            )
                        }
                    ),
                )
                for rung in inputs.of("lm")
            ],
        )

    assert len(list(pictures(with_positions(lambda _, result: result[:1]), "lm"))) == 1
    impossible = [
        position.model_copy(update={"perplexity": None}) for position in inputs.of("lm")[0].page.scores.positions
    ]
    _, drawn = pictures(with_positions(lambda name, result: impossible if name == "gpt" else result), "lm")
    assert set(lines(str(drawn.svg))) == {"kneser_ney", "lstm"}


def test_ladder_picture_as_a_file_needs_no_page(inputs: ReportInputs) -> None:
    svg = ladder_plot(inputs.of("lm"), None, standalone=True)
    assert svg is not None
    assert svg.startswith("<?xml")
    assert "var(" not in svg
    assert "currentColor" not in svg
    assert "fill: #ffffff" in svg
    assert ElementTree.fromstring(svg.encode()).tag == f"{NAMESPACE}svg"


def test_each_picture_is_a_file_that_needs_no_page(inputs: ReportInputs) -> None:
    files = dict(picture_files(inputs))
    assert {"ladder", "curves_lm", "curves_translator"} <= files.keys()
    for svg in files.values():
        assert ElementTree.fromstring(svg.encode()).tag == f"{NAMESPACE}svg"
        assert "var(" not in svg and "currentColor" not in svg and plots.LINE not in svg
        assert "#ffffff" in svg
    assert {"LSTM", "GPT"} <= set(texts(files["curves_lm"].partition("\n")[2]))  # the legend
    on_page = curves(inputs)
    assert on_page is not None
    colours = {plots.SERIES[hue] for hue in on_page.choice.colours.values()}
    assert len(colours) == 2 and colours <= set(re.findall("#[0-9a-f]{6}", files["curves_lm"]))
    assert files == dict(picture_files(inputs))


def test_nothing_measured_nothing_drawn() -> None:
    assert ladder_plot([], None) is None
    assert plots.curves_plot([], "lm", "Language models") is None
    assert plots.bleu_curves_plot([], "translator", loss) is None
    assert length_plot([], loss) is None
    assert map_plot([], "Skip-gram", "m") is None
    assert attention_plot(Translation(source="a", reference="b", output="b"), "a", "t") is None


def test_curves_name_the_rungs_that_have_one(inputs: ReportInputs) -> None:
    drawn = curves(inputs)
    assert drawn is not None
    assert set(drawn.choice.titles) == {"lstm", "gpt"} == set(lines(drawn.svg))
    assert [titled(line) for line in lines(drawn.svg)["lstm"]] == ["LSTM", "LSTM"]  # training and validation


def test_bleu_of_the_validations_is_drawn_where_it_was_taken(inputs: ReportInputs) -> None:
    (rung,) = inputs.of("translator")
    assert plots.bleu_curves_plot([rung], "translator", loss) is None
    curve = (CurvePoint(10, train_loss=2.0), CurvePoint(20, validation_bleu=12.5), CurvePoint(40, validation_bleu=31.0))
    drawn = plots.bleu_curves_plot([replace(rung, curve=curve)], "translator", loss)
    assert drawn is not None
    assert "BLEU, greedy" in texts(drawn.svg)
    assert drawn.choice.titles == {"attention": rung.title}


def test_entity_f1_of_the_validations_is_drawn_where_it_was_taken(inputs: ReportInputs) -> None:
    (rung,) = inputs.of("translator")
    assert plots.entity_curves_plot([rung], "tagger", loss) is None
    curve = (CurvePoint(10, validation_entity_f1=0.2), CurvePoint(20, validation_entity_f1=0.5))
    drawn = plots.entity_curves_plot([replace(rung, curve=curve)], "tagger", loss)
    assert drawn is not None and "entity F₁" in texts(drawn.svg)


def test_of_many_curves_a_few_have_a_colour_and_the_rest_are_grey() -> None:
    drawn = curves(many_rungs())
    assert drawn is not None
    result = lines(drawn.svg)
    assert len(result) > 20
    coloured = {rung: line for rung, (line, *_) in result.items() if "on" in str(line.get("class")).split()}
    assert list(drawn.choice.chosen) == [rung for rung in result if rung in coloured]
    styles = [str(line.get("style")) for line in coloured.values()]
    assert sorted(styles) == [f"--rung: var(--series-{i})" for i in range(6)]
    hues = drawn.choice.hues
    firsts = {hues[rung]: rung for rung in reversed(coloured)}  # of each approach
    assert len(firsts) > 3
    assert [coloured[rung].get("style") for rung in firsts.values()] == [f"--rung: var(--series-{i})" for i in firsts]
    assert all(line.get("style") is None for rung, both in result.items() for line in both if rung not in coloured)
    assert "var(--rung)" in drawn.svg and "#7f8103" not in drawn.svg


def test_an_infinite_loss_leaves_the_others_their_scale(inputs: ReportInputs) -> None:
    curve = (CurvePoint(10, 2.0, 2.5), CurvePoint(20, math.inf, math.inf), CurvePoint(30, 1.0, 1.5))
    drawn = curves(with_rungs(inputs, "lm", [replace(inputs.of("lm")[0], curve=curve)]))
    assert drawn is not None
    assert max(float(text.replace("−", "-")) for text in texts(drawn.svg) if re.fullmatch(r"[−\d.]+", text)) <= 30


def test_approaches_have_colours_and_the_corpus_its_name(inputs: ReportInputs) -> None:
    svg = ladder_plot(many_rungs().of("lm"), "novels")
    assert svg is not None
    assert {"n-grams", "recurrent", "Transformer"} <= set(texts(svg))
    assert "perplexity per word on the test text of novels (lower is better)" in texts(svg)
    assert "n-grams" not in texts(str(ladder_plot(inputs.of("lm"), None)))


def test_an_approach_has_one_colour_in_every_plot() -> None:
    known = [hue_of(approach) for approach in approaches()]
    assert len(known) > 10 and None not in known
    with drawing():
        item, two = (
            approach_marks(new_figure(4, 4)[0], names) for names in (["trees", "Transformer"], ["Transformer"])
        )
    assert item["Transformer"] == two["Transformer"] and item["trees"] != item["Transformer"]
    with drawing():
        strange = approach_marks(new_figure(4, 4)[0], ["n-grams", "of a plug-in", "counts"])
    assert len(set(strange.values())) == 3


def approaches() -> set[str]:
    """Those of the classes that the files of conf/ name."""
    text = "\n".join(file.read_text() for file in (ROOT / "conf").glob("*/*.yaml"))
    named = {name.rpartition(".")[::2] for name in re.findall(r"^_target_: (langladder\.[\w.]+)$", text, re.M)}
    return {getattr(getattr(import_module(module), name), "approach", "") for module, name in named} - {""}


def test_attention_labels_stand_in_order_whatever_they_hold() -> None:
    example = Translation(
        source="$x$",
        reference="y",
        output="y",
        source_tokens=["$x$", "<b>", "国王"],
        output_tokens=["a\nb", "\x00"],
        attention=[[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]],
    )
    svg = attention_plot(example, "attention-0", "T")
    assert svg is not None
    assert texts(svg) == ["$x$", "<b>", "国王", "a⏎b", "�"]


def test_map_labels_do_not_cover_each_other() -> None:
    points = [{"word": f"word{i}", "x": i % 3 * 1e-4, "y": 0.0, "group": "g"} for i in range(30)]
    points.append({"word": "far", "x": 5.0, "y": 5.0, "group": "h"})
    svg = map_plot([MapPoint.model_validate(point) for point in points], "a", "map-0")
    assert svg is not None
    labels = texts(svg)
    assert "far" in labels
    assert sum(text.startswith("word") for text in labels) <= 6


@pytest.mark.parametrize(("text", "expected"), [("a\nb", "a⏎b"), ("\x07", "�"), ("é国 x", "é国 x")])
def test_visible(text: str, expected: str) -> None:
    assert visible(text) == expected
