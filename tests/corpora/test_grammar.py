"""The synchronous grammar: exact probabilities against brute force, drawing, and both sides of a derivation."""

import math
from collections import Counter
from random import Random

import pytest

from langladder.corpora.grammar import Grammar, Rule, Symbol

S, NP, PP, V, N = ("S",), ("NP",), ("PP",), ("V",), ("N",)

# Ambiguous: a final "near b" belongs to the object or to the verb.
AMBIGUOUS: dict[Symbol, list[Rule]] = {
    S: [
        Rule(3.0, (NP, V, NP), (0, 2, 1)),
        Rule(1.0, (NP, V, NP, PP), (3, 0, 2, 1)),
    ],
    NP: [Rule(2.0, (N,), (0,)), Rule(1.0, (N, PP), (1, 0))],
    PP: [Rule(1.0, ("near", N), (0, "apud")), Rule(0.5, ("near", N, ("PP2",)), (0, 1, "apud"))],
    ("PP2",): [Rule(1.0, ("near", N), ("apud", 0))],
    V: [Rule(1.0, ("sees",), ("vidas",), ("sees",)), Rule(1.0, ("hears",), ("aŭdas",), ("hears", "sees"))],
    N: [Rule(1.0, ("a",), ("A",)), Rule(2.0, ("b",), ("B",))],
}


@pytest.fixture
def ambiguous() -> Grammar:
    return Grammar(S, AMBIGUOUS.__getitem__)


def test_golden_inside_equals_brute_force_enumeration_on_an_ambiguous_grammar(ambiguous: Grammar) -> None:
    brute: dict[str, float] = {}
    derivations = 0
    for tree, log_prob in ambiguous.enumerate():
        sentence = " ".join(tree.source())
        brute[sentence] = brute.get(sentence, 0.0) + math.exp(log_prob)
        derivations += 1
    assert derivations > len(brute)  # the grammar is ambiguous indeed
    assert math.fsum(brute.values()) == pytest.approx(1.0, abs=1e-12)
    for sentence, probability in brute.items():
        assert math.exp(ambiguous.inside(sentence.split())) == pytest.approx(probability, rel=1e-12)


def test_golden_inside_by_hand() -> None:
    # P(x y) = 0.5 · 1 (first rule) + 0.5 · P(A = x) · P(B = y) = 0.5 + 0.5 · 0.25 · 1
    rules: dict[Symbol, list[Rule]] = {
        S: [Rule(1.0, ("x", "y"), ()), Rule(1.0, (("A",), ("B",)), (1, 0))],
        ("A",): [Rule(1.0, ("x",), ()), Rule(3.0, ("z",), ())],
        ("B",): [Rule(1.0, ("y",), ())],
    }
    grammar = Grammar(S, rules.__getitem__)
    assert grammar.inside(["x", "y"]) == pytest.approx(math.log(0.625))
    assert grammar.inside(["z", "y"]) == pytest.approx(math.log(0.375))
    assert grammar.inside(["y", "x"]) == -math.inf
    assert grammar.inside([]) == -math.inf


def test_samples_follow_the_probabilities(ambiguous: Grammar) -> None:
    rng, count = Random(3), 20_000
    drawn = Counter(" ".join(ambiguous.sample(rng).tree.source()) for _ in range(count))
    for sentence, times in drawn.most_common(10):
        expected = math.exp(ambiguous.inside(sentence.split()))
        assert times / count == pytest.approx(expected, abs=4 * math.sqrt(expected / count))


def test_derivation_log_prob_is_the_product_of_its_rules(ambiguous: Grammar) -> None:
    tree, log_prob = ambiguous.sample(Random(1))

    def product(node: object) -> float:
        probability = next(p for p, rule in ambiguous.rules(node.symbol) if rule == node.rule)  # type: ignore[attr-defined]
        return probability * math.prod(product(child) for child in node.children)  # type: ignore[attr-defined, misc]

    assert math.exp(log_prob) == pytest.approx(product(tree))


def test_target_side_permutes_the_same_children() -> None:
    rules: dict[Symbol, list[Rule]] = {
        S: [Rule(1.0, ("the", ("A",), ("B",)), (1, "kaj", 0))],
        ("A",): [Rule(1.0, ("red",), ("ruĝa",))],
        ("B",): [Rule(1.0, ("rose",), ("rozo",))],
    }
    tree = Grammar(S, rules.__getitem__).sample(Random(0)).tree
    assert tree.source() == ["the", "red", "rose"]
    assert tree.target() == ["rozo", "kaj", "ruĝa"]
    assert [node.symbol for node in tree.find("B")] == [("B",)]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({S: []}, "at least one rule"),
        ({S: [Rule(0.0, ("a",), ())]}, "weights above 0"),
        ({S: [Rule(1.0, (), ())]}, "exactly once"),
        ({S: [Rule(1.0, (N, N), (0, 0))], N: [Rule(1.0, ("a",), ())]}, "exactly once"),
    ],
)
def test_bad_rules_are_refused(rules: dict[Symbol, list[Rule]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Grammar(S, rules.__getitem__).sample(Random(0))


def test_left_recursion_is_refused() -> None:
    rules: dict[Symbol, list[Rule]] = {S: [Rule(1.0, (S, "a"), (0,)), Rule(1.0, ("a",), ())]}
    with pytest.raises(ValueError, match="left-recursive"):
        Grammar(S, rules.__getitem__).inside(["a", "a"])
