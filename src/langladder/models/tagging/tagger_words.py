"""The input of a tagging network for a word: its id, its letters, its shape.

Ids 0 to 3 are the special tokens (`specials`), for words and for letters: PAD, UNK, and BOS and EOS around the letters
of a word. Words of the training text are first, so that a table of only these words can use the same ids; then come
words that are only in the given word vectors.

Shape legend: B sentences, T words, U distinct words of a batch, C letters.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import torch

from langladder.ground.artefacts import JSONObject, word_list
from langladder.ground.errors import InputError
from langladder.text.labelled.labelled import Tagged
from langladder.text.tokenize.specials import BOS, EOS, NAMES, PAD, UNK
from langladder.text.words.normalisation import Lower, is_lower, lower

LETTERS = 30
"""Maximum letters of a word; for a longer word, half of them are from its beginning and half from its end."""
SHAPES = 8
KEYS = {"words", "training_words", "characters", "lowercase", "digits"}
_FIRST = len(NAMES)


class Encoded(NamedTuple):
    """A sentence: ids of its words (T,) int32; its original words; rows of their features (T, M), see `word_features`,
    or None if the network uses no features."""

    ids: np.ndarray
    words: tuple[str, ...]
    features: np.ndarray | None = None


class SentenceBatch(NamedTuple):
    """Sentences: tokens (B, T) int64, right-padded with PAD; lengths (B,); learned (B, T), with UNK for words that are
    not in the training text; and the forms of the words:

    forms (B, T): each word's index among the batch's distinct words; letters (U, C) ids, right-padded with PAD;
    letter_counts (U,); shapes (U,), 0 … SHAPES − 1. The first of the distinct words represents padding. features (B, T,
    M) int64, rows of hand-made features, 0 at padding; None if the network uses no features.
    """

    tokens: torch.Tensor
    lengths: torch.Tensor
    learned: torch.Tensor
    forms: torch.Tensor
    letters: torch.Tensor
    letter_counts: torch.Tensor
    shapes: torch.Tensor
    features: torch.Tensor | None = None


@dataclass(frozen=True)
class TaggerWords:
    """The vocabulary and the letters of a tagger.

    Attributes:
        words: first the `training_words` words of the training text.
        characters: letters of the training text.
        lowercase: whether and how words are lower-cased; letters and shapes never are.
        digits: whether every digit in words is replaced by 0.
    """

    words: list[str]
    training_words: int
    characters: list[str]
    lowercase: Lower = True
    digits: bool = True

    @classmethod
    def of(
        cls, sentences: Sequence[Tagged], *, lowercase: Lower, digits: bool, min_count: int, more: Iterable[str] = ()
    ) -> Self:
        """The words of training sentences, most frequent first.

        Args:
            min_count: rarer words have no id, unless they are in `more`: words with a vector.
        """
        empty = cls([], 0, [], lowercase, digits)
        counts = Counter(empty.folded(word) for sentence in sentences for word in sentence.words)
        kept = sorted((word for word, count in counts.items() if count >= min_count), key=lambda w: (-counts[w], w))
        letters = sorted({letter for sentence in sentences for word in sentence.words for letter in word})
        words = list(dict.fromkeys([*kept, *(empty.folded(word) for word in more)]))
        return cls(words, len(kept), letters, lowercase, digits)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of ids of all words, of words of the training text, and of letters; including special tokens."""
        return _FIRST + len(self.words), _FIRST + self.training_words, _FIRST + len(self.characters)

    def folded(self, word: str) -> str:
        """The word in the form of the vocabulary."""
        word = lower(word, self.lowercase)
        return "".join("0" if letter.isdigit() else letter for letter in word) if self.digits else word

    @cached_property
    def index(self) -> dict[str, int]:
        """Word → id."""
        return {word: _FIRST + position for position, word in enumerate(self.words)}

    @cached_property
    def _letters(self) -> dict[str, int]:
        return {letter: _FIRST + position for position, letter in enumerate(self.characters)}

    def encode(self, words: Sequence[str]) -> Encoded:
        """A sentence as ids."""
        known = self.index
        return Encoded(np.array([known.get(self.folded(word), UNK) for word in words], dtype=np.int32), tuple(words))

    def letters(self, word: str) -> list[int]:
        """BOS, the ids of a word's letters, EOS."""
        if len(word) > LETTERS:
            word = word[: LETTERS // 2] + word[-LETTERS // 2 :]
        return [BOS, *(self._letters.get(letter, UNK) for letter in word), EOS]

    def collate(self, rows: Sequence[Encoded]) -> SentenceBatch:
        """Sentences as one padded batch."""
        lengths = [len(row.ids) for row in rows]
        tokens = np.full((len(rows), max(lengths)), PAD, dtype=np.int64)
        forms = np.zeros_like(tokens)
        distinct: dict[str, int] = {"": 0}
        for position, row in enumerate(rows):
            tokens[position, : lengths[position]] = row.ids
            forms[position, : lengths[position]] = [distinct.setdefault(word, len(distinct)) for word in row.words]
        spelt = [self.letters(word) for word in distinct]
        counts = [len(letters) for letters in spelt]
        letters = np.full((len(spelt), max(counts)), PAD, dtype=np.int64)
        for position, entry in enumerate(spelt):
            letters[position, : counts[position]] = entry
        shapes = [shape_of(word) for word in distinct]
        learned = np.where(tokens < self.sizes[1], tokens, UNK)
        return SentenceBatch(
            *(torch.from_numpy(tokens), torch.tensor(lengths), torch.from_numpy(learned), torch.from_numpy(forms)),
            *(torch.from_numpy(letters), torch.tensor(counts), torch.tensor(shapes)),
            _padded_features([row.features for row in rows if row.features is not None], tokens.shape[1]),
        )

    def description(self) -> dict[str, object]:
        """The data for `words_from` to restore them, for JSON."""
        return {key: getattr(self, key) for key in sorted(KEYS)}


def _padded_features(rows: Sequence[np.ndarray], length: int) -> torch.Tensor | None:
    """The features of the sentences of a batch: (T, M) each → (B, T, M) int64."""
    if not rows:
        return None
    features = np.zeros((len(rows), length, max(row.shape[1] for row in rows)), dtype=np.int64)
    for position, row in enumerate(rows):
        features[position, : row.shape[0], : row.shape[1]] = row
    return torch.from_numpy(features)


def words_from(path: Path, value: JSONObject) -> TaggerWords:
    """Restore from the `description` in a file.

    Raises:
        InputError: the file has other content.
    """
    words, letters = word_list(path, value["words"]), word_list(path, value["characters"])
    first = value["training_words"]
    if type(first) is not int or not 0 <= first <= len(words):
        raise InputError(f"{path}: training_words: not a whole number from 0 to {len(words):,}")
    lowercase, digits = value["lowercase"], value["digits"]
    if not is_lower(lowercase):
        raise InputError(f"{path}: lowercase: not true, false, tr or lt")
    if not isinstance(digits, bool):
        raise InputError(f"{path}: digits: not true or false")
    return TaggerWords(words, first, letters, lowercase, digits)


def shape_of(word: str) -> int:
    """0 no letter or digit, 1 lower, 2 Title, 3 CAPITALS, 4 mixed, 5 digits, 6 with digits, 7 one capital."""
    letters = [letter for letter in word if letter.isalpha()]
    if any(letter.isdigit() for letter in word):
        return 6 if letters else 5
    if not letters:
        return 0
    if len(letters) == 1 and letters[0].isupper():
        return 7
    if all(letter.isupper() for letter in letters):
        return 3
    if not any(letter.isupper() for letter in letters):
        return 1
    return 2 if word[0].isupper() and not any(letter.isupper() for letter in letters[1:]) else 4
