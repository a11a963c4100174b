"""The true distribution of a hidden word: equal to the probabilities of all sentences with a word in its place."""

import math
from random import Random

import pytest

from langladder.corpora.grammar import Grammar, Rule, Symbol
from langladder.corpora.microworld import grammar
from langladder.corpora.word_distributions import hidden_word

S, NP, V = ("S",), ("NP",), ("V",)
RULES: dict[Symbol, list[Rule]] = {
    S: [Rule(3, (NP, V), (0, 1)), Rule(1, ("yes",), ("jes",))],
    NP: [Rule(2, ("dogs",), ("hundoj",)), Rule(1, ("cats",), ("katoj",)), Rule(1, ("cats",), ("felinoj",))],
    V: [Rule(1, ("bark",), ("bojas",)), Rule(3, ("sleep",), ("dormas",))],
}


def test_golden_hidden_words_of_a_grammar_by_hand() -> None:
    """Dogs 2 of 4, cats 1 + 1 of 4 by two derivations, whatever the verb; bark to sleep 1 : 3."""
    toy = Grammar(S, RULES.__getitem__)
    assert hidden_word(toy, ["?", "sleep"], 0) == pytest.approx({"cats": 0.5, "dogs": 0.5})
    assert hidden_word(toy, ["dogs", "?"], 1) == pytest.approx({"sleep": 0.75, "bark": 0.25})
    assert hidden_word(toy, ["?"], 0) == {"yes": 1.0}
    assert hidden_word(toy, ["birds", "?"], 1) == {}


def test_golden_hidden_words_that_are_the_rarest_of_their_rule() -> None:
    """Of "a x", "a y", "b x" and "c c" at 1 : 2 : 3 : 1; the gap may hold the word that no other rule has."""
    sentences = (("a", "x"), 1), (("a", "y"), 2), (("b", "x"), 3), (("c", "c"), 1)
    toy = Grammar(S, {S: [Rule(weight, words, words) for words, weight in sentences]}.__getitem__)
    assert hidden_word(toy, ["a", "?"], 1) == pytest.approx({"y": 2 / 3, "x": 1 / 3})
    assert hidden_word(toy, ["?", "x"], 0) == pytest.approx({"b": 0.75, "a": 0.25})
    assert hidden_word(toy, ["?", "c"], 0) == {"c": 1.0}
    assert hidden_word(toy, ["?", "y"], 0) == {"a": 1.0}


def test_parity_with_the_probability_of_every_sentence() -> None:
    """microworld, tiny: with each word of the lexicon in the gap, the inside algorithm gives the same shares."""
    world, random = grammar("tiny"), Random(2)
    words = sorted({word for _ in range(300) for word in world.sample(random).tree.source()})
    compared = 0
    for _ in range(6):
        sentence = world.sample(random).tree.source()
        place = random.randrange(len(sentence))
        found = hidden_word(world, sentence, place)
        assert sum(found.values()) == pytest.approx(1)
        assert list(found.values()) == sorted(found.values(), reverse=True)
        log_probs = {w: world.inside([*sentence[:place], w, *sentence[place + 1 :]]) for w in {*words, *found}}
        total = sum(map(math.exp, log_probs.values()))
        assert {w for w, p in log_probs.items() if p > -math.inf} == set(found)
        for word, p in found.items():
            assert p == pytest.approx(math.exp(log_probs[word]) / total, rel=1e-9)
        compared += len(found)
    assert compared > 12
