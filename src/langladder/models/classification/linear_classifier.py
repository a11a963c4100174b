"""Linear classifiers over n-grams, with scikit-learn: the usual alternative to a network.

    naive_bayes   P(y | x) ∝ P(y) ∏_f P(f | y)^{x_f},   P(f | y) = (n_fy + α) / Σ_f' (n_f'y + α)
    logistic      P(y | x) = softmax(W x + b),   x: tf-idf, of length 1
    nb_svm        Wang & Manning (2012), section 2.3: x_f ∈ {0, 1}, scaled by the log-count ratio r, into a linear SVM
                  r = log((p / ‖p‖₁) / (q / ‖q‖₁)),   p = α + Σ_{n: y_n = y} x_n, q the same over the other labels
                  w' = (1 − β) ‖w‖₁ / F + β w,   β = 0 all but naive Bayes, 1 the SVM (section 2.3, "interpolation")

The strength of the regularisation (for naive Bayes: α) is selected from a list by accuracy on the validation texts. The
scores of an SVM are not log-probabilities, so they are divided by a temperature, which is also fitted on the validation
texts (Guo et al. 2017, section 4.2). All methods store one matrix: scores = x W + b.

For multi-label texts, each label is fitted separately against the texts without it ("one against the rest"): P(c | x) =
σ(z_c), with z_c the log odds. The strength is the same for all labels, and is selected by micro-F₁.

Shape legend: N examples, F features, C labels.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_softmax

from langladder.ground import schema
from langladder.ground.artefacts import JSONObject, word_list
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import (
    ClassWeights,
    Explained,
    balanced_accuracy,
    balanced_weights,
    decided,
    log_prob_of_sets,
    micro_f1,
    targets,
)
from langladder.models.classification.counted_classifier import CountedClassifier, finite
from langladder.models.units import Units, WordUnits, units_from
from langladder.text.labelled.labelled import Example
from langladder.text.words.normalisation import lower_of
from langladder.text.words.segmentation import InstalledWords, WordChoice

STRENGTHS = {"naive_bayes": [0.3, 1.0, 3.0], "logistic": [1.0, 3.0, 10.0, 30.0], "nb_svm": [0.03, 0.1, 0.3, 1.0]}


class LinearConfig(schema.Config):
    """Settings of `LinearClassifier`."""

    method: Literal["naive_bayes", "logistic", "nb_svm"] = "logistic"
    ngrams: list[int] = Field(default=[1, 2], min_length=2, max_length=2)
    """The shortest and the longest n-gram."""
    min_count: int = Field(default=1, ge=1)
    """Minimum number of training texts with an n-gram."""
    words: InstalledWords = "auto"
    lowercase: bool = True
    strengths: list[float] | None = Field(default=None, min_length=1)
    """Values of C (for naive Bayes: α) to select from; null: a default list."""
    smoothing: float = Field(default=1.0, gt=0)
    """α of nb_svm, the smoothing of counts."""
    interpolation: float = Field(default=1.0, ge=0, le=1)
    """β of nb_svm, the interpolation."""
    class_weights: ClassWeights = "none"
    """balanced: texts of rare labels have higher weights, and the strength is selected by the mean accuracy over the
    labels."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not 1 <= self.ngrams[0] <= self.ngrams[1] <= 10:
            raise ValueError(f"ngrams={self.ngrams}: the shortest and the longest, from 1 to 10")
        if self.strengths is not None and min(self.strengths) <= 0:
            raise ValueError(f"strengths={self.strengths}: each above 0")
        return self


class LinearClassifier(CountedClassifier):
    """n-grams → scores."""

    approach = "bags of n-grams"
    Config: ClassVar[type[schema.Config]] = LinearConfig
    KEYS = frozenset({"units", "features"})
    config: LinearConfig
    units: Units
    features: list[str]
    index: dict[str, int]
    scale: np.ndarray  # (F,): idf
    weight: np.ndarray  # (F, C)
    bias: np.ndarray  # (C,)

    @classmethod
    def refuses_multi_label(cls, config: schema.Config) -> str | None:
        """See `Classifier.refuses_multi_label`."""
        assert isinstance(config, LinearConfig)
        return None if config.class_weights == "none" else f"model.class_weights: {config.class_weights}; allowed: none"

    def grams(self, example: Example) -> Iterator[tuple[str, int, int]]:
        """Each n-gram of an example, with the index of its first word and the end index, counted over both texts."""
        first = self.units.text(example.text, words=example.tree is not None or example.heads is not None).pieces
        second = [] if example.second is None else self.units.text(example.second).pieces
        assert isinstance(self.units, WordUnits)
        for mark, pieces, offset in (("", first, 0), ("<sep> ", second, len(first) + 1)):
            folded = [self.units.folded(piece) for piece in pieces]
            for n in range(self.config.ngrams[0], self.config.ngrams[1] + 1):
                for start in range(len(folded) - n + 1):
                    gram = mark + " ".join(folded[start : start + n])
                    yield gram, offset + start, offset + start + n

    def counts(self, examples: Sequence[Example]) -> sparse.csr_matrix:
        """The counts of each known n-gram in each example: (N, F) float64."""
        rows: list[int] = [0]
        columns: list[int] = []
        for example in examples:
            columns += [self.index[gram] for gram, _, _ in self.grams(example) if gram in self.index]
            rows.append(len(columns))
        counts = sparse.csr_matrix((np.ones(len(columns)), columns, rows), (len(examples), len(self.index)))
        counts.sum_duplicates()
        return counts

    def inputs(self, counts: sparse.csr_matrix) -> sparse.csr_matrix:
        """x of each example: (N, F)."""
        x = counts.copy()
        if self.config.method == "nb_svm":
            x.data = np.ones_like(x.data)
        elif self.config.method == "logistic":
            x = x.multiply(self.scale).tocsr()
            lengths = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())  # (N,)
            x = sparse.diags(1.0 / np.where(lengths == 0, 1.0, lengths)) @ x
        return x

    def fit(self, train: Sequence[Example], validation: Sequence[Example]) -> None:
        """See `CountedClassifier.fit`."""
        texts = [text for example in train for text in (example.text, example.second) if text is not None]
        treed = any(example.tree is not None or example.heads is not None for example in train)
        mode: WordChoice = "whitespace" if treed else self.config.words
        whole = WordUnits.of(texts, mode=mode, lowercase=lower_of(self.config.lowercase, self.language))
        self.units = WordUnits([], whole.mode, whole.lowercase)
        seen: dict[str, int] = {}
        for example in train:
            for gram in {gram for gram, _, _ in self.grams(example)}:
                seen[gram] = seen.get(gram, 0) + 1
        self.features = sorted(gram for gram, count in seen.items() if count >= self.config.min_count)
        if not self.features:
            raise InputError(f"model.min_count={self.config.min_count} leaves no n-gram; lower it")
        self.index = {gram: position for position, gram in enumerate(self.features)}
        # idf = 1 + ln((1 + N) / (1 + n_f)), as scikit-learn smooths it
        documents = np.array([seen[gram] for gram in self.features])
        self.scale = 1.0 + np.log((1 + len(train)) / (1 + documents))
        x, y = self.inputs(self.counts(train)), targets(train, self.labels, multi_label=self.multi_label)
        held = self.inputs(self.counts(validation)), targets(validation, self.labels, multi_label=self.multi_label)
        C = len(self.labels)
        self._choose(self._one_by_one(x, y) if self.multi_label else self._solver(x, y, C), held)

    def _one_by_one(self, x: sparse.csr_matrix, y: np.ndarray) -> Callable[[float], tuple[np.ndarray, np.ndarray]]:
        """Like `_solver`, from y (N, C) bool: the log odds of each label against its absence."""
        solvers = [self._solver(x, own.astype(np.int64), 2) for own in y.T]

        def solve(strength: float) -> tuple[np.ndarray, np.ndarray]:
            solutions = [solver(strength) for solver in solvers]
            weight = np.stack([weight[:, 1] - weight[:, 0] for weight, _ in solutions], axis=1)
            return weight, np.array([bias[1] - bias[0] for _, bias in solutions])

        return solve

    def _solver(self, x: sparse.csr_matrix, y: np.ndarray, C: int) -> Callable[[float], tuple[np.ndarray, np.ndarray]]:
        """Strength → W (F, C), b (C,)."""
        w = balanced_weights(y, C)[y] if self.config.class_weights == "balanced" else np.ones(len(y))  # (N,)
        if self.config.method == "naive_bayes":
            return lambda strength: _naive_bayes(x, y, w, C, strength)
        if self.config.method == "logistic":
            return lambda strength: _logistic(x, y, w, C, strength)
        alpha, beta = self.config.smoothing, self.config.interpolation
        return lambda strength: _nb_svm(x, y, w, C, strength, alpha=alpha, beta=beta)

    def _choose(
        self,
        solve: Callable[[float], tuple[np.ndarray, np.ndarray]],
        held: tuple[sparse.csr_matrix, np.ndarray],
    ) -> None:
        x, y = held
        best = -1.0
        for strength in self.config.strengths or STRENGTHS[self.config.method]:
            weight, bias = solve(strength)
            scores = x @ weight + bias  # (N, C)
            labels = scores.argmax(axis=1)  # (N,)
            if self.multi_label:
                right = micro_f1(y, decided(log_expit(scores)))
            else:
                right = float(np.mean(labels == y)) if len(y) else 0.0
            if self.config.class_weights == "balanced":
                right = balanced_accuracy(y, labels)
            if right > best:
                best, self.weight, self.bias = right, weight, bias
        if self.config.method == "nb_svm" and len(y):
            scores = x @ self.weight + self.bias  # (N, C)

            def loss(log_temperature: float) -> float:
                if self.multi_label:
                    return -float(log_prob_of_sets(log_expit(scores / np.exp(log_temperature)), y).mean())
                return -float(np.mean(log_softmax(scores / np.exp(log_temperature), axis=1)[np.arange(len(y)), y]))

            temperature = np.exp(minimize_scalar(loss, bounds=(-4, 4), method="bounded").x)
            self.weight, self.bias = self.weight / temperature, self.bias / temperature

    def log_probs(self, examples: Sequence[Example]) -> np.ndarray:
        """See `Classifier.log_probs`."""
        scores = self.inputs(self.counts(examples)) @ self.weight + self.bias  # (N, C)
        log_probs: np.ndarray = log_expit(scores) if self.multi_label else log_softmax(scores, axis=1)
        return log_probs

    def explain(self, example: Example, label: int) -> Explained:
        """The contribution of each n-gram to the label's score minus the mean score, divided among its words.

        For multi-label classifiers, the contribution to the label's log odds.
        """
        pieces = self.units.example(example).pieces
        x = self.inputs(self.counts([example])).toarray()[0]  # (F,)
        times = self.counts([example]).toarray()[0]
        weights = np.zeros(len(pieces))
        for gram, first, behind in self.grams(example):
            if (feature := self.index.get(gram)) is not None:
                beside = 0.0 if self.multi_label else self.weight[feature].mean()
                share = x[feature] / times[feature] * (self.weight[feature, label] - beside)
                weights[first:behind] += share / (behind - first)
        return Explained(pieces, weights.tolist())

    def reading(self) -> dict[str, object]:
        """See `CountedClassifier.reading`."""
        return {"units": self.units.description(), "features": self.features}

    def arrays(self) -> dict[str, np.ndarray]:
        """See `CountedClassifier.arrays`."""
        return {"scale": self.scale, "weight": self.weight, "bias": self.bias}

    def number_of_parameters(self) -> int:
        """W and b."""
        return int(self.weight.size + self.bias.size)

    def set_arrays(self, arrays: Mapping[str, np.ndarray], reading: JSONObject, path: Path) -> None:
        """See `CountedClassifier.set_arrays`."""
        self.units = units_from(path, reading["units"])
        self.features = word_list(path, reading["features"])
        self.index = {gram: position for position, gram in enumerate(self.features)}
        F, C = len(self.features), len(self.labels)
        self.scale = finite("scale", arrays["scale"], (F,))
        self.weight, self.bias = finite("weight", arrays["weight"], (F, C)), finite("bias", arrays["bias"], (C,))


def _naive_bayes(
    x: sparse.csr_matrix, y: np.ndarray, w: np.ndarray, C: int, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.naive_bayes import MultinomialNB

    present = np.unique(y)
    fitted = MultinomialNB(alpha=alpha).fit(x, y, w)
    weight, bias = np.zeros((x.shape[1], C)), np.full(C, -1e3)
    weight[:, present], bias[present] = fitted.feature_log_prob_.T, fitted.class_log_prior_
    return weight, bias


def _logistic(
    x: sparse.csr_matrix, y: np.ndarray, w: np.ndarray, C: int, strength: float
) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.linear_model import LogisticRegression

    present = np.unique(y)
    if len(present) == 1:
        return _constant(x.shape[1], C, int(present[0]))
    fitted = LogisticRegression(C=strength, max_iter=1000, tol=1e-4).fit(x, y, w)
    coefficients, intercepts = fitted.coef_.T, fitted.intercept_  # (F, C), or (F, 1) for two labels
    if len(present) == 2:  # softmax over (0, z) is the sigmoid of z
        coefficients = np.concatenate([np.zeros_like(coefficients), coefficients], axis=1)
        intercepts = np.concatenate([[0.0], intercepts])
    weight, bias = np.zeros((x.shape[1], C)), np.full(C, -1e3)
    weight[:, present], bias[present] = coefficients, intercepts
    return weight, bias


def _nb_svm(
    x: sparse.csr_matrix, y: np.ndarray, w: np.ndarray, C: int, strength: float, *, alpha: float, beta: float
) -> tuple[np.ndarray, np.ndarray]:
    """One against the others; for two labels, each gets half of the single margin."""
    from sklearn.svm import LinearSVC

    present = np.unique(y)
    if len(present) == 1:
        return _constant(x.shape[1], C, int(present[0]))
    weight, bias = np.zeros((x.shape[1], C)), np.full(C, -1e3)
    for label in present[: 1 if len(present) == 2 else None]:
        own = y == label
        p, q = (alpha + np.asarray(x[side].sum(axis=0)).ravel() for side in (own, ~own))
        # r = log((p / ‖p‖₁) / (q / ‖q‖₁))
        ratio = np.log(p / p.sum()) - np.log(q / q.sum())  # (F,)
        fitted = LinearSVC(C=strength, random_state=0, max_iter=5000).fit(x.multiply(ratio).tocsr(), own, w)
        coefficients = fitted.coef_[0]  # (F,)
        if beta < 1:
            # w' = (1 − β) ‖w‖₁ / F + β w
            coefficients = (1 - beta) * np.abs(coefficients).mean() + beta * coefficients
        weight[:, label], bias[label] = coefficients * ratio, fitted.intercept_[0]
        if len(present) == 2:
            weight[:, present[1]], bias[present[1]] = -weight[:, label], -bias[label]
    return weight, bias


def _constant(F: int, C: int, label: int) -> tuple[np.ndarray, np.ndarray]:
    bias = np.full(C, -1e3)
    bias[label] = 0.0
    return np.zeros((F, C)), bias
