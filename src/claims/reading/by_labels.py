"""Classifiers by the number of labels: the same subsets for every variant, drawn again for each seed.

A subset of n labels has the class shares of the whole set, and larger subsets of the same seed contain it. A fifth of
it is the validation set of a classifier (for the strength of regularisation and the best weights), because a user with
n labels has no others. All labels are those of the corpus for training and for validation, of which again a fifth is
held out. The test texts are always the same.

The measures are the accuracy with all labels, with the fewest, and the difference between the two, which
distinguishes a gain that shrinks from one that grows.

`label_curve` tests whether a network is better than TF-IDF with logistic regression. `vectors_by_labels` tests the
value of word vectors from unlabelled text (Turian et al. 2010; Kim 2014, section 4): each network starts with skip-gram
vectors of the unlabelled training text, or with random vectors; both are fine-tuned.

Shape legend: N test texts.
"""

import math
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from claims.comparison import Change, Measure, Scored
from claims.declaration import Metric
from claims.reading.reading_comparison import (
    LabelComparison,
    VectorComparison,
    VectorComparisonConfig,
    learnt,
)
from claims.reading.reading_training import (
    HELD,
    ReadingConfig,
    Texts,
    fitting,
    majority,
    right_labels,
    subset,
)
from claims.reading.rungs import ClassifierRung
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.tasks.settings import ReadingTraining

METRICS = {
    "all": Metric("accuracy with all labels", more_is_better=True),
    "few": Metric("accuracy with the fewest", more_is_better=True),
    "fades": Metric("fewest less all", more_is_better=True, drawn=False),
    "by_count": Metric("accuracy (test)", along="labels", log="x"),
}


class CountsConfig(ReadingConfig):
    """Settings of an experiment that trains on several numbers of labels."""

    counts: list[int] = Field(default=[16, 64, 256], min_length=1)  # of labels, a fifth of each for validation
    epochs: float = Field(default=3.0, gt=0)  # passes over the texts, if these are more than max_steps

    @model_validator(mode="after")
    def _counts_rise(self) -> Self:
        if min(self.counts) < HELD or sorted(set(self.counts)) != self.counts:
            raise ValueError(f"counts={self.counts}: must be increasing numbers, the first at least {HELD}")
        return self

    def training_on(self, rung: ClassifierRung, texts: Texts, **changes: Any) -> ReadingTraining:
        """Training settings of a network for this many texts."""
        passes = math.ceil(self.epochs * len(texts.train) / self.batch_size)
        return self.training_of(rung, **{"max_steps": max(self.max_steps, passes)} | changes)


def by_counts(comparison: LabelComparison, data: Data) -> Measure:
    """`Comparison.measure` of METRICS, for settings that have `CountsConfig`'s."""
    config: Any = comparison.config
    whole = comparison.texts(data)
    comparison.majority = majority(whole.test)
    counts, left_out = fitting(config.counts, whole)
    comparison.remark = f"; of all {whole.size:,} labels {len(whole.validation):,} select the weights{left_out}"

    def trial(base: str, change: Change, seed: int) -> Scored:
        rung, model, rest = config.variant(base, change)
        right, parameters = dict[int, np.ndarray](), 0
        for count in [*counts, whole.size]:
            texts = whole if count == whole.size else subset(whole, count, seed)
            training = config.training_on(rung, texts, **config.trained(rest)) if rung.training else None
            how = {"model": rung.config(**model), "extra": config.extra(rest)}
            classifier = comparison.fit(data, rung, texts, training, seed=seed, **how)
            right[count] = right_labels(classifier, texts.test)  # (N,) bool
            parameters = learnt(classifier)
        few, every = right[min(right)], right[max(right)]
        return parameters, {
            "all": every,
            "few": few,  # one number of labels does not show a change
            "fades": few.astype(float) - every if len(right) > 1 else np.full(len(every), math.nan),
            "by_count": {count: float(some.mean()) for count, some in right.items()},
        }

    return trial


class ByLabelsConfig(VectorComparisonConfig, CountsConfig):
    """Settings of `ByLabels`."""

    metric: Literal["all", "few", "fades"] = "all"  # type: ignore[assignment]


class ByLabels(VectorComparison):
    """Variants of classifiers by number of labels; one line per variant."""

    Config: ClassVar[type[schema.Config]] = ByLabelsConfig
    metrics: ClassVar[dict[str, Metric]] = METRICS
    config: ByLabelsConfig

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`."""
        del data
        return {"all": self.majority}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        return by_counts(self, data)
