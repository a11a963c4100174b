"""The distributions of next words: those of all strings of a small grammar, and microworld's own probabilities."""

import math
from random import Random

import pytest

from langladder.corpora.grammar import Grammar, Rule
from langladder.corpora.microworld import grammar
from langladder.corpora.word_distributions import END, NextWords

RULES = {
    "S": [
        Rule(3, (("A",), ("B",)), (0, 1)),
        Rule(1, ("a", ("S2",)), ("a", 0)),
        Rule(2, ("a", "b", ("B",)), ("a", "b", 0)),
    ],
    "A": [Rule(1, ("a",), ("a",)), Rule(1, ("a", "a"), ("a", "a")), Rule(2, ("b",), ("b",))],
    "B": [Rule(1, ("b",), ("b",)), Rule(3, ("a", ("A",)), ("a", 0))],
    "S2": [Rule(1, (("A",), ("A",)), (0, 1)), Rule(1, ("b",), ("b",))],
}
SMALL = Grammar(("S",), lambda symbol: RULES[symbol[0]])


def test_a_small_grammars_distributions_are_those_of_all_its_strings() -> None:
    strings: dict[tuple[str, ...], float] = {}
    for tree, log_prob in SMALL.enumerate():
        words = tuple(tree.source())
        strings[words] = strings.get(words, 0.0) + math.exp(log_prob)
    assert math.fsum(strings.values()) == pytest.approx(1)
    known = NextWords(SMALL)
    for string in strings:
        for length, found in enumerate(known.after(string)):
            begun = {words: p for words, p in strings.items() if words[:length] == string[:length]}
            wanted: dict[str, float] = {}
            for words, probability in begun.items():
                following = words[length] if len(words) > length else END
                wanted[following] = wanted.get(following, 0.0) + probability / math.fsum(begun.values())
            assert found == pytest.approx(wanted)


def test_microworlds_chain_rule_gives_the_sentences_probability() -> None:
    source, rng = grammar("tiny"), Random(5)
    known = NextWords(source)
    for _ in range(10):
        tree, log_prob = source.sample(rng)
        words = tree.source()
        found = known.after(words)
        assert all(math.fsum(truth.values()) == pytest.approx(1) for truth in found)
        chained = math.fsum(math.log(truth[word]) for truth, word in zip(found, [*words, END], strict=True))
        assert chained == pytest.approx(log_prob)


def test_outside_the_grammar_there_is_nothing_to_come() -> None:
    known = NextWords(grammar("tiny"))
    found = known.after(["the", "the", "cat"])
    assert [bool(truth) for truth in found] == [True, True, False, False]
    assert known.after([]) == [known.first(("Sentence",))]
