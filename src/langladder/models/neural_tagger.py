"""What every network that tags shares: what it reads of a word, the output, the loss, saving.

    x_t = [e_t ; l_t ; c_t ; s_t]     word vector, learned vector of training words, letters, shape (each on request)
    h_1 … h_T = the network's own reading of x_1 … x_T
    f_t = W h_t + b

    softmax   P(y | x) = ∏_t softmax(f_t)_{y_t}      each word by itself; the best tags need not go together
    crf       P(y | x) by `nn.crf`                   whole sequences (Collobert et al. 2011, section 3.3.2)

The loss is −log P(y | x), summed over the sentences of a batch and divided by their words.

Shape legend: B sentences, T words, K tags, D width of x, H width of h.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn import functional as F

from langladder import schema
from langladder.artefacts import write_json
from langladder.errors import InputError
from langladder.models.classifier import read_reading
from langladder.models.network import Network
from langladder.models.saving import READING
from langladder.models.tagger import Sentences, Tagger, allowed_steps
from langladder.models.tagger_words import KEYS, SHAPES, Encoded, SentenceBatch, TaggerWords, words_from
from langladder.models.trial import words
from langladder.nn.crf import CRF
from langladder.nn.dropout import LockedDropout
from langladder.nn.initialisation import word_embedding
from langladder.nn.word_form import WordForm
from langladder.text.specials import PAD

CELLS = 8192
"""The most cells (sentences × longest) of a batch that is only read."""


class NeuralTaggerConfig(schema.Config):
    """Settings of every network that tags."""

    embedding_dim: int = Field(default=100, ge=1, le=4096)
    """Of the table that word vectors may be put into."""
    learned_dim: int = Field(default=0, ge=0, le=4096)
    """Of a second table, of training words alone, beside the first (two channels: one frozen, one learned); 0: none."""
    characters: Literal["none", "cnn", "lstm"] = "none"
    character_dim: int = Field(default=25, ge=1, le=1024)
    character_width: int = Field(default=50, ge=2, le=4096, multiple_of=2)
    shape_dim: int = Field(default=0, ge=0, le=1024)
    """Of a vector for the word's shape (lower case, Title, CAPITALS, digits, …); 0: none."""
    output: Literal["softmax", "crf"] = "softmax"
    constraints: bool = True
    """crf: whether tags that bracket phrases (IOB2, IOBES) follow only what they may."""
    dropout: float = Field(default=0.3, ge=0, lt=1)
    """Of x and of h, the same features at every word of a sentence."""


class NeuralTagger(Network, Tagger):
    """Built as `cls(config, ids of all words, of training words, of letters, tags)`, then told what they mean."""

    maker: ClassVar[str] = "langladder.tasks.tagging.make"
    Config: ClassVar[type[schema.Config]] = NeuralTaggerConfig
    config: Any
    SIZES = ("vocab_size", "training_vocab_size", "number_of_characters", "number_of_labels")
    WHAT = "tagger"
    vocab_size: int
    training_vocab_size: int
    number_of_characters: int
    number_of_labels: int
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

    @abstractmethod
    def make_reader(self, width: int) -> int:
        """Build what reads x_1 … x_T, of this width D; gives H. Called once, while the network is built."""

    @abstractmethod
    def read(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """x (B, T, D), 0 at padding, lengths (B,) → h (B, T, H). Padding changes nothing."""

    @property
    def input_width(self) -> int:
        """D."""
        config = self.config
        letters = config.character_width if config.characters != "none" else 0
        return int(config.embedding_dim + config.learned_dim + letters + config.shape_dim)

    def equip(self, words: TaggerWords, tags: Sequence[str]) -> Self:
        """Tell the network what its ids and tags mean."""
        assert (*words.sizes, len(tags)) == tuple(getattr(self, name) for name in self.SIZES)
        self.words, self.tags = words, list(tags)
        allowed = allowed_steps(tags) if self.config.constraints else None
        if self.crf is not None and allowed is not None:
            self.crf.allow(allowed)
        return self

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
        """f: (B, T, K). What stands at padding means nothing."""
        h = self.read(self.dropout(self.embed(batch)), batch.lengths)  # (B, T, H)
        f: torch.Tensor = self.head(self.dropout(h))
        return f

    def loss(self, f: torch.Tensor, batch: SentenceBatch, tags: torch.Tensor) -> torch.Tensor:
        """−Σ log P(y | x) in nats over the sentences; tags (B, T) int64, anything at padding."""
        if self.crf is not None:
            total: torch.Tensor = self.crf(f.float(), tags, batch.lengths).sum()
            return total
        inside = batch.tokens != PAD  # (B, T)
        return F.cross_entropy(f[inside].float(), tags[inside], reduction="sum")

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`; every word has a form of its own, of four letters."""
        places = torch.arange(rows * length).view(rows, length)  # (B, T)
        forms = rows * length + 1  # U
        batch = SentenceBatch(
            words(rows, length, self.vocab_size),
            torch.full((rows,), length),
            words(rows, length, self.training_vocab_size),
            places + 1,
            words(forms, 4, self.number_of_characters),
            torch.full((forms,), 4),
            torch.arange(forms) % SHAPES,
        )
        return self.loss(self(batch), batch, places % self.number_of_labels)

    def best(self, f: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The best tags (B, T): Viterbi with a CRF, else the likeliest of each word."""
        return f.argmax(dim=2) if self.crf is None else self.crf.viterbi(f, lengths)[0]

    @torch.no_grad()
    def tag(self, sentences: Sentences) -> list[list[str]]:
        """See `Tagger.tag` and `best`."""
        found: list[list[str]] = [[] for _ in sentences]
        for rows, batch in self._batches(sentences):
            best = self.best(self(batch).float(), batch.lengths).tolist()  # (B, T)
            for row, path, length in zip(rows, best, batch.lengths.tolist(), strict=True):
                found[row] = [self.tags[tag] for tag in path[:length]]
        return found

    @torch.no_grad()
    def log_probs(self, sentences: Sentences) -> list[np.ndarray]:
        """See `Tagger.log_probs`: marginals with a CRF."""
        found = [np.zeros((0, self.number_of_labels)) for _ in sentences]
        for rows, batch in self._batches(sentences):
            f = self(batch).float()
            if self.crf is None:
                logs = torch.log_softmax(f.double(), dim=2)
            else:
                logs = self.crf.marginals(f, batch.lengths).log()
            for row, own, length in zip(rows, logs.numpy(), batch.lengths.tolist(), strict=True):
                found[row] = own[:length]
        return found

    def _batches(self, sentences: Sentences) -> Iterator[tuple[list[int], SentenceBatch]]:
        """Sentences of like length together, without those that have no words; in evaluation mode."""
        training = self.training
        self.eval()
        try:
            order = sorted((row for row, words in enumerate(sentences) if len(words)), key=lambda r: len(sentences[r]))
            start = 0
            for end in range(1, len(order) + 1):
                if end == len(order) or (end + 1 - start) * len(sentences[order[end]]) > CELLS:
                    rows = order[start:end]
                    yield rows, self.words.collate([self.words.encode(sentences[row]) for row in rows])
                    start = end
        finally:
            self.train(training)

    def encode(self, sentence: Sequence[str]) -> Encoded:
        """A sentence as the network reads it."""
        return self.words.encode(sentence)

    def write_beside(self, folder: Path) -> None:
        """See `Network.write_beside`."""
        write_json(folder / READING, {"labels": self.tags, **self.words.description()})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Tagger.load`."""
        network = super().load(folder)
        tags, reading = read_reading(folder, KEYS, network.number_of_labels)
        path = Path(folder) / READING
        words = words_from(path, reading)
        said = tuple(getattr(network, name) for name in cls.SIZES[:-1])
        if words.sizes != said:
            raise InputError(f"{path}: {words.sizes} ids of words and letters, but config.json says {said}")
        return network.equip(words, tags)
