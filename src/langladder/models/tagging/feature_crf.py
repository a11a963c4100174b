"""A CRF over hand-made features (Lafferty et al. 2001), trained by CRFsuite: the usual alternative to a network.

    s(x, y) = Σ_t Σ_{f true of word t} w_{f, y_t} + Σ_t A_{y_{t−1} y_t}

CRFsuite (Okazaki 2007) estimates the weights with L-BFGS and L1 and L2 penalties. It stores a model in a binary file,
which its reader does not check, so such files are never read here. After training, the weights are exported and stored
as arrays, and `nn.crf` scores the sentences. The tests compare the tags of both.

For the features see `word_features`.

Shape legend: F features, K tags, N weights that are not 0, T words.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field
from scipy.sparse import csr_matrix

from langladder.ground import schema
from langladder.models.tagging.counted_tagger import CountedTagger
from langladder.models.tagging.tagger import allowed_steps
from langladder.models.tagging.word_features import sentence_features
from langladder.nn.crf import Chain
from langladder.text.labelled.labelled import Tagged


class FeatureCRFConfig(schema.Config):
    """Settings of `FeatureCRF`."""

    l1: float = Field(default=0.1, ge=0)
    l2: float = Field(default=0.01, ge=0)
    iterations: int = Field(default=60, ge=1, le=100_000)
    """Maximum iterations of L-BFGS."""
    constraints: bool = True
    """Whether invalid transitions of phrase tags (IOB2, IOBES) are forbidden."""


class FeatureCRF(CountedTagger):
    """Linear-chain CRF over hand-made features, trained by CRFsuite."""

    approach: ClassVar[str] = "hand-made features"
    Config: ClassVar[type[schema.Config]] = FeatureCRFConfig
    config: FeatureCRFConfig
    KEYS = ("features",)
    features: dict[str, int]
    weights: csr_matrix  # (F, K)
    transitions: np.ndarray  # (K, K)

    @classmethod
    def also_given(cls, config: schema.Config) -> str:
        """See `sentence_features`."""
        del config
        return "hand-made features"

    def fit(self, sentences: Sequence[Tagged], tags: np.ndarray) -> None:
        """See `CountedTagger.fit`."""
        import pycrfsuite

        trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
        position = 0
        for sentence in sentences:
            if sentence.words:
                own = tags[position : position + len(sentence.words)]
                trainer.append(sentence_features(sentence.words), [str(tag) for tag in own])  # ids: names can be odd
                position += len(own)
        chosen = self.config
        trainer.set_params({"c1": chosen.l1, "c2": chosen.l2, "max_iterations": chosen.iterations})
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model")
            trainer.train(path)
            library = pycrfsuite.Tagger()
            library.open(path)
            info = library.info()
            library.close()
        self._read_weights(info)

    def _read_weights(self, info: Any) -> None:
        K = len(self.tags)
        self.features = {name: row for row, name in enumerate(sorted({name for name, _ in info.state_features}))}
        rows = [self.features[name] for name, _ in info.state_features]
        columns = [int(tag) for _, tag in info.state_features]
        values = np.array(list(info.state_features.values()), dtype=np.float64)
        self.weights = csr_matrix((values, (rows, columns)), shape=(len(self.features), K))
        self.transitions = np.zeros((K, K))
        for (before, after), weight in info.transitions.items():
            self.transitions[int(before), int(after)] = weight

    def scores(self, words: Sequence[str]) -> np.ndarray:
        """See `CountedTagger.scores`: the sum of the weights of each word's true features."""
        known = [[self.features[f] for f in own if f in self.features] for own in sentence_features(words)]
        bounds = np.cumsum([0, *map(len, known)])
        flat = np.array([row for own in known for row in own], dtype=np.int64)
        chosen = csr_matrix((np.ones(len(flat)), flat, bounds), shape=(len(words), len(self.features)))  # (T, F)
        scores: np.ndarray = (chosen @ self.weights).toarray()
        return scores

    def chain(self) -> Chain:
        """The weights of transitions; CRFsuite has no weights of first and last tags."""
        K, allowed = len(self.tags), allowed_steps(self.tags) if self.config.constraints else None
        if allowed is None:
            return Chain(self.transitions, np.zeros(K), np.zeros(K))
        return Chain(
            np.where(allowed.transitions, self.transitions, -np.inf),
            np.where(allowed.start, 0.0, -np.inf),
            np.where(allowed.end, 0.0, -np.inf),
        )

    def number_of_parameters(self) -> int:
        """See `Tagger.number_of_parameters`: weights that are not 0, and the transitions."""
        return int(self.weights.nnz) + self.transitions.size

    def arrays(self) -> dict[str, np.ndarray]:
        """See `CountedTagger.arrays`: the weights as row bounds (F + 1,), columns (N,) and values (N,)."""
        return {
            "transitions": self.transitions,
            "bounds": self.weights.indptr.astype(np.int64),
            "columns": self.weights.indices.astype(np.int64),
            "values": self.weights.data,
        }

    def lists(self) -> dict[str, list[str]]:
        """See `CountedTagger.lists`."""
        return {"features": list(self.features)}

    def restore(self, arrays: Mapping[str, np.ndarray], lists: Mapping[str, list[str]]) -> None:
        """See `CountedTagger.restore`."""
        if set(arrays) != {"transitions", "bounds", "columns", "values"}:
            raise ValueError(f"they are {sorted(arrays)[:8]}")
        F, K = len(lists["features"]), len(self.tags)
        bounds, columns, values = arrays["bounds"], arrays["columns"], arrays["values"]
        if arrays["transitions"].shape != (K, K) or arrays["transitions"].dtype != np.float64:
            raise ValueError(f"transitions has shape {arrays['transitions'].shape}, expected {(K, K)}")
        whole = bounds.dtype == columns.dtype == np.int64 and values.dtype == np.float64
        if not whole or bounds.shape != (F + 1,) or columns.ndim != 1 or columns.shape != values.shape:
            raise ValueError("bounds, columns and values are not a sparse matrix")
        ordered = bounds[0] == 0 and bounds[-1] == len(columns) and (np.diff(bounds) >= 0).all()
        if not ordered or (len(columns) and not 0 <= columns.min() <= columns.max() < K):
            raise ValueError("bounds or columns are out of range")
        self.features = {name: row for row, name in enumerate(lists["features"])}
        self.weights = csr_matrix((values, columns, bounds), shape=(F, K))
        self.transitions = arrays["transitions"]
