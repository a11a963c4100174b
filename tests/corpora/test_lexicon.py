"""Spelling rules, Esperanto endings and the tables of words."""

import math

import pytest

from langladder.corpora import inflection
from langladder.corpora.lexicon import Lexicon
from langladder.corpora.rules.verbs import forms
from langladder.corpora.world import FAVOURITE_SHARES, favour, world, zipf


@pytest.mark.parametrize(
    ("rule", "word", "form"),
    [
        (inflection.plural, "dog", "dogs"),
        (inflection.plural, "box", "boxes"),
        (inflection.plural, "cherry", "cherries"),
        (inflection.plural, "donkey", "donkeys"),
        (inflection.third_person, "go", "goes"),
        (inflection.third_person, "watch", "watches"),
        (inflection.past, "stop", "stopped"),
        (inflection.past, "bake", "baked"),
        (inflection.past, "hurry", "hurried"),
        (inflection.past, "boil", "boiled"),
        (inflection.past, "mix", "mixed"),
        (inflection.progressive, "swim", "swimming"),
        (inflection.progressive, "see", "seeing"),
        (inflection.progressive, "study", "studying"),
        (inflection.progressive, "bake", "baking"),
        (inflection.comparative, "big", "bigger"),
        (inflection.comparative, "happy", "happier"),
        (inflection.superlative, "nice", "nicest"),
        (inflection.article, "owl", "an"),
        (inflection.article, "heir", "an"),
        (inflection.article, "useful", "a"),
    ],
)
def test_golden_english_forms(rule, word: str, form: str) -> None:  # type: ignore[no-untyped-def]
    assert rule(word) == form


def test_golden_irregular_forms() -> None:
    lexicon = Lexicon("base")
    assert lexicon.nouns["mouse"].plural == "mice"
    assert lexicon.nouns["wolf"].plural == "wolves"
    assert lexicon.nouns["woman"].plural == "women"
    assert lexicon.verbs["sing"].past == "sang"
    assert lexicon.adjectives["bad"].superlative == "worst"
    assert lexicon.nouns["king"].partner == "queen"
    assert lexicon.nouns["queen"].root == "reĝin"
    assert lexicon.adjectives["small"].root == "malgrand"


def test_golden_esperanto_endings() -> None:
    assert inflection.esperanto_noun("hund", "p", "n") == "hundojn"
    assert inflection.esperanto_adjective("grand", "s", "n") == "grandan"


@pytest.mark.parametrize(
    ("number", "tense", "positive", "negative", "esperanto"),
    [
        ("s", "present", "sings", "does not sing", "kantas"),
        ("p", "present", "sing", "do not sing", "kantas"),
        ("p", "past", "sang", "did not sing", "kantis"),
        ("s", "future", "will sing", "will not sing", "kantos"),
        ("s", "progressive", "is singing", "is not singing", "estas kantanta"),
        ("p", "progressive", "are singing", "are not singing", "estas kantantaj"),
    ],
)
def test_golden_verb_forms(number: str, tense: str, positive: str, negative: str, esperanto: str) -> None:
    verb = Lexicon("base").verbs["sing"]
    assert [" ".join(form) for form in forms(verb, number, tense)] == [positive, negative, esperanto]


def test_sizes_nest() -> None:
    tiny, small, base = (Lexicon(size) for size in ("tiny", "small", "base"))  # type: ignore[arg-type]
    for table in ("nouns", "verbs", "adjectives", "countries", "names", "opinions"):
        first, second, third = (getattr(lexicon, table).keys() for lexicon in (tiny, small, base))
        assert first < second <= third


def test_favourites_take_their_share_and_belong_to_the_lemma() -> None:
    verbs = zipf(world("small").lexicon.verbs.values())
    plain, favoured = favour(verbs), favour(verbs, "verb", "dog")
    assert math.fsum(weight for _, weight in plain) == pytest.approx(1.0)
    assert math.fsum(weight for _, weight in favoured) == pytest.approx(1.0)
    kept = 1.0 - sum(FAVOURITE_SHARES)
    gains = [after - kept * before for (_, before), (_, after) in zip(plain, favoured, strict=True)]
    assert sorted(gain for gain in gains if gain > 1e-9) == pytest.approx(sorted(FAVOURITE_SHARES))
    assert favoured == favour(verbs, "verb", "dog")
