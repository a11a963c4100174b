"""How a token stream becomes batches for a language model.

Rows of the stream: recurrent models read B parallel streams from left to right, T tokens per step, and keep their state
between steps (truncated back-propagation through time, Williams & Peng 1990). Models with a bounded context read
windows in shuffled order. Rows of documents: each network reads documents from their beginning, with no state. All are
pure functions of (seed, step), see `batches`.

Shape legend: B streams or windows, T tokens per step, N tokens in the stream.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, NotRequired, TypedDict, Unpack

import numpy as np
import torch

from langladder.data.batches import Epochs, StepBatches, generator, shuffled
from langladder.data.translation import WINDOW_BATCHES, pack
from langladder.ground.errors import InputError
from langladder.models.language.language_model import predicted
from langladder.text.storage.token_streams import TokenStream, positions_of
from langladder.text.tokenize.specials import BOS, PAD

SCORED_TOKENS = 16_384
"""Tokens, padding included, in one batch of documents to score."""


LINE_SEARCH = 4096
"""How far to look for the start of a line."""


class LanguageBatch(NamedTuple):
    """tokens (B, T + 1) int64, inputs [:, :-1] and targets [:, 1:]; fresh: whether the state is reset here."""

    tokens: torch.Tensor
    fresh: bool


class BatchSettings(TypedDict):
    """How a stream is cut into batches."""

    batch_size: int
    sequence_length: int
    seed: int
    validation_tokens: NotRequired[int | None]


class _TrainingBatches(StepBatches[LanguageBatch]):
    """Shared by all kinds: the memory-mapped streams, and validation on whole documents."""

    one_shape = True

    def __init__(
        self,
        train: TokenStream,
        validation: TokenStream,
        *,
        batch_size: int,
        sequence_length: int,
        seed: int,
        validation_tokens: int | None = None,
    ) -> None:
        self.stream, self.B, self.T, self.seed = train, batch_size, sequence_length, seed
        self._validation = list(document_batches(validation, limit=validation_tokens))

    def validation(self) -> Sequence[torch.Tensor]:
        """(documents, longest) int64 batches, in which every token is scored as in the test."""
        return self._validation

    def size(self, batch: LanguageBatch) -> int:  # noqa: ARG002 - all batches are of one size
        """Targets in the batch."""
        return self.B * self.T

    def examples(self, step: int, batch: LanguageBatch) -> int:  # noqa: ARG002 - see `StepBatches`
        """Streams or windows."""
        return self.B

    def take(self, step: int, batch: LanguageBatch, rows: np.ndarray) -> LanguageBatch:  # noqa: ARG002 - see `StepBatches`
        """Some of the streams or windows."""
        return LanguageBatch(batch.tokens[torch.from_numpy(rows)], batch.fresh)

    def terms(self, batch: LanguageBatch) -> tuple[int, ...]:
        """Targets that are predicted."""
        return (int(predicted(batch.tokens[:, 1:]).sum()),)

    def _gather(self, starts: np.ndarray) -> torch.Tensor:
        """(B, T + 1) int64: T + 1 tokens from each start, round the stream's end to its beginning."""
        positions = (starts[:, None] + np.arange(self.T + 1)) % len(self.stream.ids)
        return torch.from_numpy(self.stream.ids[positions].astype(np.int64))


class StreamBatches(_TrainingBatches):
    """Batches for truncated back-propagation through time.

    Each epoch cuts the stream, treated as a ring, into B equal parts from an offset drawn from (seed,
    epoch). A part begins at the beginning of a line, so that the initial state is followed by the same input as
    in the scoring of documents.
    """

    def __init__(self, train: TokenStream, validation: TokenStream, **settings: Unpack[BatchSettings]) -> None:
        super().__init__(train, validation, **settings)
        self.steps = (len(train.ids) // self.B) // self.T
        self._epoch, self._epoch_starts = -1, np.zeros(0, dtype=np.int64)
        if self.steps < 1:
            raise InputError(
                f"the training corpus has {len(train.ids):,} tokens; {self.B} parallel streams of {self.T} tokens "
                f"need {self.B * self.T:,}. Lower training.batch_size or training.sequence_length, or use more text"
            )

    def train(self, step: int) -> LanguageBatch:
        """See `StepBatches.train`."""
        epoch, chunk = divmod(step, self.steps)
        return LanguageBatch(self._gather(self._starts(epoch) + chunk * self.T), chunk == 0)

    def _starts(self, epoch: int) -> np.ndarray:
        """(B,) int64: where the epoch's streams begin."""
        if epoch != self._epoch:
            ids, part = self.stream.ids, len(self.stream.ids) // self.B
            offset = int(generator(self.seed, epoch).integers(len(ids)))
            starts = offset + np.arange(self.B) * part  # (B,)
            near = (starts[:, None] + np.arange(min(part, LINE_SEARCH))) % len(ids)
            # The distance to the start of the next line; 0 if none is near.
            self._epoch_starts = starts + (ids[near] == BOS).argmax(axis=1)
            self._epoch = epoch
        return self._epoch_starts


class WindowBatches(_TrainingBatches):
    """Shuffled adjacent windows of T + 1 tokens, from an offset drawn from (seed, epoch)."""

    def __init__(self, train: TokenStream, validation: TokenStream, **settings: Unpack[BatchSettings]) -> None:
        super().__init__(train, validation, **settings)
        self.windows = len(train.ids) // self.T
        if self.windows < 1 or len(train.ids) <= self.T:
            raise InputError(
                f"the training corpus has {len(train.ids):,} tokens, fewer than one window of {self.T} and the token "
                "after it. Lower training.sequence_length, or use more text"
            )

    def train(self, step: int) -> LanguageBatch:
        """See `StepBatches.train`."""
        windows = shuffled(self.windows, self.B, step, self.seed)  # (B,)
        epochs = np.arange(step * self.B, (step + 1) * self.B) // self.windows
        offsets = {epoch: int(generator(self.seed, epoch, 1).integers(self.T)) for epoch in set(epochs.tolist())}
        starts = windows * self.T + np.array([offsets[epoch] for epoch in epochs.tolist()])
        return LanguageBatch(self._gather(starts), True)


class DocumentBatches(_TrainingBatches):
    """Whole documents, right-padded with PAD, with others of similar length; at most B·T inputs in a batch.

    A document is read as `BOS line EOS line EOS`, see `LanguageModel.joins_lines`. One with more than T inputs becomes
    several rows. Each but its first begins with the last token of the row before, which is given there, so every token
    is predicted once an epoch.
    """

    one_shape = False

    def __init__(self, train: TokenStream, validation: TokenStream, **settings: Unpack[BatchSettings]) -> None:
        super().__init__(train, validation, **settings)
        lines = positions_of(train.ids, BOS)
        dropped = lines[~np.isin(lines, train.offsets)]  # each BOS that does not begin a document
        self._dropped_positions = dropped - np.arange(len(dropped))  # where they were among the tokens that are read
        offsets = train.offsets - np.searchsorted(dropped, train.offsets)  # (D + 1,) of documents as they are read
        inputs = np.maximum(np.diff(offsets) - 1, 0)  # (D,)
        parts = -(-inputs // self.T)
        part = np.arange(int(parts.sum())) - np.repeat(np.cumsum(parts) - parts, parts)  # (R,) its number in a document
        self._starts = np.repeat(offsets[:-1], parts) + part * self.T
        self._inputs = np.minimum(np.repeat(inputs, parts) - part * self.T, self.T)
        if not len(part):
            raise InputError("the training corpus has no document; see the report of the stage `clean`")
        self._epochs = Epochs(self._plan)

    def train(self, step: int) -> LanguageBatch:
        """See `StepBatches.train`."""
        rows = self._epochs.rows(step)
        first, last = (
            read + np.searchsorted(self._dropped_positions, read, side="right")  # in the stream
            for read in (self._starts[rows], self._starts[rows] + self._inputs[rows])
        )
        spans = (self.stream.ids[start : end + 1] for start, end in zip(first.tolist(), last.tolist(), strict=True))
        return LanguageBatch(pad_rows([np.append(span[:1], span[1:][span[1:] != BOS]) for span in spans]), True)

    def size(self, batch: LanguageBatch) -> int:
        """Targets in the batch."""
        return int((batch.tokens[:, 1:] != PAD).sum())

    def examples(self, step: int, batch: LanguageBatch) -> int:  # noqa: ARG002 - see `StepBatches`
        """Rows."""
        return len(batch.tokens)

    def _plan(self, epoch: int) -> list[np.ndarray]:
        """The rows of each batch of one epoch."""
        random = generator(self.seed, epoch)
        order = random.permutation(len(self._inputs))
        window = max(1, WINDOW_BATCHES * self.B * self.T // int(self._inputs.mean()))
        batches: list[np.ndarray] = []
        for start in range(0, len(order), window):
            part = order[start : start + window]
            part = part[np.argsort(self._inputs[part], kind="stable")]
            batches += pack(part, self._inputs, self.B * self.T)
        return [batches[index] for index in random.permutation(len(batches))]


def kind_of_batches(*, documents: bool, context: int | None) -> type[_TrainingBatches]:
    """How a network with this context is trained: on whole documents, or on the stream. None: it carries a state."""
    if documents:
        return DocumentBatches
    return StreamBatches if context is None else WindowBatches


def document_batches(
    stream: TokenStream, *, limit: int | None = None, batch_tokens: int = SCORED_TOKENS
) -> Iterator[torch.Tensor]:
    """Documents as (documents, longest) int64 rows padded with PAD, grouped by length.

    Args:
        batch_tokens: the most tokens, padding included, in one batch of several documents.
        limit: keep the first documents up to about this many tokens; None = all.
    """
    lengths = np.diff(stream.offsets)
    if limit is not None:
        lengths = lengths[: max(1, int(np.searchsorted(stream.offsets, limit)))]
    group: list[int] = []
    for index in np.argsort(-lengths, kind="stable").tolist():
        if lengths[index] and group and (len(group) + 1) * lengths[group[0]] > batch_tokens:
            yield pad_rows([stream.document(i) for i in group])
            group = []
        if lengths[index]:
            group.append(index)
    if group:
        yield pad_rows([stream.document(i) for i in group])


def pad_rows(rows: Sequence[np.ndarray]) -> torch.Tensor:
    """(rows, longest) int64, right-padded with PAD."""
    table = np.full((len(rows), max(len(row) for row in rows)), PAD, dtype=np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(table)
