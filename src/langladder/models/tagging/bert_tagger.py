"""BERT fine-tuned on words with tags (Devlin et al. 2019, section 5.3).

    row     <cls> pieces of w_1 … w_T <sep>
    h_t     state of the body (`bert_features`) at the first piece of w_t; the other pieces have no tag
    f_t     W dropout(h_t) + b, then a softmax at each word or a CRF over the sentence (`network_tagger`)

A sentence with more pieces than the body's context is divided into several rows, between words; a CRF still predicts
the tags of the whole sentence. Words are tokenised as inside a line (`text.tokenize.tokenizers`), the first one as at
the beginning of a line.

Shape legend: B sentences, W words, R rows, T positions, K tags, D width of h.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
from torch import nn

from langladder.ground import schema
from langladder.ground.artefacts import write_json
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import read_reading
from langladder.models.encoders.bert_features import BERTFeatures, BERTFeaturesConfig, FineTunedBERT, framed
from langladder.models.encoders.encoder import padded
from langladder.models.fine_tuned import TOKENIZER, start_linear
from langladder.models.saving import READING, Saved
from langladder.models.tagging.network_tagger import NetworkTagger
from langladder.models.trial import words
from langladder.nn.crf import CRF
from langladder.text.tokenize.specials import RESERVED, UNK
from langladder.text.tokenize.tokenizers import Tokenizer, word_pieces

KNOWN_WORDS = 65_536
"""Number of words whose pieces are cached."""


class BERTTaggerConfig(BERTFeaturesConfig):
    """Settings of `BERTTagger`."""

    output: Literal["softmax", "crf"] = "softmax"
    constraints: bool = True
    """crf: whether invalid transitions of phrase tags (IOB2, IOBES) are forbidden."""


class Pieces(NamedTuple):
    """A sentence: its pieces (P,) int32, and the first piece of each word, (W,) int64."""

    ids: np.ndarray
    firsts: np.ndarray


class PieceBatch(NamedTuple):
    """Sentences: tokens (R, T) int64, right-padded with PAD; lengths (B,), in words; positions (B, W) int64, indices
    among the R·T of each word's first piece, 0 at padding."""

    tokens: torch.Tensor
    lengths: torch.Tensor
    positions: torch.Tensor


class BERTTagger(FineTunedBERT, NetworkTagger[Pieces, PieceBatch]):
    """Body → the vector at each word's first piece → linear output, or a CRF."""

    approach: ClassVar[str] = "Transformer"
    maker: ClassVar[str] = "langladder.tasks.fine_tuning.make_tagger"
    Config: ClassVar[type[schema.Config]] = BERTTaggerConfig
    SIZES = ("vocab_size", "number_of_labels")
    config: BERTTaggerConfig
    vocab_size: int
    tokenizer: Tokenizer

    def __init__(self, config: BERTTaggerConfig, vocab_size: int, number_of_labels: int) -> None:
        super().__init__(config, vocab_size, number_of_labels)
        self.features = BERTFeatures(config, vocab_size, type(self))
        self.dropout = nn.Dropout(config.dropout)
        self.head = start_linear(nn.Linear(self.features.width, number_of_labels))
        self.crf = CRF(number_of_labels) if config.output == "crf" else None

    def equip(self, tokenizer: Tokenizer, tags: Sequence[str]) -> Self:
        """Set the network's tokenizer and tags."""
        assert tokenizer.full_vocab_size == self.vocab_size, (tokenizer.full_vocab_size, self.vocab_size)
        self.tokenizer = tokenizer
        self._pieces = lru_cache(KNOWN_WORDS)(self._cut)
        return self.name_tags(tags, constraints=self.config.constraints)

    def forward(self, batch: PieceBatch) -> torch.Tensor:
        """f: (B, W, K). Values at padding are undefined."""
        h = self.features(batch.tokens).flatten(0, 1)  # (R·T, D)
        f: torch.Tensor = self.head(self.dropout(h[batch.positions]))
        return f

    def encode(self, sentence: Sequence[str]) -> Pieces:
        """A sentence as pieces, without `<cls>` and `<sep>`."""
        pieces = [self._pieces(word, position == 0) for position, word in enumerate(sentence)]
        if not pieces:
            return Pieces(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))
        counts = np.array([len(piece) for piece in pieces])
        return Pieces(np.concatenate(pieces), np.cumsum(counts) - counts)

    def collate(self, rows: Sequence[Pieces]) -> PieceBatch:
        """Sentences as one padded batch."""
        framed_rows: list[np.ndarray] = []
        where: list[list[tuple[int, int]]] = []  # the row of each word, and its position there
        for entry in rows:
            where.append([])
            for start, stop in self._spans(entry):
                inside = entry.firsts[(entry.firsts >= start) & (entry.firsts < stop)]
                where[-1] += [(len(framed_rows), 1 + int(first) - start) for first in inside]
                framed_rows.append(np.array(framed(entry.ids[start:stop], self.vocab_size)))
        tokens = padded(framed_rows)  # (R, T)
        lengths = [len(row.firsts) for row in rows]
        positions = torch.zeros(len(rows), max(lengths), dtype=torch.int64)
        for line, own in zip(positions, where, strict=True):
            line[: len(own)] = torch.tensor([row * tokens.shape[1] + column for row, column in own])
        return PieceBatch(tokens, torch.tensor(lengths), positions)

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`; every word is one piece."""
        length = min(length, self.features.encoder.context - 2)
        ids = words(rows, length, self.vocab_size - len(RESERVED)).numpy().astype(np.int32)
        batch = self.collate([Pieces(row, np.arange(length)) for row in ids])
        return self.loss(self(batch), batch, torch.arange(rows * length).view(rows, length) % self.number_of_labels)

    def write_beside(self, folder: Path) -> None:
        """See `Network.write_beside`."""
        write_json(folder / READING, {"labels": self.tags})
        self.tokenizer.save(folder / TOKENIZER)

    @classmethod
    def from_saved(cls, saved: Saved, folder: Path) -> Self:
        """See `Model.from_saved`."""
        network = super().from_saved(saved, folder)
        tags, _ = read_reading(folder, set(), network.number_of_labels)
        path = Path(folder) / TOKENIZER
        tokenizer = Tokenizer.load(path)
        if tokenizer.full_vocab_size != network.vocab_size:
            raise InputError(
                f"{path}: {tokenizer.full_vocab_size:,} ids, but config.json says vocab_size {network.vocab_size:,}"
            )
        return network.equip(tokenizer, tags)

    def _cut(self, word: str, opens: bool) -> np.ndarray:
        """The pieces of a word: at least one, at most as many as fit into a row."""
        pieces = self.tokenizer.encode(word) if opens else word_pieces(self.tokenizer, [word])[0]
        return pieces[: self.features.encoder.context - 2] if len(pieces) else np.array([UNK], dtype=np.int32)

    def _spans(self, pieces: Pieces) -> list[tuple[int, int]]:
        """The ranges of a sentence's pieces for each row, divided between words."""
        room, ends = self.features.encoder.context - 2, [*pieces.firsts[1:].tolist(), len(pieces.ids)]
        spans, start = [], 0
        for first, end in zip(pieces.firsts.tolist(), ends, strict=True):
            if end - start > room:
                spans.append((start, first))
                start = first
        return [*spans, (start, len(pieces.ids))]
