"""Templates: what they render to, what they refuse, the ids of lines."""

import numpy as np
import pytest

from langladder.ground.errors import InputError
from langladder.text.labelled.templates import Template, ids_of
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

FIELDS = {"text": "the film was dull .", "second": "it was not ."}


@pytest.mark.parametrize(
    ("template", "context", "whole", "announced"),
    [
        ("{text} it is {answer} .", "the film was dull . it is ", "the film was dull . it is bad .", "it is"),
        ("{text}{answer}", "the film was dull .", "the film was dull .bad", ""),
        ("so {answer} : {text}", "so ", "so bad : the film was dull .", "so"),
        ("{{{text}}}\nA : {answer}", "{the film was dull .}\nA : ", "{the film was dull .}\nA : bad", "}\nA :"),
        ("{text} {text} {answer}", "the film was dull . the film was dull . ", None, ""),
    ],
)
def test_what_a_template_renders_to(template: str, context: str, whole: str | None, announced: str) -> None:
    parsed = Template(template)
    assert parsed.context(FIELDS) == context and parsed.fields == ("text",) * ("{text" in template)
    assert whole is None or parsed.whole(FIELDS, "bad") == whole
    assert parsed.answer_context() == announced


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{text}", "0 places"),
        ("{answer} {answer}", "2 places"),
        ("{text {answer}", "braces"),
        ("{} {answer}", "plain name"),
        ("{text.__class__} {answer}", "plain name"),
        ("{text!r} {answer}", "plain name"),
        ("{text:>999999999} {answer}", "plain name"),
        ("{0} {answer}", "plain name"),
    ],
)
def test_bad_templates_are_refused(template: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Template(template)


def test_a_missing_field_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"\{premise\} is not a field of the example; allowed: text, second, answer"):
        Template("{premise} {answer}").context(FIELDS)


def test_braces_of_an_example_are_text() -> None:
    assert Template("{text} {answer}").whole({"text": "{answer} {x}"}, "y") == "{answer} {x} y"


def test_golden_ids_of_lines() -> None:
    tokenizer = train_tokenizer(["a b", "b c"], TokenizerConfig(kind="word", vocab_size=None))
    a, b, c = tokenizer.encode("a b c").tolist()
    assert [row.tolist() for row in ids_of(tokenizer, ["a b\nc", "", "b"])] == [
        [BOS, a, b, EOS, BOS, c],
        [BOS],
        [BOS, b],
    ]
    (closed,) = ids_of(tokenizer, ["a\nb"], closed=True)
    assert closed.tolist() == [BOS, a, EOS, BOS, b, EOS] and closed.dtype == np.int32
