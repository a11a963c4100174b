"""Trees against sequences by length of composition (Tai et al. 2015, section 6.1; Bowman et al. 2015, "Tree-Structured
Composition in Neural Networks without Tree-Structured Architectures").

Reviews of microworld, labelled from very negative to very positive. Operators combine the parts into the label of the
whole (`drawn_reviews.operators`): "anna doubted that the cake was not ugly , but the pie was lovely" has three. The
networks are trained on reviews with few operators, and are measured on reviews with the same number and with more. The
correct trees are given.
"""

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from claims.comparison import Change, Measure, Scored
from claims.declaration import Metric
from claims.reading.drawn_reviews import drawn_reviews, operators
from claims.reading.reading_training import ReadingConfig, Texts, fitted, majority, right_labels
from claims.reading.rung_comparison import RungComparison, RungComparisonConfig
from claims.reading.rungs import ClassifierRung
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.text.labelled.labelled import Example

LABELS = list("01234")
ENOUGH = 20
"""Minimum test reviews per number of operators, at any effort."""
AT_ONCE = 500


class CompositionConfig(ReadingConfig, RungComparisonConfig):
    """Settings of `Composition`."""

    rungs: dict[str, ClassifierRung] = Field(min_length=1)
    metric: Literal["beyond", "within", "further"] = "beyond"
    longest: int = Field(default=7, ge=1, le=8)  # maximum operators of the test reviews
    most_trained: int = Field(default=3, ge=0)  # maximum operators of the training reviews
    train_texts: int = Field(default=3000, ge=8)  # an eighth as many more select the weights
    each: int = Field(default=100, ge=8)  # test reviews of each number of operators, at effort 1 and above

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.most_trained >= self.longest:
            raise ValueError(
                f"most_trained={self.most_trained}, longest={self.longest}: some test reviews must be longer"
            )
        return self


class Composition(RungComparison[CompositionConfig]):
    """Accuracy by number of operators, within and beyond those of training; one line per rung."""

    Config: ClassVar[type[schema.Config]] = CompositionConfig
    frequent: float  # share of the most frequent label among the test reviews with the operators of training
    metrics: ClassVar[dict[str, Metric]] = {
        "beyond": Metric("accuracy beyond the trained operators", more_is_better=True),
        "within": Metric("accuracy within", more_is_better=True),
        "further": Metric("beyond less within", more_is_better=True, drawn=False),
        "by_operators": Metric("accuracy", along="operators"),
    }

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`."""
        del data
        return {"within": self.frequent}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It creates its own data."""
        del data, seeds
        config, before = self.config, set[str]()
        test = self._tests(before)
        train = self._short(max(ENOUGH, config.fewer(config.train_texts)), 1, before)
        validation = self._short(max(ENOUGH, config.fewer(config.train_texts) // 8), 2, before)
        self.remark = Texts(LABELS, train, validation, []).remark()
        short = range(config.most_trained + 1)
        self.frequent = majority([review for number in short for review in test[number]])

        def trial(base: str, change: Change, seed: int) -> Scored:
            rung, model, rest = config.variant(base, change)
            training = config.training_of(rung, **config.trained(rest)) if rung.training else None
            texts = Texts(LABELS, train, validation, [])
            classifier = fitted(rung, texts, training, seed=seed, model=rung.config(**model))
            right = {number: float(right_labels(classifier, reviews).mean()) for number, reviews in test.items()}
            within = float(np.mean([share for number, share in right.items() if number in short]))
            beyond = float(np.mean([share for number, share in right.items() if number not in short]))
            further = beyond - within
            return classifier.number_of_parameters(), {
                "within": within,
                "beyond": beyond,
                "further": further,
                "by_operators": right,
            }

        return trial

    def _tests(self, before: set[str]) -> dict[int, list[Example]]:
        """Number of operators → test reviews, the same number for each."""
        wanted = max(ENOUGH, self.config.fewer(self.config.each))
        tests: dict[int, list[Example]] = {number: [] for number in range(self.config.longest + 1)}
        draw = 0
        while any(len(reviews) < wanted for reviews in tests.values()):
            draw += 1
            for review in self._drawn(AT_ONCE, 1000 + draw, before):
                if len(tests.get(number := operators(review), range(wanted))) < wanted:
                    tests[number].append(review)
        return tests

    def _short(self, count: int, seed: int, before: set[str]) -> list[Example]:
        """Reviews with at most the training's number of operators."""
        tests: list[Example] = []
        draw = 0
        while len(tests) < count:
            draw += 1
            drawn = self._drawn(AT_ONCE, 100_000 * seed + draw, before)
            tests += [review for review in drawn if operators(review) <= self.config.most_trained]
        return tests[:count]

    def _drawn(self, count: int, seed: int, before: set[str]) -> list[Example]:
        return drawn_reviews(count, seed=seed, degrees=True, before=before)
