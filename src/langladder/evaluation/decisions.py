"""What a classifier says of a text and why: weights of words, attention, nodes of a tree, favourite n-grams."""

from collections.abc import Iterable, Sequence

import numpy as np

from langladder.evaluation.classifier_page import Decision, Filter, Node
from langladder.models.classification.classifier import Classifier, Favourite
from langladder.text.labelled.labelled import Example, read_tree

FILTERS = 24
"""Filters of a network that a page shows."""
NGRAMS = 5
"""n-grams of each."""
READ = 1000
"""Test texts among which they are looked for."""


def decision(model: Classifier, example: Example, said: int, sure: float) -> Decision:
    """What was said of an example, and why.

    Args:
        said: the label's id. sure: its probability.
    """
    explained, attention = model.explain(example, said), model.attention(example)
    return Decision(
        text=example.text,
        second=example.second,
        label=str(example.label),
        said=model.labels[said],
        probability=round(sure, 6),
        pieces=[] if explained is None else explained.pieces,
        weights=[] if explained is None else _rounded(explained.weights),
        attention=[] if attention is None else _rounded(attention.weights),
        tree=tree_nodes(model, example),
    )


def tree_nodes(model: Classifier, example: Example) -> list[Node]:
    """What is said of each node of the example's tree, children first; empty where the classifier reads no trees."""
    found = model.nodes(example)
    if found is None:
        return []
    tree = read_tree(example)
    return [
        Node(
            children=list(tree.children[place]),
            word=tree.word[place] if tree.word[place] >= 0 else None,
            label=tree.label[place],
            said=model.labels[int(probabilities.argmax())],
            probability=round(float(probabilities.max()), 4),
        )
        for place, probabilities in enumerate(found)
    ]


def filters(model: Classifier, test: Sequence[Example]) -> list[Filter]:
    """Those whose highest value is largest, label by label, so that every label has its own among them."""
    found = model.favourites(test[:READ], NGRAMS) or []
    waiting = {
        label: sorted((one for one in found if one.label == label and one.values), key=lambda one: -one.values[0])
        for label in model.labels
    }
    kept: list[Favourite] = []
    while len(kept) < FILTERS and any(waiting.values()):
        kept += [own.pop(0) for own in waiting.values() if own]
    return [
        Filter(width=one.width, label=one.label, ngrams=one.ngrams, values=_rounded(one.values))
        for one in sorted(kept[:FILTERS], key=lambda one: (model.labels.index(one.label), -one.values[0]))
    ]


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 4) if np.isfinite(value) else 0.0 for value in values]
