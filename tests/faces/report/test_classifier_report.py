"""What the report says of classifiers: the table, which differences count, the inside of each."""

import re
from dataclasses import replace
from typing import Any

import pytest
from classifier_files import LABELS, TREE, classifier, with_filters, with_trees
from small_run_files import HOSTILE, entry, report_of, with_rungs

from langladder.evaluation.classifier import ClassifierPage, Node
from langladder.evaluation.label_scores import Answered
from langladder.faces.report.classifiers import attended, marked
from langladder.faces.report.comparison import compare
from langladder.faces.report.graphs import MOST_NODES, draw_tree, label_colours, label_signs
from langladder.faces.report.inputs import Entry, ReportInputs, Timing
from langladder.faces.report.labels import coverage_table, reliability_plot
from langladder.faces.report.page import build_page
from langladder.faces.report.section import family_headline, family_pictures, family_sections
from langladder.faces.report.tables import brief, ladder_rows, ladder_summary
from langladder.families import family as family_of

FAMILY = family_of("classifier")


def rungs(**more: Any) -> list[Entry[Any]]:
    pages = [
        classifier("majority", 0.5, **more),
        with_trees(classifier("tree_lstm", 0.9, **more)),
        with_filters(classifier("textcnn", 0.89, **more)),
    ]
    return [entry("classifier", page, timing=Timing(seconds=6.5, tokens_per_second=900.0)) for page in pages]


def test_golden_table() -> None:
    (table,) = brief(ladder_rows(report_of(classifier=rungs())))
    assert table.title == "Classifiers"
    titles = "accuracy, accuracy ±, below the best, ECE, parameters, texts/s, time"
    assert ", ".join(column.title for column in table.columns) == titles
    page = rungs()[1].page
    cells = dict(zip([column.title for column in table.columns], table.rows[1].cells, strict=True))
    assert cells["accuracy"].text == f"{100 * page.scores.accuracy:.1f} %" and cells["accuracy"].best
    assert cells["below the best"].text == f"{100 * (0.95 - page.scores.accuracy):.1f}"
    assert cells["texts/s"].text == "900" and cells["time"].text == "6.5 s"


def test_what_no_grammar_tells_has_no_column() -> None:
    (table,) = ladder_rows(report_of(classifier=rungs(best=None)))
    assert "below the best" not in [column.title for column in table.columns]
    (result,) = family_pictures(FAMILY, report_of(classifier=rungs(best=None)))
    assert "Bayes" not in result.caption and "best possible" not in result.svg


def test_the_headline_names_the_best_and_what_is_left() -> None:
    inputs = report_of(classifier=rungs())
    headline = family_headline(FAMILY, inputs)
    best = inputs.of("classifier")[1].page.scores.accuracy
    assert headline == (
        "Best classifier on these texts",
        f"tree_lstm, which labels {100 * best:.1f} % of the test texts right, {95 - 100 * best:.1f} points below the "
        "best possible",
    )
    assert family_headline(FAMILY, report_of()) is None and list(family_pictures(FAMILY, report_of())) == []
    assert list(family_sections(FAMILY, report_of())) == []


def test_sections_compare_first_and_then_look_inside() -> None:
    first, second = family_sections(FAMILY, report_of(classifier=rungs()))
    [(heading, compared)] = first.context["paired"]
    assert heading == "Which differences mean something"
    assert compared.sentence.startswith("tree_lstm (") and compared.comparisons == 3
    [(_, table)] = first.context["tables"]
    assert [key for key, _ in table.scores.rows] == [(item.label, item.support) for item in rungs()[0].page.per_label]
    inside = {rung.name: rung for rung in second.context["rungs"]}
    assert len(inside["tree_lstm"].trees) == 1 and not inside["textcnn"].trees
    assert inside["tree_lstm"].trees[0].caption.striptags() == "positive (87 %), really negative"
    assert [label for label, _ in inside["textcnn"].filters] == list(LABELS)
    assert len(second.context["texts"].rows) == 13 and second.context["shown"] == 8
    assert second.context["one"].chosen == ["tree_lstm"]


def test_one_rung_has_nothing_to_be_compared_with() -> None:
    first, _ = family_sections(FAMILY, report_of(classifier=rungs()[:1]))
    assert first.context["paired"] == []
    assert "Which differences mean something" not in build_page(report_of(classifier=rungs()[:1]))


def test_the_page_shows_all_and_escapes_what_was_written(inputs: ReportInputs) -> None:
    assert 'id="decisions"' not in build_page(inputs)
    page = build_page(with_rungs(inputs, "classifier", rungs()))
    for text in (
        "Classifiers compared</h2>",
        "why</h2>",
        "McNemar&#39;s exact test on 600 test texts, 3\ncomparisons",
        "Its most confident mistakes",
        "Its label at every node",
        "not good</bdi> <span",
        "attention:",
        "0.123 nats",
    ):
        assert text in page, text
    assert HOSTILE not in page and "&lt;script&gt;alert(" in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_golden_marks() -> None:
    """0.4 of the largest is level 2 of 4; less than an eighth is plain; the sign is in class and number."""
    result = marked(["▁not", "good", "<sep>", "."], [-2.0, 0.8, 0.1, 0.0])
    assert [(item.text, item.weight, item.kind) for item in result] == [
        ("not", "−2.00", "against-4"), ("good", "+0.80", "for-2"), ("‖", "", ""), (".", "", ""),
    ]  # fmt: skip
    thai = marked(["ฉัน", "ชอบ", "แมว", "!"], [1.0, 1.0, 0.0, 0.0], "ฉันชอบแมว !")
    assert [item.after for item in thai] == ["", "", " ", " "]
    assert [item.after for item in marked(["the", " cat", "▁sat"], [1.0] * 3, "the cat sat")] == [" ", " ", " "]
    assert [item.after for item in marked(["the", "cat", "x"], [1.0, 1.0, 1.0], "The cat")] == [" ", " ", " "]
    assert [item.kind for item in attended(["a", "b"], [0.9, 0.1])] == ["seen-4", ""]
    assert [item.kind for item in marked(["a"], [0.0])] == [""] and marked([], []) == []


def test_the_pieces_of_a_word_are_one_word_with_one_weight() -> None:
    """0.5 − 0.1 + 0.2; signs, and words of a script without spaces, stay apart."""
    pieces, weights = ["▁no", "▁D", "ou", "bts", ".", "▁I", "'m", "▁x1", "2"], [1.0, 0.5, -0.1, 0.2, 0, 0, 0, 0, 0]
    result = marked(pieces, weights, "no doubts. I'm x12")
    assert [(item.text, item.weight, item.after) for item in result] == [
        ("no", "+1.00", " "), ("Doubts", "+0.60", ""), (".", "", " "), ("I", "", ""), ("'m", "", " "), ("x12", "", " "),
    ]  # fmt: skip
    assert [item.text for item in marked(["मा", "ी", "तुम"], [0.0] * 3, "माी तुम")] == ["माी", "तुम"]
    assert [(item.text, item.weight) for item in attended(["d", "ou", "a"], [0.3, 0.3, 0.4], "dou a")] == [
        ("dou", "+0.60"), ("a", "+0.40")
    ]  # fmt: skip
    assert [item.text for item in marked(["我", "们"], [0.0, 0.0], "我们")] == ["我", "们"]


NODES = [Node.model_validate(node) for node in TREE]


def signs(svg: str) -> list[tuple[str, float, float]]:
    """The signs and words of a drawing and where they stand, in the order in which they are drawn."""
    matches = re.findall(r'<text [^>]*x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]+)</text>', svg)
    return [(text, float(x), float(y)) for x, y, text in matches]


def test_a_tree_stands_over_its_words() -> None:
    svg = draw_tree(NODES, ["not", "very", "good"], LABELS, "a tree")
    assert svg is not None
    result = signs(svg)
    heights = [y for text, _, y in result if text in "+−"]
    assert heights[:3] == [max(heights)] * 3 and heights[4] < heights[3] < heights[0]  # leaves below, the root above
    words = {text: (x, y) for text, x, y in result if text not in "+−"}
    assert list(words) == ["not", "very", "good"] and min(y for _, y in words.values()) > max(heights)
    assert words["not"][0] < words["very"][0] < words["good"][0]
    assert svg.count('class="edge"') == 4 + 3 and svg.count("stroke-dasharray") == 3
    assert "<title>not very good: positive (80.0 %), really negative</title>" in svg
    assert [text for text, *_ in result].count("+") == 4 and [text for text, *_ in result].count("−") == 1
    assert svg.count("stroke-width: 2.4") == 1


def test_a_tree_of_dependencies_hangs_from_its_root() -> None:
    common: dict[str, Any] = {"label": None, "said": "positive", "probability": 0.9}
    nodes = [Node(children=below, word=word, **common) for below, word in (([], 0), ([], 2), ([0, 1], 1))]
    svg = draw_tree(nodes, ["she", "reads", "books"], LABELS, "a tree")
    assert svg is not None
    (_, she, low), (_, books, also_low), (_, reads, high) = [sign for sign in signs(svg) if sign[0] == "+"]
    assert she < reads < books and high < low == also_low
    assert "<title>she reads books: positive" in svg


def test_what_is_no_readable_tree_is_not_drawn() -> None:
    assert draw_tree([], [], LABELS, "") is None
    assert draw_tree([NODES[0]] * (MOST_NODES + 1), ["a"], LABELS, "") is None


@pytest.mark.parametrize(
    ("labels", "signs"),
    [
        (("negative", "positive"), "−+"),
        (("0", "1", "2", "3", "4"), "01234"),
        (("contradiction", "entailment", "neutral"), "cen"),
        (("person", "place"), "12"),
    ],
)
def test_signs_of_labels(labels: tuple[str, ...], signs: str) -> None:
    assert "".join(label_signs(labels).values()) == signs
    assert len(set(label_colours(labels).values())) == len(labels)


def test_reliability_is_a_line_a_rung() -> None:
    plot = reliability_plot(rungs(), lambda page: page.reliability, lambda page: page.scores.accuracy, "one")
    assert plot is not None and plot.svg.count('data-rung="textcnn"') == 2
    assert reliability_plot([], lambda page: page.reliability, lambda _: 0.0, "one") is None


def test_accuracy_by_share_answered_is_a_row_a_rung_the_best_first() -> None:
    answered = [Answered(threshold=0.9, share=0.6, accuracy=0.99), Answered(threshold=0.2, share=1.0, accuracy=0.9)]
    replaced = [replace(rung, page=rung.page.model_copy(update={"coverage": answered})) for rung in rungs()[1:]]
    first, _ = family_sections(FAMILY, report_of(classifier=rungs()))
    assert first.context["coverage"] == []
    table = coverage_table(replaced, lambda page: page.coverage, lambda page: 1 - page.scores.accuracy)
    assert [row.title for row in table] == ["tree_lstm", "textcnn"]
    assert [cell.threshold for cell in table[0].cells] == [0.9, *[0.2] * 5]  # of half the texts: the first row has 0.6
    page = build_page(report_of(classifier=replaced))
    (section,) = re.findall(r"Answering only where they are sure.*?</table>", page, flags=re.DOTALL)
    assert re.sub(r"<[^>]+>", " ", section).split("100.0 %")[1].split()[:3] == ["tree_lstm", "99.0", "0.90"]


def test_the_summary_holds_scores_without_texts_and_can_be_compared() -> None:
    inputs = report_of(classifier=rungs())
    (first, *_) = ladder_summary(inputs)["classifier"]
    assert {"scores", "per_label", "bayes_accuracy"} <= set(first)
    assert not {"confusion", "right", "shown", "mistakes", "filters", "reliability"} & set(first)
    again = ClassifierPage.model_validate(first)
    assert again.scores == inputs.of("classifier")[0].page.scores
    (result,) = [item for item in compare(inputs, inputs) if item.rows]
    assert result.measures == ["accuracy", "macro-F₁", "parameters"]
