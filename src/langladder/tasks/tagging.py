"""Tagging: words → one tag per word. The loss is the negative log-likelihood of the tags, for every network.

L = −(1/N) Σ log P(y | x)   over the sentences of a batch; N is their number of words
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Generic, NamedTuple, cast

import numpy as np
import torch

from langladder.data.reading import ReadingBatches
from langladder.embeddings.base import WordVectors
from langladder.formats.vector_files import read_vectors
from langladder.ground.errors import Damage, InputError
from langladder.models.making import Run, TrainingResult
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.network_tagger import AnyTagger, Batch, NetworkTagger, Sentence
from langladder.models.tagging.neural_tagger import NeuralTagger, NeuralTaggerConfig
from langladder.models.tagging.tagger_words import TaggerWords
from langladder.models.tagging.word_features import count_features
from langladder.tasks.inputs import check_dimension, spellings, start_embedding
from langladder.tasks.settings import ReadingSettings, TaggerInput, TaggerTraining, TaggingTraining
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.text.labelled.labelled import Tagged, phrases_of, scheme_of
from langladder.text.tokenize.specials import NAMES
from langladder.text.words.normalisation import lower_of

ACCURACY, ENTITY_F1 = "validation_accuracy", "validation_entity_f1"


class TaggedBatch(NamedTuple, Generic[Batch]):
    """Sentences in the tagger's input format, and their tags (B, T) int64, 0 at padding."""

    sentences: Batch
    tags: torch.Tensor


class TaggedBatches(ReadingBatches[TaggedBatch[Batch]]):
    """Batches of sentences of similar length."""

    def size(self, batch: TaggedBatch[Batch]) -> int:
        """The number of words."""
        return int(batch.sentences.lengths.sum())


class Tagging(Task, Generic[Sentence, Batch]):
    """Any tagger network. The best weights have the highest F₁ of phrases, the highest accuracy, or the lowest loss.

    Args:
        counts: (V,) how often each word occurs in training; None: no word is hidden.

    Raises:
        InputError: the weights should be selected by phrases, but the tags mark no phrases.
    """

    unit = "words"

    def __init__(
        self, model: NetworkTagger[Sentence, Batch], config: TaggingTraining, counts: np.ndarray | None
    ) -> None:
        super().__init__(config)
        self.model = model
        self.phrases = scheme_of(model.tags) is not None
        if config.early_stopping == "entity_f1" and not self.phrases:
            raise InputError(
                "training.early_stopping=entity_f1: the tags mark no phrases (IOB2, IOBES); set it to auto"
            )
        if config.early_stopping != "validation_loss":
            by_phrase = self.phrases and config.early_stopping != "accuracy"
            self.monitor, self.mode = ENTITY_F1 if by_phrase else ACCURACY, "max"
        self.register_buffer("dropped", _dropped(config, counts), persistent=False)

    def loss(self, batch: TaggedBatch[Batch]) -> torch.Tensor:
        """Mean −log P(tags | words) in nats per word, with some words treated as unknown."""
        dropped = cast(torch.Tensor | None, self.dropped)
        sentences = batch.sentences if dropped is None else self.model.hide(batch.sentences, dropped)
        loss: torch.Tensor = self.model.loss(self.model(sentences), sentences, batch.tags) / sentences.lengths.sum()
        return loss

    def evaluate(self, batch: TaggedBatch[Batch]) -> tuple[float, int]:
        """Summed −log P(tags | words), and the number of words."""
        sentences, tags = batch
        f = self.model(sentences)
        best = self.model.best(f.float(), sentences.lengths).to(tags.device)  # (B, T)
        self.tally["right"] += int(((best == tags) & self.model.inside(sentences)).sum())
        self.tally["total"] += int(sentences.lengths.sum())
        if self.phrases:
            self._count_phrases(best.tolist(), tags.tolist(), sentences.lengths.tolist())
        return float(self.model.loss(f, sentences, tags)), int(sentences.lengths.sum())

    def _count_phrases(self, best: list[list[int]], gold: list[list[int]], lengths: list[int]) -> None:
        names = self.model.tags
        for *rows, length in zip(best, gold, lengths, strict=True):
            predicted, right = ({*phrases_of([names[tag] for tag in row[:length]])} for row in rows)
            self.tally["phrases right"] += len(predicted & right)
            self.tally["phrases"] += len(predicted) + len(right)

    def measures(self) -> dict[str, float]:
        """Share of the validation words with the correct tag; for phrases, F₁ = 2 |right ∩ found| / (|right| +
        |found|)."""
        accuracy = {ACCURACY: self.tally["right"] / max(1, self.tally["total"])}
        if not self.phrases:
            return accuracy
        return accuracy | {ENTITY_F1: 2 * self.tally["phrases right"] / max(1, self.tally["phrases"])}


def _dropped(config: TaggingTraining, counts: np.ndarray | None) -> torch.Tensor | None:
    """(V,) float32: the probability that each word is treated as unknown."""
    if counts is None or not isinstance(config, TaggerTraining):
        return None
    alpha = config.word_dropout
    # α / (α + n)
    return torch.from_numpy(np.where(counts > 0, alpha / (alpha + np.maximum(counts, 1)), 0.0)).float()


def train_tagger(
    model: NetworkTagger[Sentence, Batch],
    train: Sequence[Tagged],
    validation: Sequence[Tagged],
    config: TaggingTraining,
    run: Run,
) -> TrainingResult:
    """Train `model` in place; it ends with its best validation weights, on the CPU, in evaluation mode.

    Raises:
        InputError: there is no training sentence, the model does not know a tag, or the scheme of the tags forbids a
            transition in the data; see also `train_task`.
    """
    splits = [[sentence for sentence in split if sentence.words] for split in (train, validation)]
    if not splits[0]:
        raise InputError("tagging: no training sentence; see the report of the stage `clean`")
    _possible(model, [sentence for split in splits for sentence in split])
    encoded = [[model.encode(sentence.words) for sentence in split] for split in splits]
    lengths = [[len(sentence.ids) for sentence in split] for split in encoded]
    counts = [[len(sentence.words) for sentence in split] for split in splits]
    tags = [
        np.split(tag_ids(split, model.tags), np.cumsum(own)[:-1]) for split, own in zip(splits, counts, strict=True)
    ]

    def batch(training: bool, rows: np.ndarray) -> TaggedBatch[Batch]:
        side = 0 if training else 1
        sentences = model.collate([encoded[side][row] for row in rows])
        padded = np.zeros((len(rows), int(sentences.lengths.max())), dtype=np.int64)
        for position, row in enumerate(rows):
            padded[position, : counts[side][row]] = tags[side][row]
        return TaggedBatch(sentences, torch.from_numpy(padded))

    batches = TaggedBatches((lengths[0], lengths[1]), batch, batch_size=config.batch_size, seed=run.seed)
    config = config.of(len(splits[0]))
    if config.early_stopping == "auto" and all(set(sentence.tags or ()) <= {"O"} for sentence in splits[1]):
        config = config.model_copy(update={"early_stopping": "accuracy"})  # no phrases to select by
    task = Tagging(model, config, model.occurrences(encoded[0]))
    result = train_task(task, batches, config, run)
    model.cpu().eval()
    return result


def _possible(model: AnyTagger, sentences: Sequence[Tagged]) -> None:
    """Raise InputError if tags contain a transition that the model forbids: such a sentence has probability 0."""
    if model.crf is None or bool(model.crf.allowed.all()):
        return
    ids = {tag: position for position, tag in enumerate(model.tags)}
    steps = model.crf.allowed
    for sentence in sentences:
        path = [ids.get(tag, 0) for tag in sentence.tags or ()]
        bad = [position for position in range(1, len(path)) if not steps[path[position - 1], path[position]]]
        first, last = bool(model.crf.allowed_start[path[0]]), bool(model.crf.allowed_end[path[-1]])
        if bad or not first or not last:
            position = bad[0] if bad else 0 if not first else len(path) - 1
            tagged = " ".join(f"{w}/{t}" for w, t in list(zip(sentence.words, sentence.tags or (), strict=True))[:12])
            raise InputError(
                f"{tagged[:200]!r}: the tag of word {position + 1} breaks the scheme of the tags (IOB2 or IOBES); "
                "correct the data, or set model.constraints to false"
            )


def start_words(model: NeuralTagger, vectors: WordVectors, *, frozen: bool) -> None:
    """Start the input table with word vectors, scaled to the standard deviation of its rows; freeze it if requested.

    In a frozen table, a word without a vector is a row of zeros.

    Raises:
        InputError: the vectors have another dimension, or no word in common with the tagger.
    """
    dim = vectors.matrix.shape[1]
    check_dimension(model, model.embedding, dim)
    spelt = spellings(vectors, model.words.folded)
    rows = [position for position, word in enumerate(model.words.words) if word in spelt]
    if not rows:
        raise InputError("input.vectors: the vectors contain no word of the training sentences")
    results = torch.from_numpy(np.stack([vectors[spelt[model.words.words[position]]] for position in rows]))  # (N, D)
    if frozen:
        with torch.no_grad():
            model.embedding.weight.zero_()
    scaled = results / results.std().clamp(min=1e-12) * dim**-0.5
    start_embedding(model, model.embedding, np.array(rows) + len(NAMES), scaled.numpy(), frozen=frozen)


def make(
    kind: type[NeuralTagger],
    tags: Sequence[str],
    train: Sequence[Tagged],
    validation: Sequence[Tagged],
    *,
    settings: ReadingSettings[NeuralTaggerConfig, TaggerInput, TaggerTraining],
    run: Run,
    base: Path | None = None,
    language: str | None = None,
    **_: object,
) -> tuple[NeuralTagger, TrainingResult]:
    """Train a tagger from its settings; see `models.making`."""
    chosen = settings.input
    path = base or (Path(chosen.vectors) if chosen.vectors else None)
    damage = Damage("skip" if base else chosen.damaged)
    vectors = None if path is None else read_vectors(path, damage)
    words = TaggerWords.of(
        train,
        lowercase=lower_of(chosen.lowercase, language),
        digits=chosen.digits,
        min_count=chosen.min_count,
        more=[] if vectors is None else vectors.words,
    )
    config = settings.model
    if config.features == "auto":
        config = config.model_copy(update={"features": 2 * count_features(sentence.words for sentence in train)})
    torch.manual_seed(run.seed)
    model = kind(config, *words.sizes, len(tags)).equip(words, tags)
    if vectors is not None:
        start_words(model, vectors, frozen=chosen.frozen)
    result = train_tagger(model, train, validation, settings.training, run)
    return model, replace(result, vectors_skipped=sum(damage.counts.values()))
