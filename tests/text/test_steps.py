"""Cleaning steps: each does what its switch says, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langladder.text.clean.steps import StepsConfig, build_steps

OFF = {"fix_encoding": False, "control_characters": False, "invisible": False, "unicode": "none", "whitespace": False}


def clean(line: str, **switches: object) -> str:
    for _, step in build_steps(StepsConfig.model_validate(switches)):
        line = step(line)
    return line


@given(st.text())
def test_everything_off_changes_nothing(line: str) -> None:
    assert clean(line, **OFF) == line


@given(st.text())
def test_cleaning_twice_is_cleaning_once(line: str) -> None:
    once = clean(line, lowercase=False, digits="zero")
    assert clean(once, lowercase=False, digits="zero") == once


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("don't", "do not"),
        ("I'm here", "I am here"),
        ("they’re", "they are"),
        ("the cats' food", "the cats' food"),
    ],
)
def test_golden_contractions(before: str, after: str) -> None:
    assert clean(before, contractions="expand") == after


def test_slang_only_where_requested() -> None:
    assert clean("u r", contractions="expand") == "u r"
    assert clean("u", contractions="expand_slang") == "you"


def test_golden_punctuation_is_a_token() -> None:
    assert clean("The cat sat on the mat.", punctuation="isolate") == "The cat sat on the mat ."
    assert clean("I don't, 3.5 <unk>!", punctuation="isolate") == "I don't , 3.5 <unk> !"
    assert clean("I don't, (well) <unk>!", punctuation="remove") == "I dont well <unk>"
    assert clean("(צה״ל) וכו׳. ג'ורג'", punctuation="isolate", apostrophe="punctuation") == "( צה״ל ) וכו׳ . ג'ורג'"
    assert clean("(צה״ל) וכו׳. 'שלום'", punctuation="remove", apostrophe="punctuation") == "צהל וכו שלום"
    assert clean("ሰላም፡ለዓለም።", punctuation="remove") == "ሰላም ለዓለም"
    assert clean("Apple", lowercase=True) == clean("apple", lowercase=True)


@pytest.mark.parametrize("punctuation", ["isolate", "remove"])
def test_golden_what_belongs_to_a_letter_or_a_sign_stays_with_it(punctuation: str) -> None:
    switches = {"punctuation": punctuation, "unicode": "NFKC", "lowercase": True, "contractions": "expand"}
    for mark in "'’‘ʻʼ`´":
        raw = f"K{mark}o i{mark}m, we{mark}ll ri aji{mark}: nu{mark}ul."
        words = "kʼo iʼm weʼll ri ajiʼ nuʼul"
        assert [
            part for part in clean(raw, apostrophe="letter", **switches).split() if part not in ",:."
        ] == words.split()
    assert clean("xʷ tʰa ⁿd", **switches) == "xʷ tʰa ⁿd"
    signs = ["👩\u200d💻", "❤️", "👍🏽", "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "🇫🇷"]
    kept = [*signs, "a"] if punctuation == "isolate" else ["a"]
    assert clean("".join(signs) + "a", **switches).split() == kept == clean(" ".join(kept), **switches).split()


def test_contractions_come_before_punctuation() -> None:
    assert clean("Don't!", contractions="expand", punctuation="remove", lowercase=True) == "do not"


def test_html_goes_but_unk_and_comparisons_stay() -> None:
    assert clean("<p>a <b>b</b> &amp; 3 < 4<br>c <unk> <eos></p>", html=True) == "a b & 3 < 4 c <unk> <eos>"
    assert clean("x<script>alert(1)</script>y <!-- no --> <a href='u'>z</a>", html=True) == "xy z"
    assert clean("<b>", html=False) == "<b>"


def test_addresses_get_their_tokens() -> None:
    tokens = {"url": "<url>", "email": "<email>", "handle": "<user>"}
    assert clean("see https://a.org/x?y=1, www.b.com. me@x.org @bob", **tokens) == "see <url>, <url>. <email> <user>"
    assert clean("10 @-@ year 2 @.@ 5 a@b", **tokens) == "10 @-@ year 2 @.@ 5 a@b"
    assert clean("a https://a.org b", url="") == "a b"
    assert clean("a https://a.org b", url=r"\1") == r"a \1 b"


def test_chinese_is_safe() -> None:
    line = "请看http://x.cn/a我们，联系foo@bar.com谢谢，３个。"
    assert clean(line, url="<url>", email="<email>") == "请看<url>我们，联系<email>谢谢，３个。"
    assert clean("我爱你，北京。", punctuation="isolate") == "我爱你 ， 北京 。"
    assert clean("ＡＢＣ３", unicode="NFKC") == "ABC3" and clean("ＡＢＣ３") == "ＡＢＣ３"


def test_encoding_unicode_and_control_characters() -> None:
    assert clean("donâ€™t") == "don’t"
    assert clean("cafe\u0301") == "café" and clean("cafe\u0301", unicode="none") == "cafe\u0301"
    assert clean("a\x00b\tc\x07 d\ufeff") == "ab c d"
    assert clean("क्‍ष 👩‍👩‍👧") == "क्‍ष 👩‍👩‍👧"  # joiners carry meaning


def test_digits() -> None:
    assert clean("in 1984 and ３", digits="zero") == "in 0000 and 0"
    assert clean("in 1984", digits="remove") == "in"
