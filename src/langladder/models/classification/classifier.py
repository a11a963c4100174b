"""The one door of every classifier: P(label | text), from counting labels to a network that reads trees.

A classifier that offers `log_probs` is judged, compared, explained and asked from the command line like every other
one. What it needs to read a text and to name a label is kept in its folder, so the folder is enough.

Shape legend: N examples, C labels.
"""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from langladder.ground.artefacts import JSONObject, read_json, word_list
from langladder.ground.errors import InputError
from langladder.models.base import Model
from langladder.models.saving import READING
from langladder.text.labelled.labelled import Example


class Explained(NamedTuple):
    """What a decision came from: weight of each piece for the label; above 0 speaks for it."""

    pieces: list[str]
    weights: list[float]


class Favourite(NamedTuple):
    """What a filter likes: the n-grams with its highest values, best first, and the label that it speaks for most."""

    width: int
    filter: int
    label: str
    ngrams: list[str]
    values: list[float]


class Classifier(Model):
    """Everything that classifies. `labels` are in the order of their ids."""

    labels: list[str]
    SIZES: ClassVar[tuple[str, ...]] = ("number_of_labels",)
    WHAT: ClassVar[str] = "classifier"

    @abstractmethod
    def log_probs(self, examples: Sequence[Example]) -> np.ndarray:
        """Natural log P(label | example): (N, C) float64. What an example says of its own label is not read."""

    def explain(self, example: Example, label: int) -> Explained | None:
        """How much each piece of an example speaks for a label; None where the classifier cannot tell."""
        del example, label
        return None

    def attention(self, example: Example) -> Explained | None:
        """How much of each piece is in what the label is read from, 1 in all; None without attention."""
        del example
        return None

    def nodes(self, example: Example) -> list[np.ndarray] | None:
        """P(label) at each node of the example's tree, (C,) each, in the order of `Tree`; None: it reads no trees."""
        del example
        return None

    def favourites(self, examples: Sequence[Example], top: int = 5) -> list[Favourite] | None:
        """The n-grams among the texts that each filter likes most; None without filters."""
        del examples, top
        return None


def read_reading(folder: Path, keys: set[str], labels: int) -> tuple[list[str], JSONObject]:
    """The labels and the rest of reading.json, beside a classifier.

    Args:
        keys: what else the file must hold. labels: how many there must be.

    Raises:
        InputError: it holds something else.
    """
    path = Path(folder) / READING
    value = read_json(path)
    if not isinstance(value, dict) or set(value) != {"labels", *keys}:
        raise InputError(f"{path}: its keys must be labels, {', '.join(sorted(keys))}".removesuffix(", "))
    found = word_list(path, value["labels"])
    if len(found) != labels:
        raise InputError(f"{path}: {len(found)} labels, but config.json says number_of_labels {labels}")
    return found, value


ClassWeights = Literal["none", "balanced"]
"""What a training text counts: all the same, or, where labels are not equally frequent, each label as much in all."""


def balanced_weights(labels: np.ndarray, count: int) -> np.ndarray:
    """w_y = N / (C n_y), C labels that occur, each n_y times among N: (count,) float64; of the others 0.

    >>> balanced_weights(np.array([0, 0, 0, 2]), 3).round(3).tolist()
    [0.667, 0.0, 2.0]
    """
    n = np.bincount(labels, minlength=count)
    return np.where(n > 0, len(labels) / (max(1, np.count_nonzero(n)) * np.maximum(n, 1)), 0.0)


def balanced_accuracy(gold: np.ndarray, predicted: np.ndarray) -> float:
    """The mean over the labels that occur of the share of their texts that are right; 0 without texts."""
    return float(np.mean([np.mean(predicted[gold == label] == label) for label in np.unique(gold)] or [0.0]))


def label_ids(examples: Sequence[Example], labels: Sequence[str]) -> np.ndarray:
    """(N,) int64 ids of the examples' labels.

    Raises:
        InputError: a label is not among `labels`, or an example has none.
    """
    ids = {label: position for position, label in enumerate(labels)}
    for example in examples:
        if example.label not in ids:
            raise InputError(f"{example.text[:60]!r}: the label {example.label!r} is none of {', '.join(labels)[:200]}")
    return np.array([ids[example.label] for example in examples if example.label is not None], dtype=np.int64)
