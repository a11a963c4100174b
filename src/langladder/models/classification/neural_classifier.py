"""The base of all classifier networks: batches, the loss, the weight of each word, saving.

A network defines the scores of a batch of texts (`logits`); this class provides the rest.

    L = −(1/N) Σ_n log softmax(z_n)_{y_n}
    L = −(1/N) Σ_n Σ_c [y_nc log σ(z_nc) + (1 − y_nc) log σ(−z_nc)]     of multi-label texts: the same scores

The weight of a word for a label is the decrease of the label's lead, z_y − (1/C) Σ_c z_c, when the word is removed from
the text (Zeiler & Fergus 2014, section 4.1; Li, Monroe & Jurafsky 2016). It is positive if the word supports the label.
For multi-label texts, the lead is z_y, the label's log odds.

Shape legend: B rows, T positions, C labels, D width of the embedding, N examples.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from langladder.ground import schema
from langladder.ground.artefacts import write_json
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import MULTI_LABEL, Classifier, Explained, read_reading
from langladder.models.network import Network
from langladder.models.saving import READING, Saved
from langladder.models.trial import words
from langladder.models.units import Read, Units, WordUnits, units_from
from langladder.nn.tree_lstm import CompiledTree, Forest, compile_tree, join
from langladder.text.labelled.labelled import Example, Tree, parse_tree, read_tree
from langladder.text.tokenize.specials import PAD, UNK


class Encoded(NamedTuple):
    """One example: ids (T,) int32, and its tree if the network reads trees."""

    ids: np.ndarray
    tree: CompiledTree | None = None


class Reading(NamedTuple):
    """A batch: tokens (B, T) int64, right-padded with PAD; lengths (B,) int64; the rows' trees, or None."""

    tokens: torch.Tensor
    lengths: torch.Tensor
    forest: Forest | None = None

    @property
    def mask(self) -> torch.Tensor:
        """(B, T) bool, true where there is a token."""
        return self.tokens != PAD


def collate(rows: Sequence[Encoded]) -> Reading:
    """Examples as one padded batch."""
    lengths = torch.tensor([len(row.ids) for row in rows])
    tokens = np.full((len(rows), int(lengths.max())), PAD, dtype=np.int64)
    for position, row in enumerate(rows):
        tokens[position, : len(row.ids)] = row.ids
    trees = [row.tree for row in rows if row.tree is not None]
    return Reading(torch.from_numpy(tokens), lengths, join(trees) if trees else None)


CELLS = 16_384
"""Maximum cells (rows × longest) of a batch without training."""

STRETCHES = 128
"""Maximum number of passes for the weights of a text's pieces. For longer texts, spans of pieces are removed together
and share a weight."""


class NeuralClassifier(Network, Classifier):
    """Built as `cls(config, vocab_size, number_of_labels)`; then `equip` sets its units and labels.

    `vocab_size` counts all ids, including the reserved ones. The input table is the attribute `embedding`.
    """

    maker = "langladder.tasks.classification.make"
    SIZES = ("vocab_size", "number_of_labels")
    reads_trees: ClassVar[bool] = False
    """Whether the network needs `Reading.forest`."""
    vocab_size: int
    number_of_labels: int
    embedding: nn.Embedding
    units: Units
    label_weights: torch.Tensor | None = None
    """w (C,), the weight of each label's texts in training; None: all equal."""

    @abstractmethod
    def logits(self, batch: Reading) -> torch.Tensor:
        """Scores (B, C) of the labels of a batch. Padding changes nothing."""

    def loss(self, batch: Reading, labels: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """Mean cross-entropy in nats; labels (B,) int64, or (B, C) bool for multi-label texts.

        Networks with further losses (trees) override this.
        """
        return self.label_loss(self.logits(batch), labels, smoothing)

    def label_loss(self, scores: torch.Tensor, labels: torch.Tensor, smoothing: float) -> torch.Tensor:
        """−(1/N) Σ_n w_{y_n} log P(y_n): scores (N, C) and labels (N,) int64, −1 for no label.

        It is divided by N, not by Σ w as in torch, so that the mean over a batch is the mean over its parts. For
        multi-label texts, labels are (N, C) bool, and the loss is the sum over the labels, −log P of their set.
        """
        scores, w = scores.float(), self.label_weights
        if self.multi_label:
            wanted = labels.to(scores.dtype) * (1 - smoothing) + smoothing / 2
            return F.binary_cross_entropy_with_logits(scores, wanted, reduction="sum") / len(scores)
        if w is None:
            return F.cross_entropy(scores, labels, ignore_index=-1, label_smoothing=smoothing)
        w = w.to(scores.device)
        total = F.cross_entropy(scores, labels, w, ignore_index=-1, label_smoothing=smoothing, reduction="sum")
        return total / (labels >= 0).sum()

    def means(self, batch: Reading, labels: torch.Tensor, smoothing: float = 0.0) -> tuple[torch.Tensor, ...]:
        """The means whose sum is `loss`."""
        return (self.loss(batch, labels, smoothing),)

    def terms(self, batch: Reading) -> tuple[int, ...]:
        """The number of terms of each mean: texts."""
        return (len(batch.lengths),)

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`; trees, if it reads them, are right-branching."""
        tokens = words(rows, length, self.vocab_size)  # (B, T)
        trees = [compile_tree(_right_branching(length), {})] * rows if self.reads_trees else []
        reading = Reading(tokens, torch.full((rows,), length), join(trees) if trees else None)
        return self.loss(reading, self.trial_labels(rows))

    def trial_labels(self, rows: int) -> torch.Tensor:
        """Artificial labels: (rows,) int64, or (rows, C) bool for a multi-label network."""
        labels = torch.arange(rows) % self.number_of_labels
        return F.one_hot(labels, self.number_of_labels).bool() if self.multi_label else labels

    @classmethod
    def refuses_multi_label(cls, config: schema.Config) -> str | None:
        """See `Classifier.refuses_multi_label`."""
        del config
        return f"a {cls.__name__} learns a label for each node of a tree" if cls.reads_trees else None

    def equip(self, units: Units, labels: Sequence[str], *, multi_label: bool = False) -> Self:
        """Set the meaning of ids and labels, and whether a text can have several labels."""
        assert units.full_vocab_size == self.vocab_size, (units.full_vocab_size, self.vocab_size)
        assert len(labels) == self.number_of_labels, (labels, self.number_of_labels)
        self.units, self.labels, self.multi_label = units, list(labels), multi_label
        return self

    def as_read(self, example: Example) -> Read:
        """The pieces of an example that the network reads, and their ids."""
        return self.units.example(example)

    def encode(self, example: Example) -> Encoded:
        """The encoding of an example.

        Raises:
            InputError: it has no words, or the network reads trees and it has no tree.
        """
        read = self.as_read(example)
        if not len(read.ids):
            raise InputError(f"{example.text[:60]!r} has nothing to read")
        return Encoded(read.ids, self._tree(example, len(read.ids)) if self.reads_trees else None)

    def _tree(self, example: Example, words: int) -> CompiledTree:
        if not isinstance(self.units, WordUnits):
            raise InputError("input.units=subwords: a tree has words as its leaves; set input.units to words")
        if example.second is not None:
            raise InputError(
                f"{example.text[:60]!r}: a pair of texts, but a {type(self).__name__} reads one tree; choose another "
                "classifier for pairs"
            )
        tree = read_tree(example)
        if len(tree.words) != words:
            raise InputError(f"{example.text[:60]!r} has {words} words, but its tree {len(tree.words)}")
        return compile_tree(tree, {label: position for position, label in enumerate(self.labels)})

    def log_probs(self, examples: Sequence[Example]) -> np.ndarray:
        """See `Classifier.log_probs`."""
        scores = self.label_scores([self.encode(example) for example in examples])
        if self.multi_label:
            return F.logsigmoid(torch.from_numpy(scores).double()).numpy()
        return torch.log_softmax(torch.from_numpy(scores), dim=-1).double().numpy()

    @torch.no_grad()
    def label_scores(self, encoded: Sequence[Encoded]) -> np.ndarray:
        """(N, C) float32, before the softmax or sigmoid. Rows of similar length are read together."""
        scores = np.zeros((len(encoded), self.number_of_labels), dtype=np.float32)
        training = self.training
        self.eval()
        try:
            for rows in _by_length([len(example.ids) for example in encoded]):
                scores[rows] = self.logits(collate([encoded[row] for row in rows])).float().numpy()  # (B, C)
        finally:
            self.train(training)
        return scores

    def explain(self, example: Example, label: int) -> Explained | None:
        """For every piece, the decrease of the label's lead when the piece is removed from the text."""
        encoded, pieces = self.encode(example), self.as_read(example).pieces
        positions = self.positions(encoded)
        read = [position for position in positions if encoded.ids[position] != self.units.separator]
        stretches = np.array_split(np.array(read), min(len(read), STRETCHES))
        scores = self.label_scores([encoded, *(self._without(encoded, stretch, read) for stretch in stretches)])
        lead = scores[:, label]  # z_y(x), (1 + stretches,)
        if not self.multi_label:
            lead = lead - scores.mean(axis=1)  # z_y(x) − mean z(x)
        weights = np.zeros(len(encoded.ids))
        for stretch, left in zip(stretches, lead[1:], strict=True):
            # a_t = lead(x) − lead(x without t)
            weights[stretch] = (lead[0] - left) / len(stretch)
        return Explained(pieces, weights[positions].tolist())

    def _without(self, encoded: Encoded, stretch: np.ndarray, read: Sequence[int]) -> Encoded:
        """A text without some of its pieces. They become unknown words if the text has a tree, or if nothing would be
        left."""
        ids, gone = encoded.ids.copy(), {*stretch.tolist()}
        texts = np.split(np.arange(len(ids)), np.flatnonzero(ids == self.units.separator))
        emptied = any((own := {*text.tolist()} & {*read}) and own <= gone for text in texts)
        if encoded.tree is None and not emptied:
            return Encoded(np.delete(ids, stretch))
        ids[stretch] = UNK
        return encoded._replace(ids=ids)

    def positions(self, encoded: Encoded) -> Sequence[int]:
        """The positions of the pieces among an example's ids."""
        return range(len(encoded.ids))

    def start(self) -> None:
        """Called after `embedding` has its initial vectors, before training."""

    def write_beside(self, folder: Path) -> None:
        """See `Network.write_beside`."""
        more = {MULTI_LABEL: True} if self.multi_label else {}
        write_json(folder / READING, {"labels": self.labels, "units": self.units.description(), **more})
        self.units.save_beside(folder)

    @classmethod
    def from_saved(cls, saved: Saved, folder: Path) -> Self:
        """See `Model.from_saved`."""
        network = super().from_saved(saved, folder)
        labels, reading = read_reading(folder, {"units"}, network.number_of_labels, frozenset({MULTI_LABEL}))
        units = units_from(Path(folder) / READING, reading["units"])
        if units.full_vocab_size != network.vocab_size:
            raise InputError(
                f"{folder}/{READING}: {units.full_vocab_size:,} ids, but config.json says vocab_size "
                f"{network.vocab_size:,}"
            )
        return network.equip(units, labels, multi_label=MULTI_LABEL in reading)


def _by_length(lengths: Sequence[int]) -> Iterator[np.ndarray]:
    """Rows in batches of at most `CELLS` cells, shortest first."""
    order = np.argsort(lengths, kind="stable")
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end + 1 - start) * lengths[order[end]] > CELLS:
            yield order[start:end]
            start = end


def _right_branching(length: int) -> Tree:
    """A right-branching binary tree over this many words, without labels: (w (w (w w)))."""
    text = "(w)"
    for _ in range(length - 1):
        text = f"((w) {text})"
    return parse_tree(text)
