"""The base of readers that are trained by gradient. They start from another rung's network and use its tokenizer.

`encode` returns one or several rows of a question; each row is a separate training example. `collate` combines rows
into a batch, whose type depends on the reader.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import torch

from langladder.ground.artefacts import write_json
from langladder.ground.errors import InputError
from langladder.models.fine_tuned import TOKENIZER
from langladder.models.network import Network
from langladder.models.reading.reader import Reader, read_threshold
from langladder.models.saving import READING, Saved
from langladder.text.labelled.questions import Question
from langladder.text.tokenize.tokenizers import Tokenizer

CELLS = 8192
"""Maximum cells (rows × longest) of a batch without training."""


class HasLength(Protocol):
    """One training example."""

    @property
    def length(self) -> int:
        """Tokens of its longest row."""


Row = TypeVar("Row", bound=HasLength)
Batch = TypeVar("Batch", bound=tuple[Any, ...])


class NetworkReader(Network, Reader, Generic[Row, Batch]):
    """Built as `cls(config, vocab_size)`; then `equip` sets its tokenizer."""

    SIZES: ClassVar[tuple[str, ...]] = ("vocab_size",)
    vocab_size: int
    tokenizer: Tokenizer

    def equip(self, tokenizer: Tokenizer) -> Self:
        """Set the tokenizer of the network."""
        assert tokenizer.full_vocab_size == self.vocab_size, (tokenizer.full_vocab_size, self.vocab_size)
        self.tokenizer = tokenizer
        return self

    @abstractmethod
    def encode(self, question: Question) -> Sequence[Row]:
        """The rows of a question, each with its `length` and the right answer."""

    @abstractmethod
    def collate(self, rows: Sequence[Row]) -> Batch:
        """Rows as one padded batch."""

    @abstractmethod
    def losses(self, batch: Batch) -> torch.Tensor:
        """The training loss: the mean over the rows, in nats."""

    def means(self, batch: Batch) -> tuple[torch.Tensor, ...]:
        """The means whose sum is `losses`."""
        return (self.losses(batch),)

    def terms(self, batch: Batch) -> tuple[int, ...]:
        """The number of terms of each mean: rows; each row has one right answer."""
        return (len(batch[-1]),)

    @abstractmethod
    def judge(self, batch: Batch) -> tuple[float, int, int]:
        """Σ −log P(right answer), number of correct rows, number of rows, for a batch without training."""

    def tokens_of(self, question: str) -> np.ndarray:
        """The tokens of a question."""
        return self.tokenizer.encode(question)

    def write_beside(self, folder: Path) -> None:
        """See `Network.write_beside`."""
        write_json(folder / READING, self.reading())
        self.tokenizer.save(folder / TOKENIZER)

    @classmethod
    def from_saved(cls, saved: Saved, folder: Path) -> Self:
        """See `Model.from_saved`."""
        network = super().from_saved(saved, folder)
        network.threshold = read_threshold(folder)
        path = Path(folder) / TOKENIZER
        tokenizer = Tokenizer.load(path)
        if tokenizer.full_vocab_size != network.vocab_size:
            raise InputError(
                f"{path}: {tokenizer.full_vocab_size:,} ids, but config.json says vocab_size {network.vocab_size:,}"
            )
        return network.equip(tokenizer)

    @torch.no_grad()
    def _batches(self, rows: Sequence[Row]) -> Iterator[tuple[list[int], Batch]]:
        """(indices, batch) with rows of similar length together, in evaluation mode."""
        training = self.training
        self.eval()
        try:
            order = sorted(range(len(rows)), key=lambda position: rows[position].length)
            start = 0
            for end in range(1, len(order) + 1):
                if end == len(order) or (end + 1 - start) * rows[order[end]].length > CELLS:
                    yield order[start:end], self.collate([rows[position] for position in order[start:end]])
                    start = end
        finally:
            self.train(training)


AnyReader = NetworkReader[Any, Any]
