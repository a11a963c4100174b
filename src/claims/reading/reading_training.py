"""Training of classifiers in experiments: rungs of the ladder, in a simple training loop.

A network ends with its best weights on the validation texts, by accuracy, then by loss. A counted classifier selects
the strength of its regularisation on them, as on the ladder.

Shape legend: N examples, C labels.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from pydantic import Field

from claims.reading.rungs import ClassifierRung
from claims.training import train
from langladder.data.batches import generator
from langladder.data.reading import ReadingBatches
from langladder.embeddings.base import WordVectors
from langladder.experiments.experiment import Data, ExperimentConfig
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier, label_ids
from langladder.models.classification.counted_classifier import CountedClassifier
from langladder.models.classification.neural_classifier import NeuralClassifier, Reading, collate
from langladder.tasks.inputs import start_from_table, units_for
from langladder.tasks.settings import ReadingTraining
from langladder.text.labelled.labelled import Example

VALIDATIONS = 8
"""Number of validations during training."""
LEAST = 32
"""Minimum number of texts at any effort."""
HELD = 5
"""One in this many labels is used for validation, whatever their number."""


class Texts(NamedTuple):
    """Labelled texts: `train` for fitting, `validation` for selection, `test` for measuring."""

    labels: list[str]
    train: Sequence[Example]
    validation: Sequence[Example]
    test: Sequence[Example]

    @property
    def size(self) -> int:
        """The number of labels: those that are trained on, and those that select the weights."""
        return len(self.train) + len(self.validation)

    def remark(self) -> str:
        """What the number contains, for a sentence."""
        return f"; {len(self.train):,} texts to train on, {len(self.validation):,} others select the weights"


class ReadingConfig(ExperimentConfig):
    """Settings of an experiment that trains classifiers."""

    rungs: dict[str, ClassifierRung] = Field(min_length=1)
    max_steps: int = Field(default=300, ge=2)  # steps of each network, at effort 1
    batch_size: int = Field(default=16, ge=1)
    test_texts: int | None = Field(default=None, ge=1)  # at most so many, at effort 1 and above; null: all

    def few(self, examples: Sequence[object], most: int | None) -> list[Any]:
        """The first `most` examples; fewer if effort is below 1, but at least LEAST."""
        return list(examples[: None if most is None else max(LEAST, self.fewer(most))])

    def training_of(self, rung: ClassifierRung, **changes: Any) -> ReadingTraining:
        """Training settings of a rung: those of its file, except the number of steps and the batch size."""
        steps = self.steps(changes.pop("max_steps", self.max_steps))
        values = {"max_steps": steps, "warmup_steps": steps // 10, "epochs": None, "batch_size": self.batch_size}
        training: ReadingTraining = rung.trained(**values | changes)
        return training


def fitted(
    rung: ClassifierRung,
    texts: Texts,
    training: ReadingTraining | None,
    *,
    seed: int,
    model: Any = None,
    vectors: WordVectors | None = None,
    frozen: bool = False,
) -> Classifier:
    """A rung, trained on `texts`.

    Args:
        training: training settings, for a network.
        model: changes to the settings of the rung.
        vectors: initial vectors, with the dimension of its embedding. frozen: whether they stay unchanged.

    Raises:
        InputError: no word is left, the vectors share no word with the texts, or a label is unknown.
    """
    config = rung.config() if model is None else model
    if issubclass(rung.kind, CountedClassifier):
        counted: CountedClassifier = rung.kind(config, texts.labels)
        counted.fit(texts.train, texts.validation)
        return counted
    assert training is not None, rung.name
    units, table = units_for(rung.input, texts.train, vectors=vectors)
    torch.manual_seed(seed)
    network: NeuralClassifier = rung.kind(config, units.full_vocab_size, len(texts.labels))
    network.equip(units, texts.labels)
    start_from_table(network, table, frozen=frozen)
    network.start()
    train_network(network, texts, training, seed=seed)
    return network


def train_network(network: NeuralClassifier, texts: Texts, training: ReadingTraining, *, seed: int) -> list[float]:
    """Train in place with cross-entropy, like `tasks.classification`; returns the loss of each step.

    Raises:
        InputError: there is no training text.
    """
    if not texts.train:
        raise InputError("classification: no training text; see the report of the stage `clean`")
    encoded = [network.encode(example) for example in texts.train]
    labels = torch.from_numpy(label_ids(texts.train, network.labels))

    def batch(_training: bool, rows: np.ndarray) -> tuple[Reading, torch.Tensor]:
        return collate([encoded[row] for row in rows]), labels[rows]

    lengths = [len(example.ids) for example in encoded]
    batches = ReadingBatches((lengths, []), batch, batch_size=training.batch_size, seed=seed)
    best: tuple[tuple[float, float], dict[str, torch.Tensor]] | None = None
    every = max(1, -(-training.max_steps // VALIDATIONS))

    def look(step: int) -> None:
        nonlocal best
        if texts.validation and (step % every == 0 or step == training.max_steps):
            score = scored(network, texts.validation)
            if best is None or score > best[0]:
                best = score, deepcopy(network.state_dict())

    losses = train(network, lambda step: network.loss(*batches.train(step), training.label_smoothing), training, look)
    if best is not None:
        network.load_state_dict(best[1])
    return losses


def scored(classifier: Classifier, examples: Sequence[Example]) -> tuple[float, float]:
    """Accuracy, and the mean log P of the right labels, in nats."""
    log_probs = classifier.log_probs(examples)  # (N, C)
    wanted = label_ids(examples, classifier.labels)
    right = float((log_probs.argmax(axis=1) == wanted).mean())
    return right, float(log_probs[np.arange(len(wanted)), wanted].mean())


def right_labels(classifier: Classifier, examples: Sequence[Example]) -> np.ndarray:
    """Whether each example gets the right label: (N,) bool."""
    right: np.ndarray = classifier.log_probs(examples).argmax(axis=1) == label_ids(examples, classifier.labels)
    return right


def majority(examples: Sequence[Example]) -> float:
    """Share of the most frequent label."""
    labels = [example.label for example in examples]
    return max(map(labels.count, set(labels))) / len(labels)


def corpus(data: Data, config: ReadingConfig) -> Texts:
    """The labelled texts, with the requested number of test texts.

    The texts of the corpus for training and for validation are joined, and one in HELD of them is held out, as in every
    subset.

    Raises:
        InputError: a split has no texts.
    """
    train, validation, test = (data.examples(split) for split in ("train", "validation", "test"))
    for name, split in (("train", train), ("validation", validation), ("test", test)):
        if not split:
            raise InputError(f"{data.labels}/{name}.parquet: no labelled text; see the report of the stage `clean`")
    whole = Texts(data.label_names(), train, validation, config.few(test, config.test_texts))
    return subset(whole, whole.size, 1)


def fitting(counts: Sequence[int], whole: Texts) -> tuple[list[int], str]:
    """The possible numbers of labels: fewer than there are, at least one per class; and what is left out, as text."""
    sizes = [count for count in counts if len(whole.labels) <= count < whole.size]
    left_out = [f"{count:,}" for count in counts if count not in sizes]
    return sizes, f"; {', '.join(left_out)} labels are not possible: there are {whole.size:,}" if left_out else ""


def subset(whole: Texts, count: int, seed: int) -> Texts:
    """`count` of the texts with labels, a fifth of them for validation.

    Raises:
        InputError: there are fewer.
    """
    if count > whole.size:
        raise InputError(
            f"claim.settings.labels={count}: there are {whole.size} labels for training and validation; set it lower"
        )
    pool = [*whole.train, *whole.validation]
    chosen = [pool[row] for row in stratified(pool, seed)[:count]]
    order, held = stratified(chosen, seed, 1), count // HELD
    train, validation = ([chosen[row] for row in sorted(rows)] for rows in (order[held:], order[:held]))
    return whole._replace(train=train, validation=validation)


def stratified(examples: Sequence[object], *key: int) -> list[int]:
    """An order in which every prefix has about the label shares of the whole.

    The k-th of the n texts of a label, in an order drawn with `key`, is at (k + ½) / n.
    """
    of: dict[str, list[int]] = {}
    for row in generator(*key).permutation(len(examples)).tolist():
        of.setdefault(str(examples[row].label), []).append(row)
    placed = [((k + 0.5) / len(rows), row) for rows in of.values() for k, row in enumerate(rows)]
    return [row for _, row in sorted(placed)]
