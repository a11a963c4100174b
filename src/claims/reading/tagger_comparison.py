"""`Comparison` of taggers: on the tagged sentences, or on names of microworld that the experiment draws itself.

Rungs of the ladder are trained in a simple loop, with the loss of `tasks.tagging`. Words can be hidden, in training and
in the test. A tagger must predict the tag of a hidden word from its neighbours, as for every unknown word.

Shape legend: B sentences, T words.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import islice
from random import Random
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field

from claims.comparison import Change, Measure, Scored
from claims.declaration import Metric
from claims.reading.reading_training import HELD
from claims.reading.rung_comparison import RungComparison, RungComparisonConfig
from claims.reading.rungs import TaggerRung
from claims.training import train
from langladder.data.batches import generator
from langladder.experiments.experiment import Data, Source, Split
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.neural_tagger import NeuralTagger
from langladder.models.tagging.tagger import Tagger
from langladder.models.tagging.tagger_words import SentenceBatch, TaggerWords
from langladder.tasks.settings import TaggerTraining
from langladder.tasks.tagging import TaggedBatch, TaggedBatches, Tagging
from langladder.text.labelled.labelled import Tagged, bad_steps
from microworld.corpora import draw_names

HIDDEN = "<hidden>"
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
VALIDATIONS = 5
"""Number of validations during training."""


class Sentences(NamedTuple):
    """Tagged sentences for training, validation and testing."""

    tags: list[str]
    train: Sequence[Tagged]
    validation: Sequence[Tagged]
    test: Sequence[Tagged]


def hidden(sentences: Sequence[Tagged], share: float, *key: int) -> list[Tagged]:
    """The same sentences with this share of their words hidden; `key` is the seed of the selection."""
    random = generator(*key)
    return [
        sentence._replace(
            words=tuple(
                HIDDEN if gone else word
                for word, gone in zip(sentence.words, random.random(len(sentence.words)) < share, strict=True)
            )
        )
        for sentence in sentences
    ]


def fitted_tagger(
    rung: TaggerRung,
    sentences: Sentences,
    training: TaggerTraining,
    *,
    seed: int,
    model: Mapping[str, object],
) -> NeuralTagger:
    """A trained network, with its best weights on the validation sentences, by accuracy of words.

    Args:
        model: changes to the settings of the rung.
    """
    read_as = rung.input
    words = TaggerWords.of(
        sentences.train, lowercase=read_as.lowercase, digits=read_as.digits, min_count=read_as.min_count
    )
    torch.manual_seed(seed)
    network: NeuralTagger = rung.kind(rung.config(**model), *words.sizes, len(sentences.tags))
    network.equip(words, sentences.tags)
    encoded = [network.encode(sentence.words) for sentence in sentences.train]
    lengths = [len(sentence.ids) for sentence in encoded]
    tags = np.split(tag_ids(sentences.train, network.tags), np.cumsum(lengths)[:-1])

    def batch(_training: bool, rows: np.ndarray) -> TaggedBatch[SentenceBatch]:
        collated = words.collate([encoded[row] for row in rows])
        padded = np.zeros(collated.tokens.shape, dtype=np.int64)  # (B, T)
        for number, row in enumerate(rows):
            padded[number, : lengths[row]] = tags[row]
        return TaggedBatch(collated, torch.from_numpy(padded))

    batches = TaggedBatches((lengths, []), batch, batch_size=training.batch_size, seed=seed)
    counts = np.bincount(np.concatenate([sentence.ids for sentence in encoded]), minlength=network.vocab_size)
    task = Tagging(network, training, counts)
    best: tuple[float, dict[str, torch.Tensor]] | None = None
    every = max(1, -(-training.max_steps // VALIDATIONS))

    def look(step: int) -> None:
        nonlocal best
        if sentences.validation and (step % every == 0 or step == training.max_steps):
            score = float(words_right(network, sentences.validation).mean())
            if best is None or score > best[0]:
                best = score, deepcopy(network.state_dict())

    train(network, lambda step: task.loss(batches.train(step)), training, look)
    if best is not None:
        network.load_state_dict(best[1])
    return network


def words_right(tagger: Tagger, sentences: Sequence[Tagged]) -> np.ndarray:
    """Whether each word gets the right tag, in the order of the sentences: (words,) bool."""
    tags = tagger.tag([sentence.words for sentence in sentences])
    return np.array(
        [
            predicted == tag
            for row, sentence in zip(tags, sentences, strict=True)
            for predicted, tag in zip(row, sentence.tags or (), strict=True)
        ]
    )


LEAST = 32
"""Minimum number of sentences at any effort."""


class TaggerComparisonConfig(RungComparisonConfig):
    """Settings of `TaggerComparison`."""

    rungs: dict[str, TaggerRung] = Field(min_length=1)
    metric: Literal["accuracy", "hidden"] = "accuracy"
    hidden: float = Field(default=0.2, ge=0, lt=1)  # share of hidden words
    max_steps: int = Field(default=300, ge=2)  # steps of each network, at effort 1
    batch_size: int = Field(default=16, ge=1)
    train_sentences: int | None = Field(default=None, ge=1)  # a fifth of them for validation; null: all
    test_sentences: int = Field(default=400, ge=1)  # at most so many, at effort 1 and above, from the start

    def training_of(self, rung: TaggerRung, **changes: Any) -> TaggerTraining:
        """Training settings of a rung: those of its file, except the number of steps and the batch size."""
        steps = self.steps(changes.pop("max_steps", self.max_steps))
        values = {"max_steps": steps, "warmup_steps": steps // 10, "epochs": None, "batch_size": self.batch_size}
        training: TaggerTraining = rung.trained(**values | changes)
        return training


class TaggerComparison(RungComparison[TaggerComparisonConfig]):
    """Variants of taggers on the tagged sentences."""

    Config: ClassVar[type[schema.Config]] = TaggerComparisonConfig
    reads: ClassVar[tuple[Source, ...]] = ("clean/tags",)
    majority: float  # share of the most frequent tag in the test sentences
    metrics: ClassVar[dict[str, Metric]] = {
        "accuracy": Metric("accuracy", more_is_better=True),
        "hidden": Metric("accuracy of hidden words", more_is_better=True),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        config, whole = self.config, self.sentences(data)
        parts = [hidden(part, config.hidden, number) for number, part in enumerate(whole[1:])]
        sentences = Sentences(whole.tags, *parts)
        self.remark = (
            f"; {len(sentences.train):,} sentences to train on, {len(sentences.validation):,} others select the weights"
        )
        tags = Counter(tag for sentence in sentences.test for tag in sentence.tags or ())
        self.majority = max(tags.values()) / tags.total()

        def trial(base: str, change: Change, seed: int) -> Scored:
            rung, model, rest = config.variant(base, change)
            training = config.training_of(rung, **config.trained(rest))
            tagger = fitted_tagger(rung, sentences, training, seed=seed, model=model)
            return tagger.number_of_parameters(), self.measures(tagger, sentences.test)

        return trial

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`."""
        del data
        return {"accuracy": self.majority}

    def sentences(self, data: Data) -> Sentences:
        """All sentences of the experiment; one in HELD of those for training and validation selects the weights.

        Raises:
            InputError: a split has no sentence, or there are fewer than `train_sentences`.
        """
        config, parts = self.config, dict[str, list[Tagged]]()
        for name in SPLITS:
            parts[name] = [sentence for sentence in data.sentences(name) if sentence.words]
            if not parts[name]:
                raise InputError(f"{data.tags}/{name}.parquet: no sentence; see the report of the stage `clean`")
        pool, count = [*parts["train"], *parts["validation"]], config.train_sentences
        if count is not None and config.fewer(count) > len(pool):
            raise InputError(
                f"claim.settings.train_sentences={count}: there are {len(pool)} tagged sentences for training and "
                "validation; set it lower, or to null"
            )
        pool = pool[: None if count is None else max(LEAST, config.fewer(count))]
        train = [sentence for number, sentence in enumerate(pool) if number % HELD]
        return Sentences(
            data.tag_names(), train, pool[::HELD], parts["test"][: max(LEAST, config.fewer(config.test_sentences))]
        )

    def measures(self, tagger: Tagger, test: Sequence[Tagged]) -> dict[str, float]:
        """Metric → value; if no word is hidden, all words count as hidden."""
        right = words_right(tagger, test)
        gone = np.array([word == HIDDEN for sentence in test for word in sentence.words])
        return {"accuracy": float(right.mean()), "hidden": float(right[gone].mean() if gone.any() else right.mean())}


class NameComparisonConfig(TaggerComparisonConfig):
    """Settings of `NameComparison`."""

    metric: Literal["accuracy", "hidden", "f1", "invalid"] = "f1"  # type: ignore[assignment]
    train_sentences: int = Field(default=1500, ge=1)  # drawn; as many as test sentences more select the weights


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
        test, before = max(LEAST, config.fewer(config.test_sentences)), set[tuple[str, ...]]()
        parts = list[list[Tagged]]()
        for count in (test, test, max(LEAST, config.fewer(config.train_sentences))):  # train has none of the others
            drawn = (Tagged(tuple(row["words"]), tuple(row["tags"])) for row in draw_names(Random(len(parts) + 1)))
            rows = list(islice((row for row in drawn if row.words not in before), count))
            before.update(row.words for row in rows)
            parts.append(rows)
        tags = sorted({tag for part in parts for row in part for tag in row.tags or ()})
        return Sentences(tags, parts[2], parts[1], parts[0])

    def measures(self, tagger: Tagger, test: Sequence[Tagged]) -> dict[str, float]:
        """See `TaggerComparison.measures`."""
        from seqeval.metrics import f1_score

        tagged = tagger.tag([sentence.words for sentence in test])
        invalid = sum(bool(bad_steps(row, "IOB2")) for row in tagged) / len(tagged)
        f1 = float(f1_score([list(sentence.tags or ()) for sentence in test], tagged, zero_division=0))
        return super().measures(tagger, test) | {"f1": f1, "invalid": invalid}
