"""Quality filter: documents that resemble good text, selected as for GPT-3 (Brown et al. 2020, appendix A).

Logistic regression on hashed words separates good text from raw text. A raw document d is kept where

    X > 1 − P(good | d),   X ~ Pareto(α) as NumPy draws it (Lomax),   so with probability (2 − P(good | d))^−α

α = 9 keeps every document with P = 1, 2.6 % at P = ½ and 0.2 % at P = 0, so that some unusual documents stay.

Differences from the paper: X is computed from a hash of the document and the seed, so the order of documents does not
matter; there are two models, each fitted on one half of the documents, and each document is scored by the model that
was not fitted on its half; scikit-learn is used instead of Spark.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from statistics import median
from typing import Literal, NotRequired, TypedDict

import numpy as np
from pydantic import Field

from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.clean.splitting import hash_fraction
from langladder.text.read.files import TextSource
from langladder.text.words.segmentation import InstalledWords, splitter_of

MIN_HALF = 2  # documents that a model needs in each half
MAX_LENGTH_RATIO = 3.0  # of median lengths; beyond it a model may learn the length alone


class QualitySettings(Config):
    """Features and regularisation of the classifier, and the rule by which raw text is kept."""

    alpha: float = Field(default=9.0, gt=0)  # of the Pareto rule: higher keeps fewer documents with low scores
    threshold: float | None = Field(default=None, ge=0, le=1)  # instead of the rule: keep scores from here on
    good_weight: float = Field(default=1.0, gt=0)  # weight of good documents in the fit: higher keeps more
    unit: Literal["words", "characters"] = "words"  # characters: n-grams inside words, which detect noise in words
    ngrams: int = Field(default=1, ge=1, le=5)  # n-grams up to this n; the paper uses single words
    features: int = Field(default=2**18, ge=2, le=2**24)  # n-grams are hashed to so many features
    c: float = Field(default=1.0, gt=0)  # inverse regularisation strength, as in scikit-learn
    max_documents: int = Field(default=10_000, ge=4)  # of each kind, to fit on
    words: InstalledWords = "auto"  # what a word is


class QualityConfig(QualitySettings):
    """The quality filter, and the text that is its example of good text."""

    good: TextSource


def keep_probability(score: float, alpha: float) -> float:
    """P(X > 1 − score) of a Lomax variable: (1 + (1 − score))^−α."""
    return float((2.0 - score) ** -alpha)


def pareto(u: float, alpha: float) -> float:
    """Quantile u in [0, 1) of the Lomax distribution, which `numpy.random.pareto(alpha)` draws from."""
    # F(x) = 1 − (1 + x)^−α, so x = (1 − u)^(−1/α) − 1
    return float((1.0 - u) ** (-1.0 / alpha) - 1.0)


class SampleReport(TypedDict):
    """Of the documents of one kind: how many, how long, their scores; with the Pareto rule the share that stays."""

    fitted_on: int
    median_words: float
    mean_score: float
    expected_to_stay: NotRequired[float]


class QualityReport(TypedDict):
    """How well good documents and raw ones are separated."""

    area_under_roc_curve: float
    good: SampleReport
    raw: SampleReport


@dataclass(frozen=True)
class FitReport:
    """How well the two models separate good documents from raw documents that they were not fitted on.

    Attributes:
        area: area under the ROC curve: P(a good document scores higher than a raw one).
        good, raw: (N,) scores of the documents of the sample, each by the model of the other half.
        words: number of words of the median document, by kind.
    """

    area: float
    good: np.ndarray
    raw: np.ndarray
    words: dict[str, float]

    @property
    def warnings(self) -> list[str]:
        """Problems of the comparison."""
        good, raw = self.words["good"], self.words["raw"]
        if max(good, raw) <= MAX_LENGTH_RATIO * min(good, raw):
            return []
        return [
            f"the median document has {good:,.0f} words of good text and {raw:,.0f} of raw text, so a model can "
            "separate them by length; set `documents` so that both are cut alike (conf/filter/quality.yaml)"
        ]

    def report(self, settings: QualitySettings) -> QualityReport:
        """Figures for filter.json; with the Pareto rule also the expected share of documents that stay."""
        good, raw = self._sample(self.good, "good", settings), self._sample(self.raw, "raw", settings)
        return {"area_under_roc_curve": round(self.area, 4), "good": good, "raw": raw}

    def _sample(self, scores: np.ndarray, kind: str, settings: QualitySettings) -> SampleReport:
        report: SampleReport = {
            "fitted_on": len(scores),
            "median_words": self.words[kind],
            "mean_score": round(float(scores.mean()), 4),
        }
        if settings.threshold is None:
            kept = sum(keep_probability(float(score), settings.alpha) for score in scores) / len(scores)
            report["expected_to_stay"] = round(kept, 4)
        return report


class QualityModel:
    """Scores documents between 0 (raw) and 1 (good).

    Args:
        weights: (2, F + 1) coefficients and intercept of both models; None: call `fit` first.
    """

    def __init__(self, settings: QualitySettings, seed: int, weights: np.ndarray | None = None) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer  # takes a second to import

        self.settings, self.seed, self.weights = settings, seed, weights
        sizes: dict[str, object] = {"n_features": settings.features, "ngram_range": (1, settings.ngrams)}
        if settings.unit == "words":
            sizes |= {"tokenizer": splitter_of(settings.words), "token_pattern": None}
        self._vectorizer = HashingVectorizer(analyzer="word" if settings.unit == "words" else "char_wb", **sizes)

    def fit(self, good: Iterable[str], raw: Iterable[str]) -> FitReport:
        """Fit both models on samples of good and raw documents.

        Raises:
            InputError: too few different documents of one kind.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score

        samples = {"good": self._sample(good, "good"), "raw": self._sample(raw, "raw")}
        weights = []
        for half in (0, 1):
            good_texts, raw_texts = samples["good"][half], samples["raw"][half]
            # both kinds weigh the same, whatever their numbers; then good_weight applies
            balance = {1: self.settings.good_weight * len(raw_texts) / len(good_texts), 0: 1.0}
            model = LogisticRegression(C=self.settings.c, class_weight=balance, max_iter=1000)
            features = self._vectorizer.transform([*good_texts, *raw_texts])  # (D, F), sparse
            model.fit(features, [1] * len(good_texts) + [0] * len(raw_texts))
            weights.append(np.append(model.coef_[0], model.intercept_))  # (F + 1,)
        self.weights = np.stack(weights)

        scores, words = {}, {}
        for kind, halves in samples.items():
            scores[kind] = np.concatenate([self._predict(halves[half], 1 - half) for half in (0, 1)])
            words[kind] = median(len(text.split()) for half in halves for text in half)
        labels = [1] * len(scores["good"]) + [0] * len(scores["raw"])
        area = float(roc_auc_score(labels, np.concatenate([scores["good"], scores["raw"]])))
        return FitReport(area, scores["good"], scores["raw"], words)

    def _sample(self, texts: Iterable[str], kind: str) -> list[list[str]]:
        halves = sample_halves(texts, self.settings.max_documents // 2, self.seed)
        if (fewest := min(map(len, halves))) < MIN_HALF:
            raise InputError(
                f"quality: one half of the {kind} documents is {fewest} of them, too few to learn from ({MIN_HALF} at "
                "least); give more text, or set `documents` to what ends a document in your files"
            )
        return halves

    def _predict(self, texts: Sequence[str], model: int) -> np.ndarray:
        """(D,) P(good | document) by one of the two models."""
        from scipy.special import expit

        assert self.weights is not None, "fit first"
        weights = self.weights[model]
        scores: np.ndarray = expit(self._vectorizer.transform(texts) @ weights[:-1] + weights[-1])
        return scores

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        """(D,) P(good | document), each by the model that was not fitted on its half."""
        halves = np.array([half_of(text, self.seed) for text in texts], dtype=np.int64)
        scores = np.zeros(len(texts))
        for half in (0, 1):
            if (rows := np.flatnonzero(halves == half)).size:
                scores[rows] = self._predict([texts[int(row)] for row in rows], 1 - half)
        return scores

    def keeps(self, text: str, score: float) -> bool:
        """Whether a document with this score is kept; a function of text, score and seed."""
        if self.settings.threshold is not None:
            return score >= self.settings.threshold
        # numpy.random.pareto(α) > 1 − score
        return pareto(hash_fraction(["quality", text], self.seed), self.settings.alpha) > 1.0 - score


def half_of(text: str, seed: int) -> int:
    """The half of a document, 0 or 1."""
    return int(hash_fraction(["half", text], seed) >= 0.5)


def sample_halves(texts: Iterable[str], size: int, seed: int) -> list[list[str]]:
    """Of each half the `size` texts with the lowest hashes, in the order of their hashes: independent of their order.

    At most twice as many texts are in memory.
    """
    halves: list[list[tuple[float, str]]] = [[], []]
    for text in texts:
        candidates = halves[half_of(text, seed)]
        candidates.append((hash_fraction(["sample", text], seed), text))
        if len(candidates) >= 2 * size:
            candidates[:] = nsmallest(size, candidates)
    return [[text for _, text in nsmallest(size, candidates)] for candidates in halves]
