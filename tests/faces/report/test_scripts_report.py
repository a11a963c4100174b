"""Texts of every script in the report: each in its direction and language, arrows that point the way that is meant."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from classifier_files import classifier, decision
from markupsafe import Markup
from small_run_files import entry, report_of, translator
from test_taggers_report import page as tagger_page
from test_taggers_report import report as tagger_report

from langladder.evaluation.classifier import Node
from langladder.evaluation.maps import WordMap
from langladder.evaluation.tagger import TaggedWord
from langladder.evaluation.translation import Translation
from langladder.faces.report.bidi import enclosing, isolated, plain
from langladder.faces.report.graphs import draw_tree
from langladder.faces.report.labels import heat_map
from langladder.faces.report.page import blocks, build_page
from langladder.faces.report.plots import visible
from langladder.faces.report.translators import attention_plot
from langladder.faces.report.word_vectors import word_map_svg
from pipeline import ROOT

SENTENCE = ["كتب", "الولد", "GPT-2", "."]
RLI, LRI, PDI = "\u2067", "\u2066", "\u2069"


@pytest.mark.parametrize(
    ("text", "language", "attributes"),
    [
        ("the cat", None, ' dir="ltr"'),
        ("(3.5", None, ""),
        ("كتب الولد", None, ' dir="rtl"'),
        ("كتب الولد", "fa", ' dir="rtl" lang="fa"'),
        ("直す", None, ' dir="ltr" lang="ja"'),
        ("直", "zh-Hant", ' dir="ltr" lang="zh-Hant"'),
        ("직", None, ' dir="ltr" lang="ko"'),
        ("x", '"><b>', ' dir="ltr" lang="&#34;&gt;&lt;b&gt;"'),
    ],
)
def test_an_element_says_the_direction_and_the_language_of_its_text(
    text: str, language: str | None, attributes: str
) -> None:
    assert enclosing(text, language) == attributes
    assert isolated(text, language) == Markup(f"<bdi{attributes}>{text}</bdi>")


def test_where_no_element_may_stand_characters_do_it() -> None:
    assert plain("the cat") == "the cat" and plain("猫") == "猫"
    assert plain("كتب a") == f"{RLI}كتب a{PDI}" and plain("the word كتب") == f"{LRI}the word كتب{PDI}"
    assert visible(plain("مي\u200cروم\x07")) == f"{RLI}مي\u200cروم�{PDI}"  # the joiner of Persian stays


def test_no_page_leaves_the_direction_to_the_browser() -> None:
    templates = ROOT / "src" / "langladder" / "faces" / "report" / "templates"
    assert not [file.name for file in templates.iterdir() if 'dir="auto"' in file.read_text(encoding="utf-8")]


def test_a_tagged_arabic_sentence_runs_to_the_left() -> None:
    words = [TaggedWord(word=word, tag="X", said="X", probability=0.9, unknown=False) for word in SENTENCE]
    inputs = tagger_report(tagger_page("hmm", [2, 1]).model_copy(update={"shown": [words]}))
    html = build_page(inputs)
    assert '<p class="tagged" dir="rtl">' in html
    assert '<span dir="rtl">كتب</span>' in html and '<span dir="ltr">GPT-2</span>' in html and "<span>.</span>" in html
    assert '<p class="tagged" dir="rtl" lang="ar">' in build_page(replace(inputs, languages={"tags": "ar"}))


def translated(source: list[str], output: list[str]) -> dict[str, Any]:
    weights = [[1.0] + [0.0] * (len(source) - 1)] * len(output)
    texts = {"source": " ".join(source), "reference": " ".join(output), "output": " ".join(output)}
    best = {"output": " ".join(output), "log_prob": -0.5, "score": -0.162}
    return texts | {"source_tokens": source, "output_tokens": output, "attention": weights, "n_best": [best]}


def test_translations_run_each_their_way_and_arrows_from_source_to_translation() -> None:
    value = translator("attention") | {"examples": [translated(SENTENCE, ["他", "写", "信"])]}
    inputs = report_of(translator=[entry("translator", value)])
    html = build_page(replace(inputs, languages={"source": "ar", "target": "zh-Hans"}))
    source = 'dir="rtl" lang="ar">كتب الولد GPT-2 .'
    assert f'<th scope="row" {source}</th><td dir="ltr" lang="zh-Hans">他 写 信</td>' in html
    assert f'<figcaption><bdi {source}</bdi> → <bdi dir="ltr" lang="zh-Hans">他 写 信</bdi></figcaption>' in html
    assert 'aria-label="كتب الولد GPT-2 . → 他 写 信"' in html
    back = translator("attention") | {"examples": [translated(["she", "wrote"], SENTENCE)]}
    html = build_page(report_of(translator=[entry("translator", back)]))
    assert re.search(r'<td data-rung="attention" dir="rtl">كتب الولد GPT-2 \.', html)
    assert '<span class="faint small" dir="ltr">-0.162</span>' in html  # else the minus would stand behind


def test_what_a_classifier_says_stands_behind_an_arrow_that_points_to_it() -> None:
    value = classifier("logistic", labels=("سلبي", "إيجابي"))
    item = decision("الفيلم ممل", "سلبي", "إيجابي", pieces=["الفيلم", "ممل"], weights=[0.0, 1.0])
    html = build_page(report_of(classifier=[entry("classifier", value | {"shown": [item], "mistakes": [item]})]))
    assert '<div dir="rtl">الفيلم <span class="mark for-4" title="+1.00">ممل</span></div>→ <bdi dir="rtl">' in html
    assert '<th scope="row" dir="rtl">سلبي</th><td><bdi dir="rtl">إيجابي</bdi> <span' in html


def test_the_items_of_a_list_stay_in_their_order() -> None:
    (block,) = blocks({"longest": ["merchant", "التفاحة", "الجريدة", 3]})
    assert block.facts == [("longest", f"merchant · {RLI}التفاحة{PDI} · {RLI}الجريدة{PDI} · 3")]


def test_drawings_keep_texts_apart() -> None:
    drawn = heat_map([[3, 1], [0, 4]], ["اسم", "فعل"], "map")
    assert f">{RLI}اسم{PDI}</text>" in drawn
    assert f"<title>{RLI}اسم{PDI} taken for {RLI}فعل{PDI}: 1 (25.0 %)</title>" in drawn
    long = heat_map([[3, 1], [0, 4]], ["कि" * 30, "x"], "map")
    assert f">{'कि' * 17}…</text>" in long  # not in the middle of a character
    words = ["كتب", "الولد", "رسالة"]
    example = Translation.model_validate(translated(words, ["he", "wrote"]))
    drawing = attention_plot(example, "one", "a rung")
    assert drawing is not None and f">{RLI}كتب{PDI}</text>" in drawing and ">he</text>" in drawing
    first, second, third = x_positions(drawing, *words)
    assert first > second > third
    again = attention_plot(Translation.model_validate(translated(["a", "b"], ["x"])), "one", "a rung")
    assert again is not None
    first, second = x_positions(again, "a", "b")
    assert first < second
    svg = word_map_svg(WordMap(words, np.array([[0.0, 0], [1, 1], [2, 0]]), None), {}, "map")
    assert f">{RLI}الولد{PDI}</text>" in svg


def x_positions(svg: str, *texts: str) -> list[float]:
    """From the left, where a text begins."""
    result = (re.search(rf'<text [^>]*x="([\d.]+)"[^>]*>{re.escape(plain(text))}</text>', svg) for text in texts)
    return [float(item[1]) for item in result if item]


def test_a_tree_stands_over_its_words_as_they_are_read() -> None:
    def x_of(words: list[str]) -> list[float]:
        leaves = [Node(children=[], word=i, label=None, said="a", probability=0.9) for i in range(2)]
        root = Node(children=[0, 1], word=None, label=None, said="b", probability=0.9)
        drawn = str(draw_tree([*leaves, root], words, ["a", "b"], "tree"))
        return [float(result) for result in re.findall(r'<text [^>]*x="([\d.]+)"[^>]*>[^<]{3,}</text>', drawn)]

    left, right = x_of(["not", "good"]), x_of(["ليس", "جيدا"])
    assert left[0] < left[1] and right[0] > right[1]
