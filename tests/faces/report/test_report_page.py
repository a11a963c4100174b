"""The page as a whole: complete, well-formed, self-contained, harmless, the same for the same inputs."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from small_run_files import embedding, entry, language_model, only, report_of, with_rungs

from langladder.evaluation.language_model import LanguageModelPage
from langladder.faces.report import language_models
from langladder.faces.report.inputs import CurvePoint, Entry, Meta, ReportInputs
from langladder.faces.report.page import build_page, code
from langladder.faces.report.tables import ladder_rows, ladder_summary

CURVE = (CurvePoint(10, 2.0, 2.5), CurvePoint(20, 1.0, 1.5))
VOID = {"meta", "link", "br", "hr", "img", "input", "col"}
SECTIONS = [
    "ladder",
    "curves",
    "generations",
    "neighbours",
    "map",
    "translations",
    "pipeline",
    "data",
    "tokenizer",
    "next",
]


class Outline(HTMLParser):
    """Checks that tags nest, and collects what the tests ask about."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[int] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {}


@pytest.fixture
def page(pages: dict[str, str], inputs: ReportInputs) -> str:
    """Built once: the inputs are the same for each test."""
    if "page" not in pages:
        pages["page"] = build_page(inputs)
    return pages["page"]


def test_page_is_well_formed_and_has_every_section(page: str) -> None:
    outline = Outline(page)
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert [name for name in ids if name in SECTIONS] == SECTIONS
    assert outline.headings[0] == 1
    assert outline.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False))
    targets = [str(attributes.get("href")) for tag, attributes in outline.tags if tag == "a"]
    assert all(target[1:] in ids for target in targets if target.startswith("#"))


def test_references_inside_svg_resolve(page: str) -> None:
    ids = set(re.findall(r' id="([^"]+)"', page))
    used = set(re.findall(r'xlink:href="#([^"]+)"', page)) | set(re.findall(r"url\(#([^)]+)\)", page))
    assert used
    assert used <= ids


def test_page_loads_nothing(page: str) -> None:
    for tag, attributes in Outline(page).tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        loads = [attributes.get(name) or "" for name in ("src", "srcset", "xlink:href", "poster", "data")]
        assert all(value.startswith(("data:", "#")) or not value for value in loads), (tag, attributes)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert "default-src 'none'" in page


def test_page_escapes_what_models_write(page: str) -> None:
    outline = Outline(page)
    assert [tag for tag, _ in outline.tags].count("script") == 1
    assert "&lt;script&gt;alert" in page
    assert "<script>alert" not in page


def test_page_links_only_to_web_addresses(inputs: ReportInputs) -> None:
    *_, gpt = inputs.of("lm")
    gpt = replace(gpt, timing=gpt.timing.model_copy(update={"run": "javascript:alert(1)"}))
    page = build_page(only(inputs, lm=[gpt]))
    assert 'href="javascript' not in page and "javascript:alert(1)" in page


def test_page_shows_missing_timings_as_dashes(page: str) -> None:
    row = re.search(r"<tr[^>]*><th scope=\"row\">Kneser–Ney 3-gram</th>.*?</tr>", page, re.DOTALL)
    assert row is not None
    cells = re.findall(r'<td class="number[^"]*" data-value="([^"]*)">([^<]*)</td>', row[0])
    assert len(cells) == 10
    assert cells[-4:] == [("", "–")] * 4
    assert cells[0] == ("44.21", "44.21")


def test_page_is_the_same_for_the_same_inputs(page: str, inputs: ReportInputs) -> None:
    assert build_page(inputs) == page
    assert len(page.encode()) < 3_000_000
    assert not re.search(r"\d{4}-\d\d-\d\dT|matplotlib\.org", page)


def test_page_says_what_was_found(page: str, inputs: ReportInputs) -> None:
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    assert "is GPT with 34.10 (the floor is 31.42)" in text
    assert language_models.headline(inputs, "lm") == (
        "Best language model on this text",
        "GPT, with perplexity per word 34.10, 8.5 % above the floor",
    )
    assert "国王" in text
    assert "queen 0.91, prince 0.83" in text
    assert "68.8 % (80 of 100)" in text
    assert "too long" in text


def test_a_page_of_own_text_speaks_of_no_floor(inputs: ReportInputs) -> None:
    """Nor of microworld: nobody knows the true probability of a text that no grammar made."""
    unknown = {"floor_perplexity_per_word": None, "above_floor_percent": None}
    lms = []
    for rung in inputs.of("lm"):
        positions = [position.model_copy(update={"floor": None}) for position in rung.page.scores.positions]
        scores = rung.page.scores.model_copy(update=unknown | {"positions": positions})
        lms.append(replace(rung, page=rung.page.model_copy(update={"scores": scores})))
    meta = Meta(size="small", seed=1, corpus="text", text="novels", parallel="text", pairs="en-de")
    page = build_page(report_of(meta, lm=lms))
    assert "The ladder on <bdi>novels</bdi>" in page
    assert "Perplexity per word by position in the document" in page
    assert "floor" not in page.partition("<body>")[2].partition("<script>")[0]
    assert "microworld" not in page
    assert '<dt>pairs</dt><dd dir="ltr">en-de</dd>' in page and "<dt>corpus</dt>" not in page


def test_page_of_an_empty_ladder() -> None:
    page = build_page(report_of())
    ids = [attributes["id"] for _, attributes in Outline(page).tags if "id" in attributes]
    assert ids == ["ladder", "next"]  # a section with nothing to show is left out, of the contents too
    assert page.count('<li><a href="#') == 2
    assert "No rung was trained." in page


def test_families_that_are_rungs_with_share_their_sections(inputs: ReportInputs) -> None:
    tuned = entry("tune", language_model("gpt_longer", "GPT, trained longer", 30.0, 3_400_000), curve=CURVE)
    page = build_page(only(inputs, lm=list(inputs.of("lm")), tune=[tuned]))
    ids = [attributes["id"] for _, attributes in Outline(page).tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert "Language models that start from others" not in page  # one table, and one drawing of curves
    (table,) = [table for table in ladder_rows(with_rungs(inputs, "tune", [tuned])) if table.family == "lm"]
    assert "GPT, trained longer" in [row.title for row in table.rows]
    assert "is GPT, trained longer with 30.00" in page
    assert (
        page.count("What the language models write</h2>") == 1 and page.count("Perplexity per word of every") == 2
    )  # broad, narrow


def test_rungs_of_several_families_stand_in_order_of_history(inputs: ReportInputs) -> None:
    years = {"lstm": 1997, "gpt": 2019, "kneser_ney": 1995}

    def dated(rung: Entry[Any], year: int | None) -> Entry[Any]:
        return replace(rung, metadata=rung.metadata.model_copy(update={"year": year}))

    tuned = dated(entry("tune", language_model("a", "A", 30.0, 1)), 2013)
    unknown = dated(entry("tune", language_model("b", "B", 30.0, 1)), None)
    own = [dated(rung, years[rung.name]) for rung in inputs.of("lm")]
    mixed = with_rungs(with_rungs(inputs, "lm", own), "tune", [unknown, tuned])
    assert [rung.name for rung in mixed.rungs_with("lm", LanguageModelPage)] == ["kneser_ney", "lstm", "a", "gpt", "b"]


def test_rungs_of_one_name_are_distinguished(inputs: ReportInputs) -> None:
    value = language_model("lstm", "LSTM, trained longer", 30.0, 3_400_000) | {"vectors": embedding("skipgram")}
    families = {"lm": list(inputs.of("lm")), "embedding": list(inputs.of("embedding")), "tune": [entry("tune", value)]}
    both = report_of(**families)
    assert [rung.name for rung in both.of("embedding")] == ["skipgram", "tune_skipgram"]
    columns = re.findall(r'<th scope="col" data-rung="([^"]*)">', build_page(both))
    assert {"lstm", "tune_lstm", "skipgram", "tune_skipgram"} <= set(columns)
    assert [rung["name"] for rung in ladder_summary(both)["embedding"]] == ["skipgram", "tune_skipgram"]


def test_claims_stand_together(inputs: ReportInputs) -> None:
    findings = {"holds": True, "verdict": "It holds.", "columns": [], "rows": [], "plots": [], "figures": {}}
    claims = {
        family: [entry(family, {"name": family, "title": title, "fingerprint": "f", "findings": findings})]
        for family, title in (("claim", "Gradients vanish"), ("probe", "Agreement"))
    }
    page = build_page(only(inputs, **claims))
    section = page[page.index('<h2 id="claims">') :]
    assert page.count('<h2 id="claims">') == 1 and "Gradients vanish" in section and "Agreement" in section


def test_the_family_tree_shows_which_rung_grew_from_which(page: str, inputs: ReportInputs) -> None:
    assert 'id="tree"' not in page
    kneser_ney, lstm, gpt = inputs.of("lm")
    tuned = replace(gpt, metadata=gpt.metadata.model_copy(update={"base": "lm/lstm"}))
    again = replace(kneser_ney, metadata=kneser_ney.metadata.model_copy(update={"base": "elsewhere/<b>"}))
    page = build_page(only(inputs, lm=[again, lstm, tuned]))
    Outline(page)
    tree = page[page.index('<h2 id="tree">') : page.index('<h2 id="pipeline">')]
    assert "GPT <code" in tree and '<code class="faint small">lm/lstm</code>' in tree
    assert tree.count('class="edge"') == 2 and "elsewhere/&lt;b&gt;" in tree


def test_commands_and_keys_in_advice_are_code() -> None:
    assert code("`seeds: 3` < that `<b>`") == "<code>seeds: 3</code> &lt; that <code>&lt;b&gt;</code>"
