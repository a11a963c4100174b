"""`Comparison` of classifiers: on the labelled texts, or on reviews that the experiment draws itself.

A variant can get the words of every text in random order (`shuffled`). In a `VectorComparison`, it can also start with
vectors of the unlabelled text (`vectors`), which can be frozen (`frozen`).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field

from claims.comparison import Change, Measure, Scored, Values
from claims.declaration import Metric
from claims.reading.drawn_reviews import drawn_reviews, operators
from claims.reading.reading_training import (
    LEAST,
    ReadingConfig,
    Texts,
    corpus,
    fitted,
    majority,
    right_labels,
    scored,
    subset,
)
from claims.reading.rung_comparison import RungComparison, RungComparisonConfig
from claims.reading.rungs import ClassifierRung
from claims.reading.small_vectors import small_vectors
from langladder.data.batches import generator
from langladder.embeddings.base import WordVectors
from langladder.experiments.experiment import Data, Source
from langladder.ground import schema
from langladder.models.classification.neural_classifier import NeuralClassifier
from langladder.text.labelled.labelled import Example


class ReadingComparisonConfig(ReadingConfig, RungComparisonConfig):
    """Settings of `LabelComparison`."""

    INPUTS: ClassVar[dict[str, type]] = {"shuffled": bool}
    rungs: dict[str, ClassifierRung] = Field(min_length=1)
    metric: Literal["accuracy", "loss"] = "accuracy"
    labels: int | None = Field(default=None, ge=LEAST)  # drawn for each seed, a fifth for validation; null: all


class LabelComparison(RungComparison[ReadingComparisonConfig]):
    """Variants of classifiers on the labelled texts."""

    Config: ClassVar[type[schema.Config]] = ReadingComparisonConfig
    reads: ClassVar[tuple[Source, ...]] = ("clean/labels",)
    majority: float  # share of the most frequent label among the test texts
    metrics: ClassVar[dict[str, Metric]] = {
        "accuracy": Metric("accuracy", more_is_better=True),
        "loss": Metric("−log P per text", drawn=False),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        whole = self.texts(data)
        self.majority = majority(whole.test)
        self.remark = self.part(whole, seeds[0]).remark()

        def trial(base: str, change: Change, seed: int) -> Scored:
            rung, model, rest = self.config.variant(base, change)
            texts, extra = self.part(whole, seed), self.config.extra(rest)
            if extra.get("shuffled"):
                texts = Texts(texts.labels, *(shuffled(part, seed) for part in texts[1:]))
            training = self.config.training_of(rung, **self.config.trained(rest)) if rung.training else None
            config = rung.config(**model)
            reader = self.fit(data, rung, texts, training, seed=seed, model=config, extra=extra)
            return learnt(reader), self.measures(reader, texts.test)

        return trial

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`."""
        del data
        return {"accuracy": self.majority}

    def fit(self, data: Data, rung: Any, texts: Texts, training: Any, *, seed: int, model: Any, extra: Any) -> Any:
        """A trained classifier: a rung with these settings and inputs."""
        return fitted(rung, texts, training, seed=seed, model=model, **self.begun(data, model, extra))

    def texts(self, data: Data) -> Texts:
        """All texts of the experiment."""
        return corpus(data, self.config)

    def part(self, whole: Texts, seed: int) -> Texts:
        """The texts of the networks of one seed."""
        count = self.config.labels
        return whole if count is None else subset(whole, max(LEAST, self.config.fewer(count)), seed)

    def measures(self, result: Any, test: Sequence[Example]) -> Values:
        """Metric → value."""
        accuracy, log_prob = scored(result, test)
        return {"accuracy": accuracy, "loss": -log_prob}

    def begun(self, data: Data, config: Any, extra: dict[str, object]) -> dict[str, Any]:
        """The initial vectors of a network, see `reading_training.fitted`."""
        del data, config, extra
        return {}


class VectorComparisonConfig(ReadingComparisonConfig):
    """Settings of `VectorComparison`."""

    INPUTS: ClassVar[dict[str, type]] = {"shuffled": bool, "vectors": bool, "frozen": bool}
    vector_epochs: int = Field(default=5, ge=1)
    vector_lines: int = Field(default=50_000, ge=1)  # lines of text for training the vectors


class VectorComparison(LabelComparison):
    """Variants of classifiers that can start with vectors of the unlabelled text."""

    Config: ClassVar[type[schema.Config]] = VectorComparisonConfig
    reads: ClassVar[tuple[Source, ...]] = ("clean/labels", "clean/text")
    config: VectorComparisonConfig

    @cached_property
    def _vectors(self) -> dict[int, WordVectors]:
        return {}

    def begun(self, data: Data, config: Any, extra: dict[str, object]) -> dict[str, Any]:
        """See `LabelComparison.begun`."""
        if not extra.get("vectors"):
            return {}
        dim = config.embedding_dim
        if dim not in self._vectors:
            how = {"epochs": self.config.vector_epochs, "lines": self.config.vector_lines}
            self._vectors[dim] = small_vectors(data, dim=dim, seed=1, **how)
        return {"vectors": self._vectors[dim], "frozen": bool(extra.get("frozen"))}


class ReviewComparisonConfig(ReadingComparisonConfig):
    """Settings of `ReviewComparison`."""

    metric: Literal["accuracy", "loss", "composed"] = "accuracy"  # type: ignore[assignment]
    train_texts: int = Field(default=2000, ge=8)  # an eighth as many more select the weights
    test_texts: int = Field(default=500, ge=8)


class ReviewComparison(LabelComparison):
    """Variants of classifiers on reviews of microworld, negative or positive, drawn by the experiment."""

    Config: ClassVar[type[schema.Config]] = ReviewComparisonConfig
    reads: ClassVar[tuple[Source, ...]] = ()
    metrics: ClassVar[dict[str, Metric]] = {
        **LabelComparison.metrics,
        "composed": Metric("accuracy of texts with not, but, although, …", more_is_better=True),
    }
    config: ReviewComparisonConfig

    def texts(self, data: Data) -> Texts:
        """See `LabelComparison.texts`; train is drawn last, so that it contains no text of another split."""
        del data
        config, before = self.config, set[str]()
        how: dict[str, Any] = {"degrees": False, "before": before}
        test = drawn_reviews(max(40, config.fewer(config.test_texts)), seed=1, **how)
        validation = drawn_reviews(max(40, config.fewer(config.train_texts) // 8), seed=2, **how)
        train = drawn_reviews(max(40, config.fewer(config.train_texts)), seed=3, **how)
        return Texts(["negative", "positive"], train, validation, test)

    def part(self, whole: Texts, seed: int) -> Texts:
        """See `LabelComparison.part`."""
        del seed
        return whole

    def measures(self, result: Any, test: Sequence[Example]) -> Values:
        """See `LabelComparison.measures`."""
        composed = [example for example in test if operators(example)]
        return {**super().measures(result, test), "composed": float(right_labels(result, composed).mean())}


def shuffled(examples: Sequence[Example], seed: int) -> list[Example]:
    """The same texts, with the words of each in random order and without trees."""
    random, shuffled_rows = generator(seed, 1), []
    for example in examples:
        words = example.text.split()
        text = " ".join(words[index] for index in random.permutation(len(words)))
        shuffled_rows.append(Example(text, example.second, example.label))
    return shuffled_rows


def learnt(model: Any) -> int:
    """The number of trained parameters; for a network, those that are not frozen."""
    if isinstance(model, NeuralClassifier):
        return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    return int(model.number_of_parameters())
