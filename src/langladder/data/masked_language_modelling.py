"""Batches with masked tokens. Rows, cuts and masks are pure functions of (seed, step), see `batches`.

Shape legend: B rows, T tokens, M masked ones.
"""

from collections.abc import Sequence

import numpy as np
import torch

from langladder.data.batches import StepBatches, generator, shuffled
from langladder.data.masking import Masking, mask_tokens
from langladder.data.sentence_pairs import Pairs
from langladder.models.encoders.encoder import Encoder, Masked, padded
from langladder.text.tokenize.specials import PAD
from langladder.text.tokenize.tokenizers import WordStarts

DRAWS = 17  # so that gaps are drawn independently of the order of rows
VALIDATION_ROWS = 64


class MaskedBatches(StepBatches[Masked]):
    """Training and validation batches of an encoder.

    Args:
        train, validation: the texts in rows.
        encoder: adds special tokens. words: which tokens begin words.
        batch_size: rows of a training batch. validation_tokens: about how many to validate on; None: all.
        steps: those of the whole training, over which the share of gaps can fall; validation uses the last share.
    """

    def __init__(
        self,
        train: Pairs,
        validation: Pairs,
        encoder: Encoder,
        words: WordStarts,
        masking: Masking,
        *,
        batch_size: int,
        seed: int,
        validation_tokens: int | None = None,
        steps: int = 1,
    ) -> None:
        self.rows, self.encoder, self.words, self.masking = train, encoder, words, masking
        self.batch_size, self.seed, self.steps = batch_size, seed, steps
        self._validation = masked_text(validation, encoder, words, masking.at(1.0), limit=validation_tokens)

    def train(self, step: int) -> Masked:
        """See `StepBatches.train`."""
        random = generator(self.seed, DRAWS, step)
        rows = shuffled(len(self.rows), self.batch_size, step, self.seed)
        masking = self.masking.at(min(1.0, step / max(1, self.steps - 1)))
        return draw(self.rows, rows, self.encoder, self.words, masking, random)

    def validation(self) -> Sequence[Masked]:
        """The same gaps every time."""
        return self._validation

    def size(self, batch: Masked) -> int:
        """Tokens read, specials included; the masked ones are a share of them."""
        return int((batch.tokens != PAD).sum())

    def examples(self, step: int, batch: Masked) -> int:  # noqa: ARG002 - see `StepBatches`
        """Rows of tokens."""
        return len(batch.tokens)

    def take(self, step: int, batch: Masked, rows: np.ndarray) -> Masked:  # noqa: ARG002 - see `StepBatches`
        """Some of the rows, with the gaps that they have in the whole batch."""
        length, chosen = batch.tokens.shape[1], torch.from_numpy(rows)
        position = torch.full((len(batch.tokens),), -1)
        position[chosen] = torch.arange(len(rows))
        row = position[batch.positions // length]  # (M,): its new position, −1: none
        kept = row >= 0
        return Masked(
            batch.tokens[chosen],
            batch.segments[chosen],
            (row * length + batch.positions % length)[kept],
            batch.targets[kept],
            batch.strange[chosen] if len(batch.strange) else batch.strange,
        )

    def terms(self, batch: Masked) -> tuple[int, ...]:
        """Number of gaps, and of rows if they are pairs."""
        return (len(batch.targets), len(batch.strange)) if len(batch.strange) else (len(batch.targets),)


def masked_text(
    text: Pairs, encoder: Encoder, words: WordStarts, masking: Masking, *, limit: int | None = None
) -> list[Masked]:
    """All rows of a text, or evenly spread ones with about that many tokens, with fixed gaps."""
    count = len(text) if limit is None else min(len(text), max(1, limit // text.room))
    chosen = np.linspace(0, len(text) - 1, count).astype(np.int64)
    parts = [chosen[start : start + VALIDATION_ROWS] for start in range(0, count, VALIDATION_ROWS)]
    return [
        draw(text, part, encoder, words, masking, generator(DRAWS, position)) for position, part in enumerate(parts)
    ]


def draw(
    text: Pairs,
    rows: Sequence[int] | np.ndarray,
    encoder: Encoder,
    words: WordStarts,
    masking: Masking,
    random: np.random.Generator,
) -> Masked:
    """Rows of a text as a batch: their texts framed, then masked."""
    framed, strange = [], []
    for row in rows:
        first, second, label = text.draw(int(row), random)
        framed.append(encoder.framed(first, second))
        strange.append(label)
    tokens = padded([ids for ids, _ in framed])
    segments = padded([two for _, two in framed])
    gaps = mask_tokens(tokens.numpy(), masking, encoder.vocab_size, random, words)
    labels = torch.tensor(strange if text.pairs else [], dtype=torch.int64)
    tokens_read, positions, targets = (torch.from_numpy(part) for part in gaps)
    return Masked(tokens_read, segments, positions, targets, labels)
