"""Ladder, Read and Instruct do what they are for, in a browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.looking import Visit, serving, settled, submit

HOSTILE = "<img src=x onerror=alert(1)> & <script>alert(2)</script>"


def test_a_table_is_sorted_and_the_link_remembers_it(visit: Visit) -> None:
    page = visit("/ladder")
    table = page.locator("table[data-family=lm]")
    head = table.locator("thead th").nth(1)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    best = table.locator("tbody:not([hidden]) tr[data-place] th").first.inner_text()
    values = table.locator("tbody:not([hidden]) tr[data-place]").evaluate_all(
        "rows => rows.map((row) => parseFloat(row.cells[1].dataset.value))"
    )
    assert values == sorted(values) and len(values) > 1
    head.locator("button").click()
    again = visit(page.evaluate("location.pathname + location.search"))
    assert again.locator("table[data-family=lm] thead th").nth(1).get_attribute("aria-sort") == "descending"
    rows = again.locator("table[data-family=lm] tbody:not([hidden]) tr[data-place] th")
    assert rows.last.inner_text() == best


def test_curves_are_zoomed_by_keys_buttons_and_mouse(visit: Visit) -> None:
    page = visit("/ladder")

    def view() -> Any:
        return page.locator("#plot svg.curves").evaluate(
            "svg => [...svg.querySelectorAll('text, path')].map((one) => one.getAttribute('d') ?? one.textContent)"
        )

    whole = view()
    plot = page.locator("#plot svg.curves").first
    plot.focus()
    page.keyboard.press("+")
    near = view()
    assert near != whole and "zoom=0." in page.url
    assert visit(page.evaluate("location.pathname + location.search")).url == page.url
    page.keyboard.press("0")
    assert view() == whole
    page.get_by_role("button", name="closer").click()
    assert view() == near
    page.get_by_role("button", name="the whole").click()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.6)
    page.mouse.up()
    assert view() != whole
    line = page.locator("#plot button.legend").first
    line.click()
    assert line.get_attribute("aria-pressed") == "false" and "hide=" in page.url


def test_the_family_tree_is_drawn_and_described(visit: Visit) -> None:
    page = visit("/ladder")
    drawn = page.get_by_role("region", name="The family tree").locator("svg.graph")
    assert drawn.locator("text").all_text_contents() == ["GPT & co", "lm/gpt", "GPT, longer", "tune/long"]
    assert drawn.locator("g.edge path").first.evaluate("line => getComputedStyle(line).strokeWidth") == "1px"
    assert page.get_by_role("region", name="Which rung grew from which").locator("tbody tr").count() >= 1


@pytest.fixture(scope="module")
def without_report(explored: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("bare")
    (folder / "models").symlink_to(explored / "models")
    yield from serving(folder)


def test_without_a_report_the_ladder_says_so_and_lists_the_models(visit: Visit, without_report: str) -> None:
    page = visit("/", base=without_report)
    assert "no report" in page.locator("main").inner_text()
    assert page.locator("#found tbody tr").count() >= 3 and page.locator("#curves").is_hidden()


def test_each_classifier_gives_labels_words_and_a_tree(visit: Visit) -> None:
    page = visit("/read")
    columns = page.locator("#labels > section")
    assert columns.count() >= 3
    for index in range(columns.count()):
        shares = columns.nth(index).locator("table").first.locator("td.number").all_inner_texts()
        assert shares and all("%" in share for share in shares)
    tree = page.locator("#labels svg.graph").first
    assert tree.locator("g:has(> title)").count() >= 5
    fills = tree.locator("g:has(> title) path").evaluate_all("all => all.map((one) => getComputedStyle(one).fill)")
    assert len(set(fills)) > 1 or tree.locator("text").count()
    assert page.locator("#labels .mark").count()


def test_each_word_has_a_tag_of_each_tagger(visit: Visit) -> None:
    page = visit("/read")
    page.get_by_label("Text, or a tree in brackets").fill("the dog sleeps .")
    submit(page)
    table = page.locator("#tags table")
    assert table.locator("tbody th").all_inner_texts() == ["the", "dog", "sleeps", "."]
    cells = table.locator("tbody td").all_inner_texts()
    assert len(cells) == 4 * (table.locator("thead th").count() - 1) and "noun" in " ".join(cells)


def test_what_is_typed_stays_text(visit: Visit) -> None:
    page = visit("/read")
    page.get_by_label("Text, or a tree in brackets").fill(HOSTILE)
    submit(page)
    assert page.locator("main img, main script").count() == 0
    assert "onerror=alert(1)>" in page.locator("#tags").inner_text()


def test_a_text_that_is_too_long_is_refused_in_words(visit: Visit) -> None:
    page = visit("/read", refused=True)
    box = page.get_by_label("Text, or a tree in brackets")
    box.evaluate("one => one.removeAttribute('maxlength')")
    box.evaluate("one => { one.value = 'the dog sleeps . '.repeat(6000); }")
    page.evaluate("history.replaceState = history.pushState = () => {}")  # such an address is longer than it may be
    with page.expect_response("**/api/read/labels") as answer:
        page.locator("form[data-state] button[type=submit]").click()
    assert answer.value.status in (400, 413)
    page.get_by_role("alert").filter(has_text="20").first.wait_for()


def test_questions_are_answered_where_the_answer_stands(visit: Visit) -> None:
    page = visit("/read")
    if not page.locator("[data-kind=reader]").count():
        pytest.skip("this ladder has no reader of questions")
    assert page.locator("#answers section").count() >= 1
    assert page.locator("#answers table").count() or page.locator("#answers .alert").count()


def test_two_models_answer_and_are_judged(visit: Visit) -> None:
    page = visit("/instruct")
    page.wait_for_selector("#examples optgroup", state="attached")
    value = page.locator("#examples option").nth(1).get_attribute("value")
    page.locator("#examples").select_option(value)
    settled(page)
    assert page.locator("textarea[name=instruction]").input_value() == value
    assert page.locator("#found section").count() == 2
    page.locator("#found caption").nth(1).or_(page.locator("#found .alert").first).first.wait_for()
    text = page.locator("#found").inner_text()
    assert "reward" in text and "a right answer" in text
