"""Base of taggers that are trained by gradient, for any input: the output, the loss, the best tags.

    softmax   P(y | x) = ∏_t softmax(f_t)_{y_t}      each word separately; the best tags can be inconsistent
    crf       P(y | x) by `nn.crf`                   whole sequences (Collobert et al. 2011, section 3.3.2)

The loss is −log P(y | x), summed over the sentences of a batch and divided by their words. `collate` defines the type
of a batch; its `lengths` (B,) are the sentences' numbers of words.

Shape legend: B sentences, T words, K tags.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import torch
from torch.nn import functional as F

from langladder.models.network import Network
from langladder.models.tagging.tagger import Sentences, Tagger, allowed_steps
from langladder.nn.crf import CRF

CELLS = 8192
"""Maximum cells (sentences × longest) of a batch without training."""


class HasIds(Protocol):
    """An encoded sentence: ids (T,)."""

    @property
    def ids(self) -> np.ndarray:
        """The number of positions."""


class HasLengths(Protocol):
    """Sentences as one padded batch."""

    @property
    def lengths(self) -> torch.Tensor:
        """The number of words of each sentence, (B,)."""


Sentence = TypeVar("Sentence", bound=HasIds)
Batch = TypeVar("Batch", bound=HasLengths)


class NetworkTagger(Network, Tagger, Generic[Sentence, Batch]):
    """Subclasses set `crf`, or None, and call `name_tags` when their tags are set."""

    number_of_labels: int
    crf: CRF | None

    @abstractmethod
    def forward(self, batch: Batch) -> torch.Tensor:
        """f: (B, T, K). Values at padding are undefined."""

    @abstractmethod
    def encode(self, sentence: Sequence[str]) -> Sentence:
        """The encoding of a sentence."""

    @abstractmethod
    def collate(self, rows: Sequence[Sentence]) -> Batch:
        """Sentences as one padded batch."""

    def occurrences(self, rows: Sequence[Sentence]) -> np.ndarray | None:  # noqa: ARG002
        """The counts of each word of the vocabulary in encoded sentences, (V,); None: it has no vocabulary of words."""
        return None

    def hide(self, batch: Batch, rates: torch.Tensor) -> Batch:
        """The batch with some words treated as unknown, each with its probability in `rates` (V,)."""
        del rates
        return batch

    def name_tags(self, tags: Sequence[str], *, constraints: bool) -> Self:
        """Set the tags of the network, and the allowed transitions of the CRF."""
        self.tags = list(tags)
        allowed = allowed_steps(tags) if constraints else None
        if self.crf is not None and allowed is not None:
            self.crf.allow(allowed)
        return self

    def inside(self, batch: Batch) -> torch.Tensor:
        """True at words: (B, T) bool."""
        lengths: torch.Tensor = batch.lengths
        return torch.arange(int(lengths.max()), device=lengths.device) < lengths[:, None]

    def loss(self, f: torch.Tensor, batch: Batch, tags: torch.Tensor) -> torch.Tensor:
        """−Σ log P(y | x) in nats over the sentences; tags (B, T) int64, with any values at padding."""
        if self.crf is not None:
            total: torch.Tensor = self.crf(f.float(), tags, batch.lengths).sum()
            return total
        inside = self.inside(batch)  # (B, T)
        return F.cross_entropy(f[inside].float(), tags[inside], reduction="sum")

    def best(self, f: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The best tags (B, T): Viterbi with a CRF, else the most probable tag of each word."""
        return f.argmax(dim=2) if self.crf is None else self.crf.viterbi(f, lengths)[0]

    @torch.no_grad()
    def tag(self, sentences: Sentences) -> list[list[str]]:
        """See `Tagger.tag` and `best`."""
        tags: list[list[str]] = [[] for _ in sentences]
        for rows, batch in self._batches(sentences):
            best = self.best(self(batch).float(), batch.lengths).tolist()  # (B, T)
            for row, path, length in zip(rows, best, batch.lengths.tolist(), strict=True):
                tags[row] = [self.tags[tag] for tag in path[:length]]
        return tags

    @torch.no_grad()
    def log_probs(self, sentences: Sentences) -> list[np.ndarray]:
        """See `Tagger.log_probs`: marginals with a CRF."""
        log_probs = [np.zeros((0, self.number_of_labels)) for _ in sentences]
        for rows, batch in self._batches(sentences):
            f = self(batch).float()
            if self.crf is None:
                logs = torch.log_softmax(f.double(), dim=2)
            else:
                logs = self.crf.marginals(f, batch.lengths).log()
            for row, own, length in zip(rows, logs.numpy(), batch.lengths.tolist(), strict=True):
                log_probs[row] = own[:length]
        return log_probs

    def _batches(self, sentences: Sentences) -> Iterator[tuple[list[int], Batch]]:
        """Batches of sentences of similar length, without empty sentences, in evaluation mode."""
        training = self.training
        self.eval()
        try:
            order = sorted((row for row, words in enumerate(sentences) if len(words)), key=lambda r: len(sentences[r]))
            start = 0
            for end in range(1, len(order) + 1):
                if end == len(order) or (end + 1 - start) * len(sentences[order[end]]) > CELLS:
                    rows = order[start:end]
                    yield rows, self.collate([self.encode(sentences[row]) for row in rows])
                    start = end
        finally:
            self.train(training)


AnyTagger = NetworkTagger[Any, Any]
