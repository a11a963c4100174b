"""Texts that run to the left, and those of scripts without spaces, as the explorer shows them."""

from urllib.parse import urlencode

from langladder.faces.report.bidi import enclosing, plain
from langladder.text.words.direction import direction
from tests.browser.looking import Visit

ARABIC = "كتب الولد (رسالة) ."
TEXTS = (
    *(
        "",
        "3.5",
        "the cat",
        ARABIC,
        "GPT-2 نموذج لغوي",
        "the word كتاب",
        "<unk> <unk> كتب",
        "הילד ab",
        "ab אב",
        "אב ab",
    ),
    *("ދިވެހި", "لڑکا 3.5", "猫は寝る", "东京", "서울", "เด็ก", "हिन्दी", "বাংলা", "ខ្មែរ", "Łódź", "Ελλάδα", "кот"),
)


def test_the_scripts_of_the_pages_agree_with_the_report(visit: Visit) -> None:
    page = visit("/tokenize")
    result = page.evaluate(
        """async (texts) => {
          const { clipped, direction, enclosing, make, plain } = await import("/static/common.js");
          const element = (text) => make("p", enclosing(text)).outerHTML.replace("<p", "").replace("></p>", "");
          return [texts.map(direction), texts.map(plain), texts.map(element), clipped("हिन्दी में", 3)];
        }""",
        list(TEXTS),
    )
    assert result[0] == [direction(text) for text in TEXTS]
    assert result[1] == [plain(text) for text in TEXTS]
    assert result[2] == [str(enclosing(text)) for text in TEXTS]
    assert result[3] == "हिन्दी…"


def test_tokens_of_an_arabic_text_stand_from_right_to_left(visit: Visit) -> None:
    page = visit(f"/tokenize?{urlencode({'text': ARABIC})}")
    line = page.locator("#found p.tokens").first
    assert line.get_attribute("dir") == "rtl"
    left = [box["x"] for item in line.locator(".token").all() if (box := item.bounding_box())]
    assert len(left) > 2 and left == sorted(left, reverse=True)


def test_a_line_of_surprisals_runs_as_its_text(visit: Visit) -> None:
    for text, runs in ((ARABIC, "rtl"), ("the king sleeps .", "ltr")):
        page = visit(f"/surprisal?{urlencode({'text': text})}")
        lines = page.locator("#found .heat-line")
        assert lines.count() and all(line.get_attribute("dir") in (runs, None) for line in lines.all())
        assert lines.last.get_attribute("dir") == runs
