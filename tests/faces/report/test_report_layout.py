"""The page with every rung of conf/: what can be chosen, sorted and filtered, and that nothing is wider than it."""

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from many_rungs import many_rungs

from langladder.faces.report.page import build_page
from langladder.faces.report.tables import ladder_rows
from langladder.text.words.direction import direction

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = (1280, 400)
VOID = {"meta", "link", "br", "hr", "img", "input", "col"}


class Node:
    """An element, its parent and the elements in it."""

    def __init__(self, tag: str, attributes: dict[str, str | None], parent: "Node | None") -> None:
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.inside: list[Node] = []
        self.text = ""

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""

    def has(self, kind: str) -> bool:
        return kind in self.get("class").split()

    def all(self) -> "list[Node]":
        return [self, *(result for child in self.inside for result in child.all())]

    def within(self, kind: str) -> bool:
        node: Node | None = self
        while node is not None and not node.has(kind):
            node = node.parent
        return node is not None


class Tree(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = self.here = Node("", {}, None)
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, dict(attrs), self.here)
        self.here.inside.append(node)
        if tag not in VOID:
            self.here = node

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.here.inside.append(Node(tag, dict(attrs), self.here))

    def handle_endtag(self, _: str) -> None:
        assert self.here.parent is not None
        self.here = self.here.parent

    def handle_data(self, data: str) -> None:
        self.here.text += data


@pytest.fixture(scope="module")
def page() -> str:
    return build_page(many_rungs())


@pytest.fixture(scope="module")
def nodes(page: str) -> list[Node]:
    return Tree(page).root.all()


def test_every_rung_can_be_chosen_and_few_are_at_first(nodes: list[Node]) -> None:
    scopes = [node for node in nodes if node.has("choice")]
    # positions, 2 curves, samples, translations, length, widths, attention, neighbours, sections, maps, and
    # 4 of classifiers
    assert len(scopes) == 15
    for scope in scopes:
        parts = scope.all()
        offered = {node.get("value") for node in parts if node.tag == "option"} - {""}
        chips = [node.get("data-rung") for node in parts if node.tag == "li"]
        present = {node.get("data-rung") for node in parts if node.get("data-rung") and node.tag != "li"}
        assert offered == present and set(chips) <= present
        assert 1 <= len(chips) <= int(scope.get("data-most")) <= 6
        assert len({node.get("label") for node in parts if node.tag == "optgroup"} & {"", "rungs"}) == 0


def test_rows_know_what_the_script_sorts_and_filters_by(nodes: list[Node]) -> None:
    tables = [node for node in nodes if node.tag == "table" and node.has("sortable")]
    wanted = ladder_rows(many_rungs())
    assert len(tables) == len(wanted) == 4
    for table, ladder in zip(tables, wanted, strict=True):
        rows = [node for node in table.all() if node.get("data-place")]
        assert [int(row.get("data-place")) for row in rows] == list(range(len(ladder.rows)))
        grouped = [(approach, row) for approach, result in ladder.approaches() for row in result]
        for node, (approach, row) in zip(rows, grouped, strict=True):
            assert node.get("data-approach") == approach
            cells = [cell for cell in node.inside if cell.tag == "td"]
            assert [cell.get("data-value") for cell in cells] == [cell.sorted_by for cell in row.cells]
            assert [cell.has("more") for cell in cells] == [not column.brief for column in ladder.columns]
        heads = [node for node in table.all() if node.tag == "th" and node.get("scope") == "col"][1:]
        assert [head.get("data-better") for head in heads] == [column.better or "" for column in ladder.columns]
        assert [head.has("more") for head in heads] == [not column.brief for column in ladder.columns]
        headings = [node.inside[0].text for node in table.all() if node.tag == "tr" and node.has("approach")]
        assert headings == [approach for approach, _ in ladder.approaches()]


def test_the_page_stays_light(page: str) -> None:
    """With all rungs, fifty labels among them; pictures of what a reader has not asked for are bounded in number."""
    assert len(page) < 1_800_000


def test_titles_name_the_corpus_and_rungs_their_year(page: str) -> None:
    assert "<title>langladder: the ladder on novels</title>" in page
    assert "<h1>The ladder on <bdi>novels</bdi></h1>" in page
    assert "of the test text of novels" in page or "on the test text of novels" in page
    assert 'Absolute discounting 3-gram <span class="faint small">1948</span>' in page
    assert ">Absolute discounting 3-gram, 1948</text>" in page  # of the picture, where the oldest is at the foot


def test_an_infinite_value_can_be_sorted(page: str) -> None:
    assert '<td class="number" data-value="Infinity">∞</td>' in page
    assert 'data-value="inf"' not in page


def test_what_may_be_wide_scrolls_in_a_box_of_its_own(nodes: list[Node]) -> None:
    drawings = [node for node in nodes if node.tag in ("table", "svg")]
    assert len(drawings) > 15
    assert all(node.within("wide") for node in drawings)
    boxes = [node for node in nodes if node.has("wide")]
    assert all(node.get("tabindex") == "0" and node.get("aria-label") for node in boxes)  # by keyboard too


def test_what_a_corpus_may_say_has_a_direction_of_its_own(nodes: list[Node], page: str) -> None:
    texts = [node for node in nodes if node.tag == "td" and node.within("texts") and "المدينة" in node.text]
    assert texts and all(node.get("dir") == direction(node.text) for node in texts)
    assert '<bdi dir="rtl">المدينة</bdi>' in page


MEASURE = """
const closed = document.documentElement.scrollHeight;
dispatchEvent(new Event("beforeprint"));
const box = (node) => node.closest(".wide") && node !== node.closest(".wide");
const width = document.documentElement.clientWidth;
const over = [...document.body.querySelectorAll("*")]
  .filter((node) => !box(node) && node.getBoundingClientRect().right > width + 1)
  .map((node) => `${node.tagName}.${node.className.baseVal ?? node.className}`);
const table = document.querySelector("table.sortable");
const rows = () => [...table.querySelectorAll("tr[data-place]")];
const values = () => rows().map((row) => parseFloat(row.cells[1].dataset.value));
const rising = (list) => list.every((value, i) => !i || list[i - 1] <= value);
const places = () => rows().map((row) => +row.dataset.place);
const [rung, figure] = [...table.tHead.rows[0].cells].map((head) => head.firstChild);
const works = {opens: 2 * closed < document.documentElement.scrollHeight};
figure.click();
works.sorts = rising(values()) && !rising(places()); // perplexity: the lowest first
figure.click();
works.turns = rising(values().reverse());
rung.click();
works.restores = rising(places()) && [...table.querySelectorAll(".approach")].every((one) => one.offsetParent);
const filter = table.closest(".wide").previousElementSibling.querySelector("input");
filter.value = "lstm, nce";
filter.dispatchEvent(new Event("input"));
works.filters = rows().filter((row) => !row.hidden).map((row) => row.cells[0].innerText).join().startsWith("LSTM, NCE");
const more = table.querySelector("td.more");
works.briefs = !more.offsetParent;
filter.value = "";
filter.dispatchEvent(new Event("input"));
filter.nextElementSibling.click();
works.widens = !!more.offsetParent;
filter.nextElementSibling.click();
const scope = document.querySelector("#generations").closest("section").querySelector(".choice");
const select = scope.querySelector("select");
const shown = () => [...new Set([...scope.querySelectorAll("td[data-rung]")].filter((one) => !one.hidden)
  .map((one) => one.dataset.rung))];
works.few = shown().length === 3;
select.value = "absolute_discounting";
select.dispatchEvent(new Event("change"));
works.adds = shown().length === 4 && shown().includes("absolute_discounting");
scope.querySelector(".chips button").click();
works.removes = shown().length === 3;
const curves = document.querySelector("#curves").closest("section").querySelector(".choice");
const grey = curves.querySelector("g.rung:not(.on):not(.train)").dataset.rung;
curves.querySelector("select").value = grey;
curves.querySelector("select").dispatchEvent(new Event("change"));
const on = [...curves.querySelectorAll("svg.broad g.rung.on:not(.train)")];
works.colours = on.length === 6 && on.some((one) => one.dataset.rung === grey && one.style.getPropertyValue("--rung"));
const broken = Object.entries(works).filter(([, right]) => !right).map(([name]) => name);
parent.postMessage(JSON.stringify([width, document.documentElement.scrollWidth, over, broken]), "*");
"""
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-sync --hide-scrollbars --virtual-time-budget=8000 --dump-dom"
)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_nothing_is_wider_than_the_page_and_the_script_works(page: str, tmp_path: Path) -> None:
    """Beside what stands in a box that scrolls; in windows of two widths, with the page's own script at work."""
    assert CHROMIUM is not None
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    (tmp_path / "page.html").write_text(free.replace("</body>", f"<script>{MEASURE}</script></body>"), encoding="utf-8")
    frames = "".join(f'<iframe src="page.html" width="{w}" height="900" style="border:0"></iframe>' for w in WIDTHS)
    listen = 'addEventListener("message", (e) => document.body.append("<<" + e.data + ">>"))'
    (tmp_path / "both.html").write_text(f"<body><script>{listen}</script>{frames}</body>", encoding="utf-8")
    command = [CHROMIUM, *FLAGS.split(), f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path / 'both.html'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    result = [json.loads(text) for text in re.findall(r"<<(\[.*?\])>>", html.unescape(done.stdout))]
    assert sorted(result, reverse=True) == [[width, width, [], []] for width in WIDTHS]
