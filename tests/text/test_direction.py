"""Which way texts of many scripts run, and the languages that a script alone tells."""

import pytest

from langladder.text.words.direction import clusters, direction, language_of

TEXTS = {  # script → a text, its direction, its language where the script has only one
    "Latin with marks": ("e\u0301te\u0301 à Łódź", "ltr", None),
    "Greek": ("Η γάτα κοιμάται.", "ltr", None),
    "Cyrillic": ("Кошка спит.", "ltr", None),
    "Arabic": ("كتب الولد رسالة .", "rtl", None),
    "Hebrew": ("הילד כתב מכתב.", "rtl", None),
    "Devanagari": ("लड़का सो रहा है ।", "ltr", None),
    "Bengali": ("ছেলেটি ঘুমায়।", "ltr", None),
    "Thai": ("เด็กนอนหลับ", "ltr", "th"),
    "Khmer": ("ក្មេងដេក", "ltr", None),
    "Han": ("男孩在睡觉。", "ltr", None),
    "kana": ("少年は寝ている。", "ltr", "ja"),
    "Hangul": ("소년이 잔다.", "ltr", "ko"),
}


@pytest.mark.parametrize("script", TEXTS)
def test_every_script_has_its_direction_and_some_their_language(script: str) -> None:
    text, runs, language = TEXTS[script]
    assert (direction(text), language_of(text)) == (runs, language)


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("", "ltr"),
        ("3.5 …", "ltr"),
        ("١٢٣", "ltr"),  # digits are not strong
        ("GPT-2 نموذج لغوي كبير", "rtl"),  # the first letter is Latin, most are Arabic
        ("the word كتاب", "ltr"),
        ("<unk> <unk> كتب", "rtl"),
        ("ab אב", "ltr"),  # as many of each: the first decides
        ("אב ab", "rtl"),
        ("ߒߞߏ", "rtl"),
        ("ދިވެހި", "rtl"),
    ],
)
def test_most_letters_decide(text: str, runs: str) -> None:
    assert direction(text) == runs


def test_a_word_of_another_script_says_nothing_of_the_language() -> None:
    assert language_of("the word かな is Japanese") is None
    assert language_of("彼の名は「コナン」") == "ja" and language_of("東京大学") is None
    assert language_of("大韓民國은 民主共和國이다") == "ko" and language_of("首尔（서울）是韩国首都") is None
    assert language_of("ソウルは 서울입니다 한국의 수도") == "ko"


def test_letters_keep_their_marks() -> None:
    assert list(clusters("हिन्दी")) == ["हि", "न्दी"]
    assert list(clusters("သားများ")) == ["သား", "များ"]
    assert list(clusters("e\u0301a국กำ")) == ["e\u0301", "a", "국", "กำ"]
