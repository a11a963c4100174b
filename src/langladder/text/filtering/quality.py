"""Quality: documents that read like good text, chosen as for GPT-3 (Brown et al. 2020, appendix A).

Logistic regression on hashed words tells good text from raw text. A raw document d stays where

    X > 1 − P(good | d),   X ~ Pareto(α) as NumPy draws it (Lomax),   so with probability (2 − P(good | d))^−α

α = 9 keeps every document that is surely good, 2.6 % at P = ½ and 0.2 % at P = 0: some that are unlike all good text.

What differs: X follows from a hash of the document and the seed, so that no order of documents matters; there are two
models, each fitted on one half of the documents, and a document is scored by the one that has not seen it; scikit-learn
hashes and fits in place of Spark.
"""

from collections.abc import Iterable, Sequence
from heapq import heappush, heapreplace
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field

from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.clean.spilled import mapped, save
from langladder.text.clean.splitting import place
from langladder.text.words.words import split_words

FEWEST = 2  # documents of a half, to fit a model on
UNLIKE = 3.0  # times as long are documents that their length tells apart


class QualitySettings(Config):
    """How good text is told from raw text, and how much of the raw text stays."""

    alpha: float = Field(default=9.0, gt=0)  # of the Pareto rule: higher keeps fewer of those that score low
    threshold: float | None = Field(default=None, ge=0, le=1)  # instead of the rule: keep what scores as high
    good_weight: float = Field(default=1.0, gt=0)  # a good document counts as so many raw ones: higher keeps more
    unit: Literal["words", "characters"] = "words"  # characters: n-grams inside words; noise in words shows there
    ngrams: int = Field(default=1, ge=1, le=5)  # features are n-grams up to this n; the paper has words alone
    features: int = Field(default=2**18, ge=2, le=2**24)  # what n-grams are hashed to
    c: float = Field(default=1.0, gt=0)  # scikit-learn's: higher regularises less
    max_documents: int = Field(default=10_000, ge=4)  # of the good and of the raw text, to fit on


def keep_probability(score: float, alpha: float) -> float:
    """P(X > 1 − score) of a Lomax variable: (1 + (1 − score))^−α."""
    return float((2.0 - score) ** -alpha)


def pareto(u: float, alpha: float) -> float:
    """The Lomax variable whose distribution function is u in [0, 1): what `numpy.random.pareto(alpha)` draws."""
    # F(x) = 1 − (1 + x)^−α, so x = (1 − u)^(−1/α) − 1
    return float((1.0 - u) ** (-1.0 / alpha) - 1.0)


class Sample:
    """So many texts of a stream, whichever come lowest in the order of their hashes: the same of every order."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._heap: list[tuple[float, str]] = []  # the highest place first

    def add(self, at: float, text: str) -> None:
        """Look at a text whose place is `at`."""
        if len(self._heap) < self.size:
            heappush(self._heap, (-at, text))
        elif -at > self._heap[0][0]:
            heapreplace(self._heap, (-at, text))

    def texts(self) -> list[str]:
        """The texts, in the order of their hashes."""
        return [text for _, text in sorted(self._heap, reverse=True)]


class Told(NamedTuple):
    """How well two models tell good documents from raw ones that they have not seen.

    Attributes:
        area: P(a good document scores higher than a raw one), the area under the ROC curve.
        good, raw: (N,) scores of the documents that were fitted on, each by the other half's model.
        words: of the median document of each sort.
    """

    area: float
    good: np.ndarray
    raw: np.ndarray
    words: dict[str, float]

    @property
    def warnings(self) -> list[str]:
        """What is wrong with the comparison."""
        good, raw = self.words["good"], self.words["raw"]
        if max(good, raw) <= UNLIKE * min(good, raw):
            return []
        return [
            f"the median document has {good:,.0f} words of good text and {raw:,.0f} of raw text, by which a model "
            "tells them; set `documents` so that both are cut alike (conf/filter/quality.yaml)"
        ]


class QualityModel:
    """Scores documents between 0 (raw) and 1 (good); `fit` first."""

    def __init__(self, settings: QualitySettings, seed: int) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer  # takes a second to import

        self.settings, self.seed = settings, seed
        sizes: dict[str, Any] = {"n_features": settings.features, "ngram_range": (1, settings.ngrams)}
        if settings.unit == "words":
            sizes |= {"tokenizer": _words, "token_pattern": None}
        self._hashed = HashingVectorizer(analyzer="word" if settings.unit == "words" else "char_wb", **sizes)
        self._models: list[Any] = []

    def save(self, path: Path) -> None:
        """Write what was learnt."""
        assert self._models, "fit first"
        save(path, np.stack([np.append(model.coef_[0], model.intercept_) for model in self._models]))

    @classmethod
    def opened(cls, settings: QualitySettings, seed: int, path: Path) -> Self:
        """What another one saved, mapped."""
        from sklearn.linear_model import LogisticRegression

        new = cls(settings, seed)
        for learnt in np.asarray(mapped(path)):
            model = LogisticRegression()
            model.coef_, model.intercept_, model.classes_ = learnt[None, :-1], learnt[-1:], np.array([0, 1])
            new._models.append(model)
        return new

    def fit(self, good: Iterable[str], raw: Iterable[str]) -> Told:
        """Learn to tell good documents from raw ones.

        Raises:
            InputError: too few different documents of one sort.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score

        samples = {"good": self._halves(good, "good"), "raw": self._halves(raw, "raw")}
        self._models = []
        for half in (0, 1):
            texts = [*samples["good"][half], *samples["raw"][half]]
            labels = [1] * len(samples["good"][half]) + [0] * len(samples["raw"][half])
            # both sorts weigh the same, however many there are of each; then the good ones as much more as is asked for
            weights = {1: self.settings.good_weight * len(samples["raw"][half]) / len(samples["good"][half]), 0: 1.0}
            model = LogisticRegression(C=self.settings.c, class_weight=weights, max_iter=1000)
            self._models.append(model.fit(self._hashed.transform(texts), labels))
        scores = {
            kind: np.concatenate([self._scored(halves[half], 1 - half) for half in (0, 1)])
            for kind, halves in samples.items()
        }
        labels = [1] * len(scores["good"]) + [0] * len(scores["raw"])
        area = float(roc_auc_score(labels, np.concatenate([scores["good"], scores["raw"]])))
        lengths = {
            kind: median(len(text.split()) for half in halves for text in half) for kind, halves in samples.items()
        }
        return Told(area, **scores, words=lengths)

    def _halves(self, texts: Iterable[str], kind: str) -> list[list[str]]:
        halves = [Sample(self.settings.max_documents // 2) for _ in range(2)]
        for text in texts:
            halves[self._half(text)].add(place(["sample", text], self.seed), text)
        if (fewest := min(len(half.texts()) for half in halves)) < FEWEST:
            raise InputError(
                f"quality: one half of the {kind} documents is {fewest} of them, too few to learn from ({FEWEST} at "
                "least); give more text, or set `documents` to what ends a document in your files"
            )
        return [half.texts() for half in halves]

    def _half(self, text: str) -> int:
        return int(place(["half", text], self.seed) >= 0.5)

    def _scored(self, texts: Sequence[str], model: int) -> np.ndarray:
        scores: np.ndarray = self._models[model].predict_proba(self._hashed.transform(texts))[:, 1]
        return scores

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        """(D,) P(good | document) of each, by the model that was not fitted on its half."""
        halves = np.array([self._half(text) for text in texts], dtype=np.int64)
        found = np.zeros(len(texts))
        for half in (0, 1):
            if (mine := np.flatnonzero(halves == half)).size:
                found[mine] = self._scored([texts[int(number)] for number in mine], 1 - half)
        return found

    def keeps(self, text: str, score: float) -> bool:
        """Whether a document with this score stays: always the same for the same text and seed."""
        if self.settings.threshold is not None:
            return score >= self.settings.threshold
        # numpy.random.pareto(α) > 1 − score
        return pareto(place(["quality", text], self.seed), self.settings.alpha) > 1.0 - score


def _words(text: str) -> list[str]:
    return split_words(text, "auto")
