"""Majority: every text gets the most frequent label of the training texts. This is the baseline of every classifier.

P(y | x) = n_y / N

For multi-label texts, each label has this probability separately: a text gets the labels that at least half of the
texts have.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from langladder.ground import schema
from langladder.ground.artefacts import JSONObject
from langladder.models.classification.classifier import label_sets
from langladder.models.classification.counted_classifier import CountedClassifier, finite
from langladder.text.labelled.labelled import Example


class MajorityConfig(schema.Config):
    """Settings of `Majority`: none."""


class Majority(CountedClassifier):
    """The shares of the labels in the training texts."""

    approach = "counting labels"
    Config: ClassVar[type[schema.Config]] = MajorityConfig
    counts: np.ndarray
    texts: int = 0  # N, for multi-label texts

    @classmethod
    def refuses_multi_label(cls, config: schema.Config) -> str | None:
        """See `Classifier.refuses_multi_label`."""
        del config
        return None

    def fit(self, train: Sequence[Example], validation: Sequence[Example]) -> None:
        """See `CountedClassifier.fit`."""
        del validation
        if self.multi_label:
            self.counts, self.texts = label_sets(train, self.labels).sum(axis=0, dtype=np.int64), len(train)
            return
        labels = [example.label for example in train]
        self.counts = np.array([labels.count(label) for label in self.labels], dtype=np.int64)

    def log_probs(self, examples: Sequence[Example]) -> np.ndarray:
        """See `Classifier.log_probs`. A label without training texts counts as half a text; with several texts, a label
        that all of them have counts half a text less."""
        counts = np.maximum(self.counts, 0.5)  # (C,)
        shares = np.minimum(counts, self.texts - 0.5) / self.texts if self.multi_label else counts / counts.sum()
        log_probs: np.ndarray = np.tile(np.log(shares), (len(examples), 1))
        return log_probs

    def arrays(self) -> dict[str, np.ndarray]:
        """See `CountedClassifier.arrays`."""
        return {"counts": self.counts} | ({"texts": np.array([self.texts])} if self.multi_label else {})

    def set_arrays(self, arrays: Mapping[str, np.ndarray], reading: JSONObject, path: Path) -> None:
        """See `CountedClassifier.set_arrays`."""
        del reading, path
        self.counts = finite("counts", arrays["counts"], (len(self.labels),))
        if (self.counts < 0).any():
            raise ValueError("counts below 0")
        if self.multi_label:
            self.texts = int(finite("texts", arrays["texts"], (1,))[0])
            if self.texts < max(1, self.counts.max(initial=0)):
                raise ValueError("fewer texts than have a label")
