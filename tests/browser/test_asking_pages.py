"""One text, Continue, Words, Tokenize, Translate do what they are for, in a browser; a link gives the same answer."""

import re
from typing import Any

import pytest

from tests.browser.looking import Visit, settled, submit

SENTENCE = "the dog sleeps"
COLUMNS = "#found > section"
FINE_TUNED = """() => {
  window.grown = [];
  new MutationObserver((all) => all.forEach(({ target }) => {
    const column = target.nodeType === 1 ? target.closest("section.column") : null;
    if (column && target.matches("span.new")) window.grown.push([...column.parentElement.children].indexOf(column));
  })).observe(document.getElementById("found"), { childList: true, subtree: true, characterData: true });
}"""
# Answers come slowly, an event at a time, and the button is pressed while they do.
STOP = """() => {
  const real = window.fetch;
  const slow = () => new TransformStream({ async transform(text, control) {
    for (const part of text.split(/(?<=\\n\\n)/)) {
      await new Promise((done) => setTimeout(done, 20));
      control.enqueue(part);
    }
  } });
  window.fetch = async (...asked) => {
    const body = (await real(...asked)).body;
    const through = body.pipeThrough(new TextDecoderStream()).pipeThrough(slow()).pipeThrough(new TextEncoderStream());
    return new Response(through);
  };
  new MutationObserver(() => {
    if (window.grown.length > 4) document.getElementById("stop").click();
  }).observe(document.getElementById("found"), { childList: true, subtree: true });
}"""


def bits(text: str) -> list[float]:
    return [float(result) for result in re.findall(r"([\d.]+) bits", text)]


def share(page: Any) -> str:
    address: str = page.evaluate("location.pathname + location.search")
    assert "?" in address
    return address


def test_a_text_becomes_bits_and_a_press_tells_what_was_expected(visit: Visit) -> None:
    page = visit("/surprisal")
    page.locator("textarea[name=text]").fill("the cat sees the king .")
    submit(page)
    rows = page.locator("#found .heat:has(.heat-line)")
    assert rows.count() >= 3
    for row in rows.all():
        assert bits(row.locator("h3").inner_text()) or "cannot stand" in row.inner_text()
    row = rows.filter(has_text=re.compile("Kneser|kneser"))
    cells = row.locator("button.heat-cell")
    assert cells.last.inner_text() == "<eos>"
    heats = cells.evaluate_all("all => all.map((one) => parseFloat(one.style.getPropertyValue('--heat')))")
    each = [bits(title)[0] for title in cells.evaluate_all("all => all.map((one) => one.title)")]
    assert heats == pytest.approx([min(100, 8 * item) for item in each], abs=0.1) and len(set(heats)) > 2
    assert sum(each) == pytest.approx(bits(row.locator("h3").inner_text())[0], abs=0.01 * len(each))
    cells.nth(1).click()
    settled(page)
    likely = row.locator(".expected tbody td.number").all_inner_texts()
    shares = [float(item.removesuffix(" %")) for item in likely]
    assert len(shares) == 5 and shares == sorted(shares, reverse=True) and shares[0] > 0
    assert cells.nth(1).inner_text() in row.locator(".expected caption").inner_text()
    assert page.locator("figure polyline").count() >= 3
    page.locator("select[name=by]").select_option("word")
    settled(page)
    assert cells.all_inner_texts()[:5] == ["the", "cat", "sees", "the", "king"]


def test_two_texts_are_compared(visit: Visit) -> None:
    page = visit("/surprisal")
    page.locator("textarea[name=text]").fill("the cat sees the king .")
    page.locator("textarea[name=other]").fill("king the . the sees cat")
    submit(page)
    table = page.locator("#found table").first
    assert "more likely" in table.locator("caption").inner_text()
    rows = table.locator("tbody tr")
    assert rows.count() >= 3
    (better, worse, apart) = rows.filter(has_text=re.compile("Kneser|kneser")).locator("td").all_inner_texts()
    assert float(better) < float(worse) and float(apart) == pytest.approx(float(worse) - float(better), abs=0.011)
    probes = page.locator("#probe option")
    assert probes.count() > 1
    page.locator("#probe").select_option(index=1)
    settled(page)
    assert page.locator("textarea[name=text]").input_value() in probes.nth(1).inner_text()


def test_all_models_stream_at_once_and_can_be_stopped(visit: Visit) -> None:
    page = visit("/continue")
    page.evaluate(FINE_TUNED)
    page.locator("[name=prompt]").fill("the cat")
    page.locator("[name=temperature]").fill("30")  # so flat that no line ends at once
    submit(page)
    order = page.evaluate("window.grown")
    working = sorted(set(order))
    assert len(working) >= 3
    assert order.index(working[-1]) < len(order) - 1 - order[::-1].index(working[0])  # side by side, not by turns
    ends = page.locator(f"{COLUMNS} p.small:not(.unknown-words)").all_inner_texts()
    assert all("asked" in end or "ended" in end for index, end in enumerate(ends) if index in working)
    page.locator("[name=max_tokens]").fill("400")
    page.evaluate("window.grown = []")
    page.evaluate(STOP)
    submit(page)
    page.locator("#found").filter(has_text="stopped").wait_for()
    stop = page.get_by_role("button", name="Stop")
    stopped = page.locator("#found").inner_text()
    assert "stopped" in stopped and stop.is_disabled()
    assert page.locator("#status").inner_text() == "Stopped."
    assert all(len(text) < 1000 for text in page.locator("#found span.new").all_inner_texts())
    page.wait_for_timeout(150)
    assert page.locator("#found").inner_text() == stopped


def test_words_have_neighbours_analogies_and_one_that_is_odd(visit: Visit) -> None:
    page = visit("/words?model=skipgram")
    page.locator("#neighbours [name=word]").fill("king")
    page.locator("#neighbours button[type=submit]").click()
    settled(page)
    scores = [float(text) for text in page.locator("#neighbours td.number").all_inner_texts()]
    assert len(scores) == 10 and scores == sorted(scores, reverse=True)
    assert page.locator("#rungs tbody tr").count() == page.locator("[name=model] option").count()
    near = page.locator("#neighbours button.word").first
    word = near.inner_text()
    near.click()
    settled(page)
    assert page.locator("#neighbours caption").inner_text() == f"Nearest to {word}"
    answers = page.locator("#analogy tbody tr").first.locator("td")
    assert answers.count() == 4 and answers.nth(0).inner_text() and float(answers.nth(1).inner_text()) > -1
    page.locator("[name=words]").fill("king, queen, man, horse")
    submit(page)
    odd = page.locator("#odd strong").inner_text()
    rows = page.locator("#odd tbody tr").all_inner_texts()
    assert len(rows) == 4 and rows[0].split()[0] == odd
    assert re.search("Mean bias", page.locator("#bias caption").inner_text())


PICTURE = "canvas => canvas.toDataURL()"


def test_a_map_is_drawn_zoomed_and_pressed(visit: Visit) -> None:
    page = visit("/words?model=skipgram")
    canvas = page.locator("#plane")
    canvas.scroll_into_view_if_needed()
    page.locator("#plane-said").filter(has_text="words by PCA").wait_for()
    page.wait_for_timeout(100)
    whole = canvas.evaluate(PICTURE)
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 3)
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(100)
    near = canvas.evaluate(PICTURE)
    assert near != whole
    page.get_by_role("button", name="Whole map").click()
    canvas.focus()
    page.keyboard.press("Enter")  # the word in the middle
    settled(page)
    chosen = page.locator("[name=at]").input_value()
    assert chosen and page.locator("#chosen h3").inner_text() == f"Nearest to {chosen}"
    assert page.locator("#chosen li").count() == 10


def test_two_fingers_zoom_the_map(visit: Visit) -> None:
    page = visit("/words?model=skipgram", width=420)
    canvas = page.locator("#plane")
    page.locator("#plane-said").filter(has_text="words by PCA").wait_for()
    canvas.scroll_into_view_if_needed()
    page.wait_for_timeout(800)
    whole, box = canvas.evaluate(PICTURE), canvas.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    touch = page.context.new_cdp_session(page)
    touch.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})

    def fingers(kind: str, *apart: int) -> None:
        points = [{"x": middle[0] + side, "y": middle[1] + side / 2, "id": finger} for finger, side in enumerate(apart)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    fingers("touchStart", -30, 30)
    for reach in (40, 60, 90):
        fingers("touchMove", -reach, reach)
    page.wait_for_timeout(100)
    near = canvas.evaluate(PICTURE)
    assert near != whole
    for reach in (60, 40, 30):  # and back: each finger's way undoes itself
        fingers("touchMove", -reach, reach)
    fingers("touchEnd")
    settled(page)
    assert canvas.evaluate(PICTURE) != near
    assert page.locator("[name=at]").input_value() == ""  # a pinch chooses no word
    assert page.evaluate("visualViewport.scale") == 1 and page.evaluate("scrollX") == 0


def test_a_text_is_cut_by_each_tokenizer(visit: Visit) -> None:
    page = visit("/tokenize")
    page.locator("textarea[name=text]").fill(SENTENCE)
    submit(page)
    cuts = page.locator(COLUMNS)
    assert cuts.count() >= 2
    for cut in cuts.all():
        assert cut.locator("dd").first.inner_text() == str(cut.locator(".token").count())


def test_translations_have_their_attention_and_their_search(visit: Visit) -> None:
    page = visit("/translate")
    page.locator("textarea[name=text]").fill(SENTENCE)
    page.locator("[name=width]").fill("3")
    page.locator("[name=n_best]").fill("3")
    submit(page)
    first = page.locator(COLUMNS).first
    heads = first.locator("tbody th").all_inner_texts()
    assert heads == ["1", "2", "3", "greedy"]
    scores = [float(row.locator("td").nth(1).inner_text()) for row in first.locator("tbody tr").all()]
    assert scores[:3] == sorted(scores[:3], reverse=True)
    assert "reedy" in first.locator("p.small").last.inner_text()
    read = page.locator("#reading table.weights tbody tr")
    marks = page.locator("#reading .reading .token")
    lit = "all => all.map((one) => one.style.getPropertyValue('--heat'))"
    before = marks.evaluate_all(lit)
    read.last.hover()
    after = marks.evaluate_all(lit)
    assert len(after) == read.first.locator("td").count() and after != before
    weights = [float(text or 0) for text in read.last.locator("td").all_inner_texts()]
    assert sum(weights) == pytest.approx(1, abs=0.05)
    slider, boxes = page.locator("#step"), page.locator("svg.search-tree rect")
    slider.evaluate("one => { one.value = 1; one.dispatchEvent(new Event('input')); }")
    begun = boxes.count()
    page.locator("#on").click()
    assert boxes.count() > begun and page.locator("#weighed caption").inner_text().startswith("Step 2 of ")
    page.locator("#dropped").uncheck()
    assert page.locator("svg.search-tree .dropped").count() == 0
    first.locator("tbody tr").nth(3).locator("button").click()
    settled(page)
    assert "greedy" in page.url


@pytest.mark.parametrize(
    ("link", "selector"),
    [
        ("/surprisal?text=the+king+sees+a+cat+.&other=the+cats&by=word", "#found"),
        ("/continue?prompt=the+king&seed=7&temperature=0.9&max_tokens=12", "#found"),
        (
            "/words?model=skipgram&word=king&count=7&measure=dot&size=12&at=king",
            "#neighbours, #rungs, #analogy, #odd, #chosen",
        ),
        ("/tokenize?text=the+king+sleeps", "#found"),
        ("/translate?text=the+dog+runs&width=2&n_best=2", "#found, #weighed"),
    ],
)
def test_a_link_gives_the_same_answer_to_whoever_opens_it(link: str, selector: str, visit: Visit) -> None:
    page = visit(link)
    submit(page)
    texts, again = page.locator(selector).all_inner_texts(), visit(share(page)).locator(selector).all_inner_texts()
    assert texts == again and max(map(len, texts)) > 40


@pytest.mark.parametrize(
    ("path", "field"),
    [("/surprisal", "text"), ("/continue", "prompt"), ("/tokenize", "text"), ("/translate", "text"), ("/read", "text")],
)
def test_unknown_words_are_marked_below_the_form_and_beside_each_answer(path: str, field: str, visit: Visit) -> None:
    page = visit(path)
    page.locator(f"[name={field}]").fill("zebra cat")
    submit(page)
    unknown = page.locator("#unknown")
    assert re.search("[12] of 2 words are unknown", unknown.inner_text())
    assert "zebra" in unknown.locator(".token.unknown").all_inner_texts()
    unknown.locator("summary").click()
    assert unknown.locator("tbody tr").count() >= 1 and "<unk>" in unknown.locator("tbody").inner_text()
    if path not in ("/tokenize", "/surprisal"):
        assert "zebra" in page.locator(".unknown-words").first.inner_text()


def test_a_text_that_works_is_one_click_away(visit: Visit) -> None:
    page = visit("/read")
    button = page.locator("button[data-into=text]").last
    button.click()
    settled(page)
    assert page.locator("[name=text]").input_value() == button.get_attribute("value")
    assert "names" in button.inner_text() and "text=anna" in page.url


@pytest.mark.parametrize("kind", ["n-gram", "recurrent", "continue a text", "translators"])
def test_a_model_is_looked_into_and_another_token_pressed(kind: str, visit: Visit) -> None:
    page = visit("/inside")
    name = page.locator(f"optgroup[label*='{kind}'] option").first.get_attribute("value")
    page.locator("textarea[name=text]").fill(SENTENCE)
    page.locator("[name=model]").select_option(name)
    settled(page)
    tables = page.locator("#found table")
    assert tables.count() >= 1 and page.locator("#found td.heat, #found td.number").count() > 3
    if kind == "translators":
        return
    chosen = page.locator("#found .heat-cell[aria-pressed=true]")
    first = chosen.inner_text()
    page.locator("#found .heat-cell").last.click()
    settled(page)
    assert chosen.inner_text() == "<eos>" != first and "place=" in page.url
    section = page.locator("#found section").first.inner_text()
    assert "P(“<eos>”) = " in section and "bits" in section
    if kind == "continue a text":
        page.locator("label:has-text('Head') select").select_option("mean")
        assert "mean of its heads" in page.locator("#found").inner_text()
