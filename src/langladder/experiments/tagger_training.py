"""How the experiments train taggers: rungs of the ladder, in a bare loop, with the loss of `tasks.tagging`.

Words may be hidden, in training and in the test alike: a hidden word shows nothing of itself, so that its tag must come
from its neighbours. It is what a tagger meets in every word that it does not know.

Shape legend: B sentences, T words.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch

from langladder.data.batches import generator
from langladder.experiments.rungs import TaggerRung
from langladder.experiments.training import train
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.neural_tagger import NeuralTagger
from langladder.models.tagging.tagger import Tagger
from langladder.models.tagging.tagger_words import SentenceBatch, TaggerWords
from langladder.tasks.settings import TaggerTraining
from langladder.tasks.tagging import TaggedBatch, TaggedBatches, Tagging
from langladder.text.labelled.labelled import Tagged

HIDDEN = "<hidden>"
VALIDATIONS = 5
"""How often a tagger in training looks at the validation sentences."""


class Sentences(NamedTuple):
    """Tagged sentences: to learn from, to choose by, to measure on."""

    tags: list[str]
    train: Sequence[Tagged]
    validation: Sequence[Tagged]
    test: Sequence[Tagged]


def hidden(sentences: Sequence[Tagged], share: float, *key: int) -> list[Tagged]:
    """The same sentences, this share of their words hidden; which, is drawn for `key`."""
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
    """A network, trained; it ends with the weights that were best on the validation sentences, by words right.

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
    lengths = [len(one.ids) for one in encoded]
    tags = np.split(tag_ids(sentences.train, network.tags), np.cumsum(lengths)[:-1])

    def batch(_training: bool, rows: np.ndarray) -> TaggedBatch[SentenceBatch]:
        collated = words.collate([encoded[row] for row in rows])
        padded = np.zeros(collated.tokens.shape, dtype=np.int64)  # (B, T)
        for place, row in enumerate(rows):
            padded[place, : lengths[row]] = tags[row]
        return TaggedBatch(collated, torch.from_numpy(padded))

    batches = TaggedBatches((lengths, []), batch, batch_size=training.batch_size, seed=seed)
    counts = np.bincount(np.concatenate([one.ids for one in encoded]), minlength=network.vocab_size)
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
    """Whether each word gets its tag, sentence after sentence: (words,) bool."""
    found = tagger.tag([sentence.words for sentence in sentences])
    return np.array(
        [
            said == tag
            for row, one in zip(found, sentences, strict=True)
            for said, tag in zip(row, one.tags or (), strict=True)
        ]
    )
