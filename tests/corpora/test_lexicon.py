"""Spelling rules, Esperanto endings and the tables of words."""

import math

import pytest

from langladder.corpora import lexicon
from langladder.corpora.lexicon import Lexicon
from langladder.corpora.rules.clauses import forms
from langladder.corpora.world import FAVOURITE_SHARES, favour, world, zipf


@pytest.mark.parametrize(
    ("rule", "word", "form"),
    [
        (lexicon.plural_of, "dog", "dogs"),
        (lexicon.plural_of, "box", "boxes"),
        (lexicon.plural_of, "cherry", "cherries"),
        (lexicon.plural_of, "donkey", "donkeys"),
        (lexicon.third_person_of, "go", "goes"),
        (lexicon.third_person_of, "watch", "watches"),
        (lexicon.past_of, "stop", "stopped"),
        (lexicon.past_of, "bake", "baked"),
        (lexicon.past_of, "hurry", "hurried"),
        (lexicon.past_of, "boil", "boiled"),
        (lexicon.past_of, "mix", "mixed"),
        (lexicon.progressive_of, "swim", "swimming"),
        (lexicon.progressive_of, "see", "seeing"),
        (lexicon.progressive_of, "study", "studying"),
        (lexicon.progressive_of, "bake", "baking"),
        (lexicon.comparative_of, "big", "bigger"),
        (lexicon.comparative_of, "happy", "happier"),
        (lexicon.superlative_of, "nice", "nicest"),
        (lexicon.article, "owl", "an"),
        (lexicon.article, "heir", "an"),
        (lexicon.article, "useful", "a"),
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
    assert lexicon.esperanto_noun("hund", "p", "n") == "hundojn"
    assert lexicon.esperanto_adjective("grand", "s", "n") == "grandan"


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
