"""`Comparison` of taggers: on the tagged sentences, or on names of microworld that the experiment draws itself.

Some words of every sentence may be hidden (`tagger_training`); how many of these get their tag says what a tagger makes
of the words around.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from langladder.corpora.labelled import TaggedWorldConfig, drawing
from langladder.corpora.lexicon import Size
from langladder.experiments.comparison import Measure, Metric
from langladder.experiments.experiment import Data, Source
from langladder.experiments.rung_comparison import RungComparison, RungComparisonConfig
from langladder.experiments.rungs import TaggerRung
from langladder.experiments.tagger_training import HIDDEN, Sentences, fitted_tagger, hidden, words_right
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.tagging.tagger import Tagger
from langladder.tasks.settings import TaggerTraining
from langladder.text.labelled.labelled import Tagged, bad_steps

LEAST = 32
"""Sentences below which no effort shortens a corpus."""


class TaggerComparisonConfig(RungComparisonConfig):
    """Settings of `TaggerComparison`."""

    rungs: dict[str, TaggerRung] = Field(min_length=1)
    metric: Literal["accuracy", "hidden"] = "accuracy"
    hidden: float = Field(default=0.2, ge=0, lt=1)  # share of the words that show nothing of themselves
    max_steps: int = Field(default=300, ge=2)  # of each network, at effort 1
    batch_size: int = Field(default=16, ge=1)
    train_sentences: int = Field(default=1500, ge=1)  # at effort 1 and above, the first
    test_sentences: int = Field(default=400, ge=1)  # likewise

    def training_of(self, rung: TaggerRung, **changes: Any) -> TaggerTraining:
        """How a rung is trained here: as its file says, but for the number of steps and the size of a batch."""
        steps = self.steps(changes.pop("max_steps", self.max_steps))
        values = {"max_steps": steps, "warmup_steps": steps // 10, "epochs": None, "batch_size": self.batch_size}
        found: TaggerTraining = rung.trained(**values | changes)
        return found


class TaggerComparison(RungComparison[TaggerComparisonConfig]):
    """Variants of taggers on the tagged sentences."""

    Config: ClassVar[type[schema.Config]] = TaggerComparisonConfig
    reads: ClassVar[tuple[Source, ...]] = ("clean/tags",)
    majority: float  # share of the most frequent tag in the test sentences
    metrics: ClassVar[dict[str, Metric]] = {
        "accuracy": Metric("accuracy", more_is_better=True),
        "hidden": Metric("accuracy of hidden words", more_is_better=True),
    }

    def measure(self, data: Data) -> Measure:
        """See `Comparison.measure`."""
        config, whole = self.config, self.sentences(data)
        parts = [hidden(part, config.hidden, number) for number, part in enumerate(whole[1:])]
        sentences = Sentences(whole.tags, *parts)
        tags = Counter(tag for sentence in sentences.test for tag in sentence.tags or ())
        self.majority = max(tags.values()) / tags.total()

        def one(rung: Any, model: dict[str, object], rest: dict[str, object], seed: int) -> Any:
            training = config.training_of(rung, **config.trained(rest))
            found = fitted_tagger(rung, sentences, training, seed=seed, model=model)
            return found.number_of_parameters(), self.measures(found, sentences.test)

        return one

    def frequencies(self, data: Data) -> dict[str, float]:
        """See `Comparison.frequencies`."""
        del data
        return {"accuracy": self.majority}

    def sentences(self, data: Data) -> Sentences:
        """All that the taggers may see.

        Raises:
            InputError: a split has no sentence.
        """
        most = [self.config.train_sentences, self.config.test_sentences, self.config.test_sentences]
        parts = []
        for name, count in zip(("train", "validation", "test"), most, strict=True):
            found = [one for one in data.sentences(name) if one.words]  # type: ignore[arg-type]
            if not found:
                raise InputError(f"{data.tags}/{name}.parquet: no sentence; see the report of the stage `clean`")
            parts.append(found[: max(LEAST, self.config.fewer(count))])
        return Sentences(data.tag_names(), *parts)

    def measures(self, found: Tagger, test: Sequence[Tagged]) -> dict[str, float]:
        """Metric → value; where no word is hidden, all words count as such."""
        right = words_right(found, test)
        gone = np.array([word == HIDDEN for sentence in test for word in sentence.words])
        return {"accuracy": float(right.mean()), "hidden": float(right[gone].mean() if gone.any() else right.mean())}


class NameComparisonConfig(TaggerComparisonConfig):
    """Settings of `NameComparison`."""

    metric: Literal["accuracy", "hidden", "f1", "invalid"] = "f1"  # type: ignore[assignment]
    world: Size = "small"


class NameComparison(TaggerComparison):
    """Variants of taggers on names of persons, places and organisations (IOB2), drawn by the experiment."""

    Config: ClassVar[type[schema.Config]] = NameComparisonConfig
    reads: ClassVar[tuple[Source, ...]] = ()
    metrics: ClassVar[dict[str, Metric]] = {
        **TaggerComparison.metrics,
        "f1": Metric("F₁ of names", more_is_better=True),
        "invalid": Metric("sentences with impossible tags, share"),
    }
    config: NameComparisonConfig

    def sentences(self, data: Data) -> Sentences:
        """See `TaggerComparison.sentences`."""
        del data
        config = self.config
        draw = drawing(TaggedWorldConfig(size=config.world, task="entities"))
        test, before = max(LEAST, config.fewer(config.test_sentences)), set[tuple[str, ...]]()
        parts = list[list[Tagged]]()
        for count in (test, test, max(LEAST, config.fewer(config.train_sentences))):  # train sees none of the others
            random, rows = Random(len(parts) + 1), list[Tagged]()
            while len(rows) < count:
                row = draw(random)
                if tuple(row["words"]) not in before:
                    rows.append(Tagged(tuple(row["words"]), tuple(row["tags"])))
            before.update(row.words for row in rows)
            parts.append(rows)
        tags = sorted({tag for part in parts for row in part for tag in row.tags or ()})
        return Sentences(tags, parts[2], parts[1], parts[0])

    def measures(self, found: Tagger, test: Sequence[Tagged]) -> dict[str, float]:
        """See `TaggerComparison.measures`."""
        from seqeval.metrics import f1_score

        said = found.tag([sentence.words for sentence in test])
        invalid = sum(bool(bad_steps(row, "IOB2")) for row in said) / len(said)
        f1 = float(f1_score([list(sentence.tags or ()) for sentence in test], said, zero_division=0))
        return super().measures(found, test) | {"f1": f1, "invalid": invalid}
