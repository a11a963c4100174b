"""The interface of every classifier: P(label | text), from label counts to a network that reads trees.

Every classifier with `log_probs` can be evaluated, compared, explained and used from the command line. Its folder
contains everything that it needs to read a text and to name a label.

A text has one label. If the training texts are multi-label, it can have none, one or several: each label then has its
own probability P(label | text), and a text gets the labels whose probability is at least `THRESHOLD`. The labels are
assumed to be independent given the text:

    P(Y | x) = ∏_{c ∈ Y} p_c ∏_{c ∉ Y} (1 − p_c),   p_c = P(c | x)

Shape legend: N examples, C labels.
"""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from langladder.ground import schema
from langladder.ground.artefacts import JSONObject, read_json, word_list
from langladder.ground.errors import InputError
from langladder.models.base import Model
from langladder.models.saving import READING
from langladder.models.units import Units, WordUnits
from langladder.text.labelled.labelled import Example
from langladder.text.words.segmentation import Split

THRESHOLD = 0.5
"""Minimum probability at which a text gets a label, for multi-label classifiers."""


class Explained(NamedTuple):
    """The explanation of a decision: the weight of each piece for the label; positive weights support it."""

    pieces: list[str]
    weights: list[float]


class Favourite(NamedTuple):
    """The n-grams with a filter's highest values, best first, and the label that the filter supports most."""

    width: int
    filter: int
    label: str
    ngrams: list[str]
    values: list[float]


class Classifier(Model):
    """Everything that classifies. `labels` are in the order of their ids.

    multi_label: whether a text can get none, one or several of them, like the training texts.
    units: what it reads a text as; None: it reads no text.
    """

    labels: list[str]
    multi_label: bool = False
    units: Units | None = None
    SIZES: ClassVar[tuple[str, ...]] = ("number_of_labels",)
    WHAT: ClassVar[str] = "classifier"

    @abstractmethod
    def log_probs(self, examples: Sequence[Example]) -> np.ndarray:
        """Natural log P(label | example): (N, C) float64. Probabilities sum to 1, except for multi-label classifiers.

        The examples' own labels are ignored.
        """

    def words(self, example: Example, split: Split) -> list[str]:
        """The words of an example, in the form in which the classifier distinguishes them.

        Args:
            split: cuts a text into words if the classifier does not read words.
        """
        texts = [example.text] if example.second is None else [example.text, example.second]
        if not isinstance(self.units, WordUnits):
            return [word for text in texts for word in split(text)]
        treed = example.tree is not None or example.heads is not None
        return [self.units.folded(word) for text in texts for word in self.units.split(text, words=treed)]

    @classmethod
    def refuses_multi_label(cls, config: schema.Config) -> str | None:
        """Why a classifier with these settings cannot be trained on multi-label texts; None if it can."""
        del config
        return f"a {cls.__name__} gives each text one label"

    def explain(self, example: Example, label: int) -> Explained | None:
        """How much each piece of an example supports a label; None if the classifier does not support this."""
        del example, label
        return None

    def attention(self, example: Example) -> Explained | None:
        """The attention weight of each piece in the vector of the text, sum 1; None without attention."""
        del example
        return None

    def nodes(self, example: Example) -> list[np.ndarray] | None:
        """P(label) at each node of the example's tree, (C,) each, in the order of `Tree`; None without trees."""
        del example
        return None

    def favourites(self, examples: Sequence[Example], top: int = 5) -> list[Favourite] | None:
        """The n-grams of the texts with each filter's highest values; None without filters."""
        del examples, top
        return None


def read_reading(
    folder: Path, keys: set[str], labels: int, optional: frozenset[str] = frozenset()
) -> tuple[list[str], JSONObject]:
    """The labels and the rest of reading.json, a file in a classifier's folder.

    Args:
        keys: the other required keys of the file; optional: optional keys, whose value must be `true`.
        labels: the required number of labels.

    Raises:
        InputError: the file has other content.
    """
    path = Path(folder) / READING
    value = read_json(path)
    extra = {name for name in optional if isinstance(value, dict) and value.get(name) is True}
    if not isinstance(value, dict) or set(value) != {"labels", *keys, *extra}:
        raise InputError(f"{path}: its keys must be labels, {', '.join(sorted(keys))}".removesuffix(", "))
    words = word_list(path, value["labels"])
    if len(words) != labels:
        raise InputError(f"{path}: {len(words)} labels, but config.json says number_of_labels {labels}")
    return words, value


MULTI_LABEL = "multi_label"
"""Key in reading.json: true for a multi-label classifier, absent otherwise."""


# ---- multi-label texts


def is_multi_label(examples: Sequence[Example]) -> bool:
    """Whether examples have sets of labels.

    Raises:
        InputError: some examples have sets of labels, and others have one label.
    """
    kinds = {example.labels is not None for example in examples}
    if len(kinds) > 1:
        odd = next(example for example in examples if example.labels is None)
        raise InputError(
            f"{odd.text[:60]!r}: has one label ({odd.label}), and other texts a set of labels; all of a corpus must be "
            "read alike (params.yaml: data: {labels: {multi_label: …}})"
        )
    return kinds == {True}


def decided(log_probs: np.ndarray) -> np.ndarray:
    """The predicted labels of texts: (N, C) bool from the log-probabilities of a multi-label classifier."""
    sets: np.ndarray = np.exp(log_probs) >= THRESHOLD
    return sets


def log_prob_of_sets(log_probs: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """log P(Y | x) of each text, (N,), from log p (N, C) and Y (N, C) bool; no factor is below e^−1000.

    >>> np.exp(log_prob_of_sets(np.log([[0.9, 0.2]]), np.array([[True, False]]))).round(2).tolist()
    [0.72]
    """
    with np.errstate(divide="ignore"):
        other = np.log(-np.expm1(np.minimum(log_probs, 0.0)))  # log(1 − p)
    results: np.ndarray = np.maximum(np.where(sets, log_probs, other), -1e3).sum(axis=1)
    return results


def micro_f1(gold: np.ndarray, predicted: np.ndarray) -> float:
    """F₁ over all pairs of a text and a label, (N, C) bool each; 0 if there are none."""
    return float(2 * (gold & predicted).sum() / max(1, gold.sum() + predicted.sum()))


def label_sets(examples: Sequence[Example], labels: Sequence[str]) -> np.ndarray:
    """(N, C) bool: the labels of each multi-label example.

    Raises:
        InputError: a label is not among `labels`, or an example is not multi-label.
    """
    ids = {label: position for position, label in enumerate(labels)}
    matrix = np.zeros((len(examples), len(labels)), dtype=np.bool_)
    for row, example in enumerate(examples):
        if example.labels is None:
            raise InputError(
                f"{example.text[:60]!r}: has one label ({example.label}), but this classifier was trained on texts "
                "with a set of labels each"
            )
        for label in example.labels:
            if label not in ids:
                raise InputError(f"{example.text[:60]!r}: the label {label!r} is not one of {', '.join(labels)[:200]}")
            matrix[row, ids[label]] = True
    return matrix


def targets(examples: Sequence[Example], labels: Sequence[str], *, multi_label: bool) -> np.ndarray:
    """The targets of training: (N,) int64 ids, or (N, C) bool for multi-label examples.

    Raises:
        InputError: see `label_ids` and `label_sets`.
    """
    return label_sets(examples, labels) if multi_label else label_ids(examples, labels)


def right_texts(log_probs: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(N,) bool: whether each text gets the right label, or exactly the right set of labels (`targets`)."""
    right: np.ndarray = (
        log_probs.argmax(axis=1) == wanted if wanted.ndim == 1 else (decided(log_probs) == wanted).all(axis=1)
    )
    return right


# ---- texts with one label


ClassWeights = Literal["none", "balanced"]
"""Weights of training texts: all equal, or balanced, so that every label has the same total weight."""


def balanced_weights(labels: np.ndarray, count: int) -> np.ndarray:
    """w_y = N / (C n_y) for the C labels that occur, each n_y times among N: (count,) float64; 0 for the others.

    >>> balanced_weights(np.array([0, 0, 0, 2]), 3).round(3).tolist()
    [0.667, 0.0, 2.0]
    """
    n = np.bincount(labels, minlength=count)
    return np.where(n > 0, len(labels) / (max(1, np.count_nonzero(n)) * np.maximum(n, 1)), 0.0)


def balanced_accuracy(gold: np.ndarray, predicted: np.ndarray) -> float:
    """The mean accuracy over the labels that occur; 0 without texts."""
    return float(np.mean([np.mean(predicted[gold == label] == label) for label in np.unique(gold)] or [0.0]))


def label_ids(examples: Sequence[Example], labels: Sequence[str]) -> np.ndarray:
    """(N,) int64 ids of the examples' labels.

    Raises:
        InputError: a label is not among `labels`, or an example has none.
    """
    ids = {label: position for position, label in enumerate(labels)}
    for example in examples:
        if example.labels is not None:
            raise InputError(
                f"{example.text[:60]!r}: has a set of labels ({example.truth}), but this classifier was trained on "
                "texts with one label each"
            )
        if example.label not in ids:
            raise InputError(
                f"{example.text[:60]!r}: the label {example.label!r} is not one of {', '.join(labels)[:200]}"
            )
    return np.array([ids[example.label] for example in examples if example.label is not None], dtype=np.int64)
