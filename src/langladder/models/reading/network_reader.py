"""The base of readers that are trained by gradient: they start from another rung's network and keep its tokenizer.

A batch is whatever `collate` makes of the rows that `encode` gives: of one question one row or several, each of which
is trained on by itself.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import torch

from langladder.ground.artefacts import write_json
from langladder.ground.errors import InputError
from langladder.models.growing import TOKENIZER
from langladder.models.network import Network
from langladder.models.reading.reader import Reader, read_threshold
from langladder.models.saving import READING
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
        """The rows of a question, each with its `length` and with what is right."""

    @abstractmethod
    def collate(self, rows: Sequence[Row]) -> Batch:
        """Rows as one padded batch."""

    @abstractmethod
    def losses(self, batch: Batch) -> torch.Tensor:
        """Mean loss of the rows, in nats: what is trained."""

    def means(self, batch: Batch) -> tuple[torch.Tensor, ...]:
        """The means that `losses` is the sum of."""
        return (self.losses(batch),)

    def terms(self, batch: Batch) -> tuple[int, ...]:
        """Of how many terms each of them is taken: rows; what is right has one number for each."""
        return (len(batch[-1]),)

    @abstractmethod
    def judge(self, batch: Batch) -> tuple[float, int, int]:
        """Σ −log P(what is right), rows that are answered right, rows; of a batch that is only read."""

    def tokens_of(self, question: str) -> np.ndarray:
        """A question's tokens."""
        return self.tokenizer.encode(question)

    def write_beside(self, folder: Path) -> None:
        """See `Network.write_beside`."""
        write_json(folder / READING, self.reading())
        self.tokenizer.save(folder / TOKENIZER)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Reader.load`."""
        network = super().load(folder)
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
        """(places, batch) of rows of like length together, in evaluation mode."""
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
