"""Equations: what the plain text says stands in the MathML, and nothing of its notation."""

import re
import unicodedata
from collections import Counter
from html import unescape
from xml.etree import ElementTree

import pytest

from langladder.faces.report.docstrings import docstring, equations
from langladder.faces.report.mathml import inline, is_equation, typeset
from langladder.families import families
from pipeline.settings import titles
from pipeline.settings.params import conf_names
from pipeline.site import story


def short(text: str) -> str:
    """What is typeset, without what browsers do not need to be told."""
    result = re.sub(
        r' (form|stretchy|lspace|rspace|displaystyle|largeop|movablelimits|accent)="[^"]*"', "", inline(text)
    )
    return re.sub(r"<mrow>(<m[ino]>[^<]*</m[ino]>)</mrow>", r"\1", result)


def letters(text: str) -> Counter[str]:
    """Letters, digits and signs that must not get lost."""
    plain = unicodedata.normalize("NFKD", text).replace("∏", "Π").replace("∑", "Σ")
    return Counter(char for char in plain if char.isalnum() or char in "∂√=·")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x_t", "<math><msub><mi>x</mi><mi>t</mi></msub></math>"),
        ("S_k^p", "<math><msubsup><mi>S</mi><mi>k</mi><mi>p</mi></msubsup></math>"),
        ("x²", "<math><msup><mi>x</mi><mn>2</mn></msup></math>"),
        ("√d", "<math><msqrt><mi>d</mi></msqrt></math>"),
        ("a / b", "<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>"),
        ("(1/N)", "<math><mfrac><mn>1</mn><mi>N</mi></mfrac></math>"),
        ("Σ_t x", '<math><munder><mo>∑</mo><mi>t</mi></munder><mspace width="0.2em"/><mi>x</mi></math>'),
        ("ĉ", "<math><mover><mi>c</mi><mo>^</mo></mover></math>"),
        ("log(x)", "<math><mrow><mi>log</mi><mrow><mo>(</mo><mi>x</mi><mo>)</mo></mrow></mrow></math>"),
        ("mean over n words (`nn.pooling`)", "mean over <math><mi>n</mi></math> words (<code>nn.pooling</code>)"),
        ("h_<cls>", "<math><msub><mi>h</mi><mrow><mtext>&lt;cls&gt;</mtext></mrow></msub></math>"),
        ("(Tai et al. 2015, section 3.1)", "(Tai et al. 2015, section 3.1)"),
    ],
)  # fmt: skip
def test_forms(text: str, wanted: str) -> None:
    assert short(text) == wanted


def test_a_slash_stays_where_a_bar_would_say_more_than_the_text() -> None:
    """Σ log P / T may be a sum that is divided, or a sum of quotients; so may log a / b."""
    for text in ("Σ_t P / T", "log P / T", "a / b c"):
        assert "<mfrac>" not in inline(text) and ">/</mo>" in inline(text)
    assert inline("c / Σ_x d(x) + e").count("<mfrac>") == 1


def test_lines_stand_in_columns() -> None:
    block = "encoder   x = y\ndecoder   y = z     for all z\n          z = 1"
    rows = [row.findall("td") for row in ElementTree.fromstring(typeset(block)).findall("tr")]
    assert [len(row) for row in rows] == [2, 3, 2]
    assert [rows[0][0].text, rows[1][0].text, rows[1][2].text, rows[2][0].text] == [
        "encoder",
        "decoder",
        "for all ",
        None,
    ]
    assert rows[0][1].get("colspan") == rows[2][1].get("colspan") == "2"


@pytest.mark.parametrize("family", families())
def test_every_rung_s_equations_are_typeset(family: str) -> None:
    for name in conf_names(family):
        module = titles.module_of(family, story.settings(family, name))
        text = equations(docstring(module)) if module else ""
        result = ElementTree.fromstring(f"<div>{typeset(text)}</div>")
        for code in [*result.iter("code"), *result.iter("mover")]:  # names, and letters with ^ above them
            code.text, code[:] = "", []
        assert not re.search(r"[_^\\`$]", "".join(result.itertext())), (name, "".join(result.itertext()))
        typeset_text = unescape(re.sub(r"<[^>]+>", "", typeset(text).replace("<msqrt>", "√")))
        assert letters(typeset_text) == letters(text), (
            name,
            letters(text) - letters(typeset_text),
            letters(typeset_text) - letters(text),
        )


def test_what_is_no_equation_stays_code() -> None:
    assert is_equation("L = −log σ(β x)") and is_equation("q = 1\nx ← x + F(x)")
    for block in (
        "make repro",
        "dog.n    dog hound    animal.n",
        "def f(x) -> int:",
        "a = b",
        "x = run(y, rungs=['a'])\nx == 1",
        "made = maker(kind, train, seed=…)",
        "rows = Rows(β)\nrows.write()",
    ):
        assert not is_equation(block)
