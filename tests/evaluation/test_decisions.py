"""What a page tells of single decisions: weights and attention, every node of a tree, filters of every label."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from langladder.evaluation.classifier import FILTERS, decision, evaluate_classifier, filters, tree_nodes
from langladder.models.classification.classifier import Classifier, Explained, Favourite
from langladder.text.labelled.labelled import Example

TREE = Example("not very good", label="no")
PARSED = TREE._replace(tree="(no (not) (yes (very) (yes good)))")


class Plain(Classifier):
    """A classifier that says `yes` to everything and cannot tell why."""

    def __init__(self) -> None:
        self.labels = ["no", "yes"]

    def log_probs(self, examples: Sequence[Example]) -> np.ndarray:
        return np.log(np.tile([0.25, 0.75], (len(examples), 1)))

    def number_of_parameters(self) -> int:
        return 0

    def save(self, folder: Path) -> None:
        raise NotImplementedError


class Telling(Plain):
    """One that can: words by their place, nodes by their number, two filters of one label and many of the other."""

    def explain(self, example: Example, label: int) -> Explained:
        words = example.text.split(" ")
        return Explained(words, [float(index) * (1 if label else -1) for index in range(len(words))])

    def attention(self, example: Example) -> Explained:
        return Explained(example.text.split(" "), [float("nan"), 0.5, 0.5])

    def nodes(self, example: Example) -> list[np.ndarray]:
        assert example.tree is not None
        return [np.array([index / 10, 1 - index / 10]) for index in range(5)]

    def favourites(self, examples: Sequence[Example], top: int = 5) -> list[Favourite]:
        assert examples and top == 5
        many = [Favourite(2, number, "yes", [f"{number}"], [float(number)]) for number in range(100)]
        few = [Favourite(3, number, "no", ["not good"], [0.5]) for number in range(2)]
        return [*many, *few, Favourite(3, 9, "no", [], [])]


def test_unsupported_parts_of_a_page_are_empty() -> None:
    item = decision(Plain(), TREE, 1, 0.75)
    assert (item.said, item.label, item.probability) == ("yes", "no", 0.75)
    assert not (item.pieces or item.weights or item.attention or item.tree)
    assert filters(Plain(), [TREE]) == [] and tree_nodes(Plain(), PARSED) == []


def test_golden_decision() -> None:
    item = decision(Telling(), PARSED, 1, 0.75)
    assert (item.pieces, item.weights) == (["not", "very", "good"], [0.0, 1.0, 2.0])
    assert item.attention == [0.0, 0.5, 0.5]  # what is no number counts nothing
    assert [(node.children, node.word, node.label) for node in item.tree] == [
        ([], 0, None), ([], 1, None), ([], 2, "yes"), ([1, 2], None, "yes"), ([0, 3], None, "no"),
    ]  # fmt: skip
    assert [(node.said, node.probability) for node in item.tree] == [
        ("yes", 1.0), ("yes", 0.9), ("yes", 0.8), ("yes", 0.7), ("yes", 0.6),
    ]  # fmt: skip


def test_every_label_has_its_filters_and_none_is_empty() -> None:
    result = filters(Telling(), [TREE])
    assert len(result) == FILTERS and [item.label for item in result].count("no") == 2
    assert [item.label for item in result[:2]] == ["no", "no"]  # in the order of the labels
    assert result[2].values == [99.0] and result[-1].values == [78.0]  # the highest values of the others


@pytest.mark.parametrize("kind", [Plain, Telling])
def test_the_page_holds_them(kind: type[Classifier]) -> None:
    page = evaluate_classifier(kind(), [PARSED, PARSED._replace(label="yes")], name="one")
    tells = kind is Telling
    assert bool(page.filters) == bool(page.shown[0].tree) == bool(page.mistakes[0].weights) == tells
    assert type(page).model_validate_json(page.model_dump_json()) == page
