"""Classifiers by the number of labels: the same subsets for every rung, drawn anew for each seed.

A subset of n labels has the classes in the shares that the whole has, and a larger one of the same seed contains it. A
fifth of it is what a classifier chooses by (strength of regularisation, best weights), because who has n labels has no
others to choose by. All there are is the training and the validation texts as they are. What is measured are the same
test texts throughout.

Shape legend: S seeds, N test texts.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.data.batches import generator
from langladder.embeddings.base import WordVectors
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.reading_training import ReadingConfig, Texts, fitted, majority, right_labels
from langladder.experiments.rungs import ClassifierRung
from langladder.experiments.small_vectors import small_vectors
from langladder.experiments.statistics import LEAST_SEEDS, Verdict, above
from langladder.ground.errors import InputError
from langladder.tasks.settings import ReadingTraining

HELD = 5
"""One label in so many is there to choose by."""
WITH_VECTORS = "{}, pre-trained"
Line = Callable[[Texts, int], np.ndarray]
"""Texts, seed → whether each test text gets its label, (N,) bool, after training on the others."""


class CountsConfig(ReadingConfig):
    """Settings of an experiment that trains on so many labels, and on so many more."""

    counts: list[int] = Field(default=[16, 64, 256, 1024], min_length=1)  # of labels; those that the corpus has
    seeds: int = Field(default=LEAST_SEEDS, ge=1, le=100)
    margin: float = Field(default=0.01, ge=0)  # the least difference in accuracy that counts
    epochs: float = Field(default=3.0, gt=0)  # of a network over its texts, where these are more than max_steps

    @model_validator(mode="after")
    def _counts_rise(self) -> Self:
        if min(self.counts) < HELD or sorted(set(self.counts)) != self.counts:
            raise ValueError(f"counts={self.counts}: rising numbers, the first at least {HELD}")
        return self

    def training_on(self, rung: ClassifierRung, texts: Texts) -> ReadingTraining:
        """How a network is trained on so many texts."""
        passes = math.ceil(self.epochs * len(texts.train) / self.batch_size)
        return self.training_of(rung, max_steps=max(self.max_steps, passes))


class ByLabelsConfig(CountsConfig):
    """Settings of the experiments by number of labels."""

    vectors: list[str] = Field(default=[])  # rungs that also begin with word vectors of the unlabelled text
    vector_epochs: int = Field(default=5, ge=1)
    vector_lines: int = Field(default=50_000, ge=1)  # of the text, to make them of

    @model_validator(mode="after")
    def _are_known(self) -> Self:
        if unknown := set(self.vectors) - set(self.rungs):
            raise ValueError(f"vectors: {sorted(unknown)} are none of the rungs; allowed: {', '.join(self.rungs)}")
        if without := [name for name in self.vectors if self.rungs[name].training is None]:
            raise ValueError(f"vectors: {without} have no embedding; name networks")
        return self

    def lines(self) -> list[tuple[str, ClassifierRung, bool]]:
        """Title, rung, and whether it begins with vectors, of each line of the picture."""
        plain = [(rung.title, rung, False) for rung in self.rungs.values()]
        return plain + [(WITH_VECTORS.format(self.rungs[name].title), self.rungs[name], True) for name in self.vectors]


class Measured(NamedTuple):
    """What was measured: title → number of labels → (S, N) bool, whether a test text got its label.

    Attributes:
        networks: titles of those that are trained by gradient.
        ceiling: the best possible accuracy; None where it is unknown.
        majority: share of the most frequent label among the test texts.
    """

    right: Mapping[str, Mapping[int, np.ndarray]]
    networks: Sequence[str]
    ceiling: float | None
    majority: float

    def mean(self, title: str, count: int) -> float:
        """Accuracy over all seeds."""
        return float(self.right[title][count].mean())

    def learnt(self, title: str) -> Verdict:
        """A gate: with all labels it is better than who always says the most frequent one."""
        return above(self.right[title][self.counts[-1]], self.majority, f"{title} has not learnt: its accuracy")

    def spread(self, title: str, count: int) -> float:
        """Standard deviation of the accuracy between seeds; 0 for one seed."""
        by_seed = self.right[title][count].mean(axis=1)  # (S,)
        return float(by_seed.std(ddof=1)) if len(by_seed) > 1 else 0.0

    @property
    def counts(self) -> list[int]:
        """Numbers of labels, rising."""
        return list(next(iter(self.right.values())))


class ByLabels(Experiment[ByLabelsConfig]):
    """Trains and measures; subclasses say what is to be found in it."""

    Config: ClassVar[type[Any]] = ByLabelsConfig
    reads = ("clean/labels", "clean/text")

    def measure(self, data: Data, *, seed: int, progress: Progress) -> Measured:
        """Every line of the picture at every number of labels, a training a seed."""
        config = self.config
        whole = corpus(data, config)
        vectors = self._vectors(data, seed)
        lines = {
            title: partial(self._right, rung, vectors.get(rung.name) if begun else None)
            for title, rung, begun in config.lines()
        }
        networks = [title for title, rung, _ in config.lines() if rung.training is not None]
        return measured(lines, whole, config, networks=networks, seed=seed, progress=progress)

    def _vectors(self, data: Data, seed: int) -> dict[str, WordVectors]:
        config, made, found = self.config, dict[int, WordVectors](), dict[str, WordVectors]()
        for name in config.vectors:
            dim = config.rungs[name].config().embedding_dim
            if dim not in made:
                how = {"epochs": config.vector_epochs, "lines": config.vector_lines}
                made[dim] = small_vectors(data, dim=dim, seed=seed, **how)
            found[config.rungs[name].name] = made[dim]
        return found

    def _right(self, rung: ClassifierRung, vectors: WordVectors | None, texts: Texts, seed: int) -> np.ndarray:
        training = None if rung.training is None else self.config.training_on(rung, texts)
        return right_labels(fitted(rung, texts, training, seed=seed, vectors=vectors), texts.test)


def measured(
    lines: Mapping[str, Line],
    whole: Texts,
    config: CountsConfig,
    *,
    networks: Sequence[str],
    seed: int,
    progress: Progress,
) -> Measured:
    """Every line at every number of labels, a training a seed.

    Args:
        networks: titles of the lines that are trained by gradient.
    """
    seeds = range(seed, seed + config.fewer(config.seeds))
    right: dict[str, dict[int, np.ndarray]] = {title: {} for title in lines}
    for count in [*fitting(config.counts, whole), None]:
        parts = [whole if count is None else subset(whole, count, one) for one in seeds]
        number = len(parts[0].train) + len(parts[0].validation)
        for title, line in lines.items():
            right[title][number] = np.stack([line(part, one) for part, one in zip(parts, seeds, strict=True)])
        said = ", ".join(f"{title} {by[number].mean():.1%}" for title, by in right.items())
        progress(f"{number:,} labels: {said}")
    ceilings = [example.ceiling for example in whole.test if example.ceiling is not None]
    ceiling = sum(ceilings) / len(ceilings) if len(ceilings) == len(whole.test) else None
    return Measured(right, networks, ceiling, majority(whole.test))


def corpus(data: Data, config: ReadingConfig) -> Texts:
    """The labelled texts, the test texts as many as are asked for.

    Raises:
        InputError: a split has none.
    """
    train, validation, test = (data.examples(split) for split in ("train", "validation", "test"))
    for name, split in (("train", train), ("validation", validation), ("test", test)):
        if not split:
            raise InputError(f"{data.labels}/{name}.parquet: no labelled text; see the report of the stage `clean`")
    return Texts(data.label_names(), train, validation, config.few(test, config.test_texts))


def fitting(counts: Sequence[int], whole: Texts) -> list[int]:
    """The numbers of labels that can be drawn: no more than there are to train on, at least one a class."""
    return [count for count in counts if len(whole.labels) <= count < len(whole.train)]


def subset(whole: Texts, count: int, seed: int) -> Texts:
    """`count` of the training texts, a fifth of them to choose by."""
    chosen = [whole.train[row] for row in stratified(whole.train, seed)[:count]]
    order, held = stratified(chosen, seed, 1), count // HELD
    train, validation = ([chosen[row] for row in sorted(rows)] for rows in (order[held:], order[:held]))
    return whole._replace(train=train, validation=validation)


def stratified(examples: Sequence[object], *key: int) -> list[int]:
    """An order in which every beginning has about the shares of the labels that the whole has.

    The k-th of the n texts of a label, in an order drawn for `key`, stands at (k + ½) / n.
    """
    of: dict[str, list[int]] = {}
    for row in generator(*key).permutation(len(examples)).tolist():
        of.setdefault(str(examples[row].label), []).append(row)
    placed = [((k + 0.5) / len(rows), row) for rows in of.values() for k, row in enumerate(rows)]
    return [row for _, row in sorted(placed)]
