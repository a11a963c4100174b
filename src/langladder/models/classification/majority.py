"""Majority: every text gets the label that most training texts have. What a classifier must beat to know anything.

P(y | x) = n_y / N
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from langladder.ground import schema
from langladder.ground.artefacts import JSONObject
from langladder.models.classification.counted_classifier import CountedClassifier, finite
from langladder.text.labelled.labelled import Example


class MajorityConfig(schema.Config):
    """It has no settings."""


class Majority(CountedClassifier):
    """The shares of the labels in the training texts."""

    approach = "counting labels"
    Config: ClassVar[type[schema.Config]] = MajorityConfig
    counts: np.ndarray

    def fit(self, train: Sequence[Example], validation: Sequence[Example]) -> None:
        """See `CountedClassifier.fit`."""
        del validation
        labels = [example.label for example in train]
        self.counts = np.array([labels.count(label) for label in self.labels], dtype=np.int64)

    def log_probs(self, examples: Sequence[Example]) -> np.ndarray:
        """See `Classifier.log_probs`. A label that no training text has gets half a count."""
        counts = np.maximum(self.counts, 0.5)  # (C,)
        found: np.ndarray = np.tile(np.log(counts / counts.sum()), (len(examples), 1))
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """See `CountedClassifier.arrays`."""
        return {"counts": self.counts}

    def set_arrays(self, arrays: Mapping[str, np.ndarray], reading: JSONObject, path: Path) -> None:
        """See `CountedClassifier.set_arrays`."""
        del reading, path
        self.counts = finite("counts", arrays["counts"], (len(self.labels),))
        if (self.counts < 0).any():
            raise ValueError("counts below 0")
