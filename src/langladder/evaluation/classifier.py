"""Evaluation of a classifier: accuracy, F₁, calibration, its most confident mistakes, and why it decides as it does.

Of each decision the page holds the weights of words, attention, the nodes of a tree; of a network with filters, the
n-grams that they like most.

A multi-label text is right where it gets just its labels: accuracy is the exact match, the answer is a set of labels,
and how sure one may be of it is the probability of the whole set (`models.classification.classifier`). Micro-F₁ and the
mean accuracy of a label judge each label by itself.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from langladder.evaluation.folds import FoldScores, OutOfFold
from langladder.evaluation.label_scores import (
    Answered,
    Bin,
    LabelScores,
    calibration_error,
    confusion,
    coverage,
    macro_f1,
    per_label,
    per_label_of_sets,
    reliability,
)
from langladder.evaluation.more_labels import MoreLabels
from langladder.evaluation.page import Excluded, Interval, Measured, Metric, Metrics, Page, Work, parameter_count
from langladder.evaluation.predictions import Prediction, rounded, unseen
from langladder.evaluation.significance import share_interval
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import (
    Classifier,
    Favourite,
    decided,
    label_ids,
    label_sets,
    log_prob_of_sets,
    micro_f1,
)
from langladder.text.labelled.labelled import Example, joined_labels, read_tree
from langladder.text.words.segmentation import Split

EXAMPLES = 12
"""Texts, and mistakes, that a page has."""

FILTERS = 24
"""Filters of a network that a page shows."""

NGRAMS = 5
"""n-grams of each."""

READ = 1000
"""Test texts among which they are looked for."""


class ClassifierScores(Measured):
    """accuracy and its interval; macro_f1: mean over labels; cross_entropy: nats per text; calibration_error: ECE."""

    accuracy: Annotated[
        float,
        Metric(
            "accuracy",
            "share of the test texts with the correct label; for multi-label texts, with exactly the correct labels",
            unit="share",
            better="higher",
            brief=True,
            compared=True,
        ),
    ]
    accuracy_interval: Annotated[
        Interval | None,
        Metric(
            "accuracy ±",
            "half the width of the accuracy's 95 % interval, in points; it covers the choice of the test texts "
            "(Wilson)",
            unit="points",
            digits=1,
            brief=True,
            logged=False,
        ),
    ]
    macro_f1: Annotated[
        float,
        Metric(
            "macro-F₁",
            "mean over the labels of F₁ = 2PR / (P + R), P precision, R recall; a rare label has the same weight as a "
            "frequent one",
            unit="share",
            better="higher",
            compared=True,
        ),
    ]
    cross_entropy: Annotated[
        float,
        Metric(
            "cross-entropy",
            "mean surprisal of the correct label, in nats per text; confident wrong answers cost most",
            better="lower",
            card="cross-entropy, nats",
        ),
    ]
    calibration_error: Annotated[
        float,
        Metric(
            "ECE",
            "expected calibration error: mean difference between the predicted probability and the share of correct "
            "answers",
            unit="share",
            better="lower",
            brief=True,
            card="expected calibration error",
        ),
    ]


class MultiLabelScores(Measured):
    """Scores of multi-label texts; every pair of a text and a label is a separate decision."""

    micro_f1: Annotated[
        float,
        Metric(
            "micro-F₁",
            "one F₁ from all pairs of a text and a label; a frequent label has more weight than a rare one",
            unit="share",
            better="higher",
            brief=True,
            compared=True,
            after="accuracy ±",
        ),
    ]
    label_accuracy: Annotated[
        float,
        Metric(
            "accuracy of a label",
            "share of all pairs of a text and a label in which the rung is right that the text has the label, or that "
            "it does not (1 − Hamming loss); if labels are rare, even a rung that gives no labels has a high value",
            unit="share",
            better="higher",
            after="micro-F₁",
        ),
    ]
    labels_per_text: Annotated[
        float,
        Metric(
            "labels per text", "mean number of labels that a rung gives a text", digits=2, after="accuracy of a label"
        ),
    ]
    true_labels_per_text: float
    without_label: float
    """Share of the test texts that have no label."""


class Node(Measured):
    """A node of a tree: its children, its word, its label in the corpus, the predicted label and its probability."""

    children: list[int]
    word: int | None
    label: str | None
    said: str
    probability: float


class Decision(Measured):
    """A test text, its label, the predicted label and its probability.

    Attributes:
        weights: of each piece for the predicted label; positive weights support it. attention: the attention weight of
            each piece; empty without attention.
        tree: its nodes, children first; empty where the classifier reads no trees.
    """

    text: str
    second: str | None
    label: str
    said: str
    probability: float
    pieces: list[str] = Field(default_factory=list)
    weights: list[float] = Field(default_factory=list)
    attention: list[float] = Field(default_factory=list)
    tree: list[Node] = Field(default_factory=list)


class Filter(Measured):
    """A filter over consecutive words: the test's n-grams with its highest values, and the label that it supports."""

    width: int
    label: str
    ngrams: list[str]
    values: list[float]


class ClassifierPage(Page):
    """The page of one classifier.

    Attributes:
        work: of a network, as it is trained, at the mean length of the test texts.
        by_fold: None where the test split was tested. Else each text was, by the model of its fold.
        texts: of the test. labels: in the order of their ids.
        more_labels: what twice the labels would give; None where no parts of them were trained on, or too few.
        bayes_accuracy, bayes_cross_entropy: what the best guess reaches under the grammar that drew the texts.
        multi_label: None of texts with one label each, and then left out of the file.
        confusion: row the right label, column what was said; of multi-label texts none.
        coverage: accuracy by share answered, where what it is not sure of is left to somebody else.
        right: of each test text, in order, 1 or 0: rungs are compared by it.
        mistakes: the most confident ones. shown: a few test texts as they come.
        filters: a few of a network that has any.
    """

    position = "word"
    trained_on = "texts"
    item_figure = "accuracy"
    detail: ClassVar[Excluded] = dict.fromkeys(
        ("confusion", "reliability", "coverage", "right", "mistakes", "shown", "filters"), True
    )

    parameters: Annotated[int, parameter_count("numbers that were estimated or learnt", compared=True, logged=False)]
    work: Annotated[Work | None, Metrics()] = None
    texts: int
    labels: list[str]
    scores: Annotated[ClassifierScores, Metrics()]
    by_fold: Annotated[FoldScores | None, Metrics("fold_")] = None
    bayes_accuracy: Annotated[float | None, Metric("Bayes accuracy, the best possible accuracy")] = None
    bayes_cross_entropy: float | None = None
    more_labels: MoreLabels | None = None
    multi_label: Annotated[MultiLabelScores | None, Metrics()] = Field(
        default=None, exclude_if=lambda value: value is None
    )
    per_label: list[LabelScores]
    confusion: list[list[int]] = Field(default_factory=list)
    reliability: list[Bin] = Field(default_factory=list)
    coverage: list[Answered] = Field(default_factory=list)
    right: str = ""
    mistakes: list[Decision] = Field(default_factory=list)
    shown: list[Decision] = Field(default_factory=list)
    filters: list[Filter] = Field(default_factory=list)

    @property
    def items(self) -> int | None:
        """Test texts."""
        return self.texts

    @property
    def item_scores(self) -> Sequence[float]:
        """1 for each test text that is right, else 0."""
        return [int(digit) for digit in self.right]

    @property
    def below_best(
        self,
    ) -> Annotated[
        float | None,
        Metric(
            "below the best",
            "points between the accuracy and the Bayes accuracy: that of the best possible classifier, which knows the"
            " grammar that wrote the texts; known only for a corpus with a known grammar",
            unit="points",
            digits=1,
            better="lower",
            brief=True,
            after="accuracy ±",
            logged=False,
        ),
    ]:
        """The difference between the Bayes accuracy and the accuracy, a share; None if it is unknown."""
        return None if self.bayes_accuracy is None else self.bayes_accuracy - self.scores.accuracy


def evaluate_classifier(
    model: Classifier,
    test: Sequence[Example],
    *,
    name: str,
    known: Collection[str] | None = None,
    split: Split = str.split,
    folds: OutOfFold[Classifier, Example] | None = None,
    table: list[Prediction] | None = None,
) -> ClassifierPage:
    """Evaluate a classifier.

    Args:
        known: words of the training texts as the classifier distinguishes them (`Classifier.words`), for the table.
        split: cuts texts into words for classifiers that do not read words.
        folds: the models of the folds that the texts are in: these answer, and know words of their own.
        table: where it is given, what was predicted of each text is added to it.

    Raises:
        InputError: there is no test text, or one has a label that the classifier does not know.
    """
    if not test:
        raise InputError("classification: no test text; see the report of the stage `clean`")
    ids = {label: number for number, label in enumerate(model.labels)}
    named = (label for example in test for label in ([example.label] if example.labels is None else example.labels))
    if strange := next((label for label in named if label not in ids), None):
        raise InputError(f"test: the label {strange!r} is not one of the classifier's: {', '.join(model.labels)[:200]}")
    if folds is None:
        log_probs = model.log_probs(test)  # (N, C)
    else:
        log_probs = np.stack(folds.answers(test, lambda model, texts: model.log_probs(texts)))  # (N, C)
    judged = _judged(model, test, log_probs)
    right, sure = judged.right, judged.sure
    if table is not None:
        read_by = [(model, known) if folds is None else folds.of(row) for row in range(len(test))]
        table += [_prediction(row, test[row], judged, *read_by[row], split) for row in range(len(test))]
    labels, bins = judged.per_label(np.arange(len(test))), reliability(sure, right)
    wrong = np.flatnonzero(~right)
    worst = wrong[np.argsort(-sure[wrong], kind="stable")][:EXAMPLES]
    ceilings = [example.ceiling for example in test if example.ceiling is not None]
    true = [example.log_prob for example in test if example.log_prob is not None]

    def decisions(rows: Sequence[int]) -> list[Decision]:
        models = {row: model if folds is None else folds.of(row)[0] for row in rows}
        likeliest = log_probs.argmax(axis=1)
        return [
            decision(models[row], test[row], int(likeliest[row]), float(sure[row]), said=judged.in_words[row])
            for row in rows
        ]

    def of_fold(rows: np.ndarray) -> tuple[float, float]:
        return float(right[rows].mean()), macro_f1(judged.per_label(rows))

    return ClassifierPage(
        name=name,
        approach=model.approach,
        parameters=model.number_of_parameters(),
        texts=len(test),
        labels=model.labels,
        scores=ClassifierScores(
            accuracy=round(float(right.mean()), 6),
            accuracy_interval=share_interval(int(right.sum()), len(test)),
            macro_f1=macro_f1(labels),
            cross_entropy=round(float(np.minimum(judged.loss, 1e3).mean()), 6),
            calibration_error=calibration_error(bins),
        ),
        by_fold=None if folds is None else folds.scores(of_fold),
        bayes_accuracy=round(float(np.mean(ceilings)), 6) if len(ceilings) == len(test) else None,
        bayes_cross_entropy=round(-float(np.mean(true)), 6) + 0.0 if len(true) == len(test) else None,
        multi_label=_multi_label_scores(judged) if model.multi_label else None,
        per_label=labels,
        confusion=[] if model.multi_label else judged.confusion(np.arange(len(test))).tolist(),
        reliability=bins,
        coverage=coverage(sure, right),
        right="".join("1" if correct else "0" for correct in right),
        mistakes=decisions(worst.tolist()),
        shown=decisions(range(min(EXAMPLES, len(test)))),
        filters=filters(model, test),
    )


class _Judged(NamedTuple):
    """The answers to N test texts.

    Attributes:
        labels: C of them. gold, predicted: ids (N,) int64, or sets (N, C) bool.
        in_words: the predictions. right: (N,) bool. sure: (N,), the probability of the prediction.
        loss: (N,), −log P(truth) in nats.
    """

    labels: list[str]
    gold: np.ndarray
    predicted: np.ndarray
    in_words: list[str]
    right: np.ndarray
    sure: np.ndarray
    loss: np.ndarray

    def confusion(self, rows: np.ndarray) -> np.ndarray:
        """The confusion matrix of some of the texts, if each has one label: (C, C)."""
        return confusion(self.gold[rows], self.predicted[rows], len(self.labels))

    def per_label(self, rows: np.ndarray) -> list[LabelScores]:
        """The scores of each label on some of the texts."""
        if self.gold.ndim == 2:
            return per_label_of_sets(self.gold[rows], self.predicted[rows], self.labels)
        return per_label(self.confusion(rows), self.labels)


def _judged(model: Classifier, test: Sequence[Example], log_probs: np.ndarray) -> _Judged:
    """Args: log_probs: (N, C)."""
    labels = model.labels
    if model.multi_label:
        sets = label_sets(test, labels)  # (N, C)
        chosen = decided(log_probs)  # (N, C)
        named = [joined_labels([labels[number] for number in np.flatnonzero(row)]) for row in chosen]
        right, sure = (sets == chosen).all(axis=1), np.exp(log_prob_of_sets(log_probs, chosen))
        return _Judged(labels, sets, chosen, named, right, sure, -log_prob_of_sets(log_probs, sets))
    gold, predicted = label_ids(test, labels), log_probs.argmax(axis=1)  # (N,)
    loss = -log_probs[np.arange(len(test)), gold]
    labels_of_rows = [labels[number] for number in predicted]
    return _Judged(labels, gold, predicted, labels_of_rows, predicted == gold, np.exp(log_probs.max(axis=1)), loss)


def _multi_label_scores(judged: _Judged) -> MultiLabelScores:
    gold, predicted = judged.gold, judged.predicted
    return MultiLabelScores(
        micro_f1=round(micro_f1(gold, predicted), 6),
        label_accuracy=round(float((gold == predicted).mean()), 6),
        labels_per_text=round(float(predicted.sum(axis=1).mean()), 6),
        true_labels_per_text=round(float(gold.sum(axis=1).mean()), 6),
        without_label=round(float((~gold.any(axis=1)).mean()), 6),
    )


def _prediction(
    row: int, example: Example, judged: _Judged, model: Classifier, known: Collection[str] | None, split: Split
) -> Prediction:
    return Prediction(
        item=row,
        text=example.text if example.second is None else f"{example.text}\t{example.second}",
        truth=example.truth,
        prediction=judged.in_words[row],
        right=bool(judged.right[row]),
        probability=rounded(judged.sure[row]),
        loss=rounded(judged.loss[row]),
        unknown="" if known is None else unseen(model.words(example, split), known),
        id=example.id,
    )


def decision(model: Classifier, example: Example, predicted: int, sure: float, *, said: str = "") -> Decision:
    """The prediction for an example, and its explanation.

    Args:
        predicted: the id of the explained label. said: the prediction, if it is not just this label. sure: its
            probability.
    """
    explained, attention = model.explain(example, predicted), model.attention(example)
    return Decision(
        text=example.text,
        second=example.second,
        label=example.truth,
        said=said or model.labels[predicted],
        probability=round(sure, 6),
        pieces=[] if explained is None else explained.pieces,
        weights=[] if explained is None else _rounded(explained.weights),
        attention=[] if attention is None else _rounded(attention.weights),
        tree=tree_nodes(model, example),
    )


def tree_nodes(model: Classifier, example: Example) -> list[Node]:
    """What is said of each node of the example's tree, children first; empty where the classifier reads no trees."""
    nodes = model.nodes(example)
    if nodes is None:
        return []
    tree = read_tree(example)
    return [
        Node(
            children=list(tree.children[node]),
            word=tree.word[node] if tree.word[node] >= 0 else None,
            label=tree.label[node],
            said=model.labels[int(probabilities.argmax())],
            probability=round(float(probabilities.max()), 4),
        )
        for node, probabilities in enumerate(nodes)
    ]


def filters(model: Classifier, test: Sequence[Example]) -> list[Filter]:
    """Those whose highest value is largest, label by label, so that every label has its own among them."""
    favourites = model.favourites(test[:READ], NGRAMS) or []
    waiting = {
        label: sorted(
            (pattern for pattern in favourites if pattern.label == label and pattern.values),
            key=lambda pattern: -pattern.values[0],
        )
        for label in model.labels
    }
    kept: list[Favourite] = []
    while len(kept) < FILTERS and any(waiting.values()):
        kept += [own.pop(0) for own in waiting.values() if own]
    return [
        Filter(width=pattern.width, label=pattern.label, ngrams=pattern.ngrams, values=_rounded(pattern.values))
        for pattern in sorted(kept[:FILTERS], key=lambda entry: (model.labels.index(entry.label), -entry.values[0]))
    ]


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 4) if np.isfinite(value) else 0.0 for value in values]
