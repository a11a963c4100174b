"""Base of tagging networks: the input of a word, the output, the loss, saving.

    x_t = [e_t ; l_t ; c_t ; s_t]     word vector, learned vector of training words, letters, shape (each optional)
    h_1 … h_T = the network's states for x_1 … x_T f_t = W h_t + b + Σ_{m true of word t} v_m, then as in
    `network_tagger`

v_m are optional vectors of hand-made features: Huang et al. (2015, section 3.4) connect features of spelling and
context directly to the output. If few words are entities, a network with these features finds as many as a CRF.
Difference from the paper: each feature is dropped at random, so that the network does not only rely on words that it
has seen.

Shape legend: B sentences, T words, K tags, D width of x, H width of h, M features of a word.
"""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import Field
from torch import nn

from langladder.ground import schema
from langladder.ground.artefacts import write_json
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import read_reading
from langladder.models.saving import READING, Saved
from langladder.models.tagging.network_tagger import NetworkTagger
from langladder.models.tagging.tagger_words import KEYS, SHAPES, Encoded, SentenceBatch, TaggerWords, words_from
from langladder.models.tagging.word_features import rows_of_features
from langladder.models.trial import words
from langladder.nn.crf import CRF
from langladder.nn.dropout import Dropout, LockedDropout
from langladder.nn.initialisation import word_embedding
from langladder.nn.word_form import WordForm
from langladder.text.tokenize.specials import PAD, UNK

ROWS = 2**16
"""Rows for `features: auto` if there are no training sentences for counting features."""


class NeuralTaggerConfig(schema.Config):
    """Settings of every tagging network."""

    embedding_dim: int = Field(default=100, ge=1, le=4096)
    """Width of the table of words, which can start with word vectors."""
    learned_dim: int = Field(default=0, ge=0, le=4096)
    """Width of a second table, only of training words (two channels: one frozen, one learned); 0: none."""
    characters: Literal["none", "cnn", "lstm"] = "none"
    character_dim: int = Field(default=25, ge=1, le=1024)
    character_width: int = Field(default=50, ge=2, le=4096, multiple_of=2)
    shape_dim: int = Field(default=0, ge=0, le=1024)
    """Width of a vector for the word's shape (lower case, Title, CAPITALS, digits, …); 0: none."""
    features: Literal["auto"] | Annotated[int, Field(ge=0, le=2**24)] = 0
    """Rows of the table to which hand-made features are hashed (see `word_features`); 0: none; auto: twice the number
    of distinct features in the training sentences, so that few share a row."""
    feature_dropout: float = Field(default=0.5, ge=0, lt=1)
    """Dropout of each feature of each word."""
    output: Literal["softmax", "crf"] = "softmax"
    constraints: bool = True
    """crf: whether invalid transitions of phrase tags (IOB2, IOBES) are forbidden."""
    dropout: float = Field(default=0.3, ge=0, lt=1)
    """Dropout of x and of h, with the same features at every word of a sentence."""


class NeuralTagger(NetworkTagger[Encoded, SentenceBatch]):
    """Built as `cls(config, numbers of all words, training words, letters, tags)`; then `equip` sets their meaning."""

    maker: ClassVar[str] = "langladder.tasks.tagging.make"
    Config: ClassVar[type[schema.Config]] = NeuralTaggerConfig
    SIZES = ("vocab_size", "training_vocab_size", "number_of_characters", "number_of_labels")
    config: NeuralTaggerConfig
    vocab_size: int
    training_vocab_size: int
    number_of_characters: int
    words: TaggerWords

    def __init__(self, config: NeuralTaggerConfig, *sizes: int) -> None:
        super().__init__(config, *sizes)
        self.embedding = word_embedding(self.vocab_size, config.embedding_dim)
        self.learned = word_embedding(self.training_vocab_size, config.learned_dim) if config.learned_dim else None
        self.form = self.shape = None
        if config.characters != "none":
            self.form = WordForm(
                config.characters,
                characters=self.number_of_characters,
                dim=config.character_dim,
                width=config.character_width,
            )
        if config.shape_dim:
            self.shape = nn.Embedding(SHAPES, config.shape_dim)
        self.dropout = LockedDropout(config.dropout)
        self.head = nn.Linear(self.make_reader(self.input_width), self.number_of_labels)
        self.crf = CRF(self.number_of_labels) if config.output == "crf" else None
        self.features, self.feature_rows = None, ROWS if config.features == "auto" else config.features
        if self.feature_rows:
            self.features = nn.EmbeddingBag(1 + self.feature_rows, self.number_of_labels, mode="sum", padding_idx=0)
            nn.init.zeros_(self.features.weight)
        self.feature_dropout = Dropout(config.feature_dropout)

    @abstractmethod
    def make_reader(self, width: int) -> int:
        """Build the layers that read x_1 … x_T, of this width D; returns H. Called once by the constructor."""

    @abstractmethod
    def read(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """x (B, T, D), 0 at padding, lengths (B,) → h (B, T, H). Padding changes nothing."""

    @property
    def input_width(self) -> int:
        """D, the width of x."""
        config = self.config
        letters = config.character_width if config.characters != "none" else 0
        return config.embedding_dim + config.learned_dim + letters + config.shape_dim

    def equip(self, words: TaggerWords, tags: Sequence[str]) -> Self:
        """Set the meaning of the network's ids and tags."""
        assert (*words.sizes, len(tags)) == tuple(getattr(self, name) for name in self.SIZES)
        self.words = words
        return self.name_tags(tags, constraints=self.config.constraints)

    def embed(self, batch: SentenceBatch) -> torch.Tensor:
        """x: (B, T, D), 0 at padding."""
        parts = [self.embedding(batch.tokens)]
        if self.learned is not None:
            parts.append(self.learned(batch.learned))
        if self.form is not None:
            parts.append(self.form(batch.letters, batch.letter_counts)[batch.forms])
        if self.shape is not None:
            parts.append(self.shape(batch.shapes)[batch.forms])
        return torch.cat(parts, dim=2).masked_fill((batch.tokens == PAD)[..., None], 0.0)

    def forward(self, batch: SentenceBatch) -> torch.Tensor:
        """f: (B, T, K). Values at padding are undefined."""
        h = self.read(self.dropout(self.embed(batch)), batch.lengths)  # (B, T, H)
        f: torch.Tensor = self.head(self.dropout(h))
        if self.features is not None and batch.features is not None:
            f = f + self._of_features(self.features, batch.features)
        return f

    def _of_features(self, table: nn.EmbeddingBag, rows: torch.Tensor) -> torch.Tensor:
        """Σ_m v_m of each word: (B, T, M) → (B, T, K)."""
        flat = rows.flatten(0, 1)  # (B · T, M)
        kept = self.feature_dropout(torch.ones_like(flat, dtype=table.weight.dtype))  # (B · T, M)
        summed: torch.Tensor = table(flat, per_sample_weights=kept)  # (B · T, K)
        return summed.view(*rows.shape[:2], -1)

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`; every word has a different form, of four letters."""
        positions = torch.arange(rows * length).view(rows, length)  # (B, T)
        forms = rows * length + 1  # U
        batch = SentenceBatch(
            words(rows, length, self.vocab_size),
            torch.full((rows,), length),
            words(rows, length, self.training_vocab_size),
            positions + 1,
            words(forms, 4, self.number_of_characters),
            torch.full((forms,), 4),
            torch.arange(forms) % SHAPES,
            positions[..., None].expand(-1, -1, 4) % (1 + self.feature_rows) if self.feature_rows else None,
        )
        return self.loss(self(batch), batch, positions % self.number_of_labels)

    def encode(self, sentence: Sequence[str]) -> Encoded:
        """The encoding of a sentence."""
        encoded = self.words.encode(sentence)
        rows = self.feature_rows
        return encoded._replace(features=rows_of_features(sentence, rows)) if rows else encoded

    def collate(self, rows: Sequence[Encoded]) -> SentenceBatch:
        """Sentences as one padded batch."""
        return self.words.collate(rows)

    def occurrences(self, rows: Sequence[Encoded]) -> np.ndarray:
        """See `NetworkTagger.occurrences`."""
        return np.bincount(np.concatenate([row.ids for row in rows]), minlength=self.vocab_size)

    def hide(self, batch: SentenceBatch, rates: torch.Tensor) -> SentenceBatch:
        """Hide rare words: in the second, learned table if there is one, else in the only table."""
        unknown = torch.rand(batch.tokens.shape, device=batch.tokens.device) < rates[batch.learned]
        if self.learned is not None:
            return batch._replace(learned=batch.learned.masked_fill(unknown, UNK))
        return batch._replace(tokens=batch.tokens.masked_fill(unknown, UNK))

    def write_beside(self, folder: Path) -> None:
        """See `Network.write_beside`."""
        write_json(folder / READING, {"labels": self.tags, **self.words.description()})

    @classmethod
    def from_saved(cls, saved: Saved, folder: Path) -> Self:
        """See `Model.from_saved`."""
        network = super().from_saved(saved, folder)
        tags, reading = read_reading(folder, KEYS, network.number_of_labels)
        path = Path(folder) / READING
        words = words_from(path, reading)
        sizes = tuple(getattr(network, name) for name in cls.SIZES[:-1])
        if words.sizes != sizes:
            raise InputError(f"{path}: {words.sizes} ids of words and letters, but config.json says {sizes}")
        return network.equip(words, tags)
