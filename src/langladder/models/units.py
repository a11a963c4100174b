"""The units of a network that reads whole texts: words or subwords, and their ids.

Ids 0 to 3 are the special tokens (`specials`), then come the V − 4 words or subwords, then `<sep>`, `<cls>`, `<mask>`
as V, V + 1, V + 2. A pair of texts is one row with `<sep>` between the two (Devlin et al. 2019, section 3).
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from langladder.ground.artefacts import word_list
from langladder.ground.errors import InputError
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.specials import NAMES, RESERVED, UNK
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.normalisation import Lower, is_lower, lower
from langladder.text.words.segmentation import CHOICES, WordChoice, reading, splitter_of

TOKENIZER = "tokenizer.json"
"""The tokenizer file in the folder of a model that reads subwords."""


class Read(NamedTuple):
    """A text as units: the readable pieces, and their ids (T,) int32."""

    pieces: list[str]
    ids: np.ndarray


class Units(ABC):
    """Text → pieces and ids."""

    vocab_size: int
    """V, the number of special tokens and units."""

    @property
    def full_vocab_size(self) -> int:
        """V and the reserved ids after it: rows of an embedding."""
        return self.vocab_size + len(RESERVED)

    @property
    def separator(self) -> int:
        """Id of `<sep>`."""
        return self.vocab_size

    @abstractmethod
    def text(self, text: str, *, words: bool = False) -> Read:
        """Encode one text. `words`: its words are already separated by single spaces (leaves of a tree)."""

    def example(self, example: Example) -> Read:
        """Encode an example: one text, or two with `<sep>` between them."""
        first = self.text(example.text, words=example.tree is not None or example.heads is not None)
        if example.second is None:
            return first
        second = self.text(example.second)
        between = np.array([self.separator], dtype=np.int32)
        return Read([*first.pieces, RESERVED[0], *second.pieces], np.concatenate([first.ids, between, second.ids]))

    @abstractmethod
    def description(self) -> dict[str, object]:
        """The data for `units_from` to restore them, for JSON; a tokenizer is a separate file."""

    def save_beside(self, folder: Path) -> None:
        """Write the files that are not in the description."""
        del folder


@dataclass(frozen=True)
class WordUnits(Units):
    """Words of a vocabulary; other words are UNK.

    mode: how texts are split into words (`text.words.segmentation`). lowercase: whether and how words are lower-cased.
    """

    words: list[str]
    mode: WordChoice = "apart"
    lowercase: Lower = True

    @property
    def vocab_size(self) -> int:  # type: ignore[override]
        """V."""
        return len(NAMES) + len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """Word → id."""
        return {word: len(NAMES) + position for position, word in enumerate(self.words)}

    @cached_property
    def _split(self) -> Callable[[str], list[str]]:
        return splitter_of(self.mode)

    def ids(self, words: Iterable[str]) -> np.ndarray:
        """(T,) int32 ids of the words of a text."""
        known = self.index
        return np.array([known.get(self.folded(word), UNK) for word in words], dtype=np.int32)

    def folded(self, word: str) -> str:
        """The word in the form of the vocabulary."""
        return lower(word, self.lowercase)

    def with_words(self, words: Iterable[str]) -> Self:
        """The same with additional words at the end, such as all words with a vector."""
        return replace(self, words=list(dict.fromkeys([*self.words, *map(self.folded, words)])))

    def text(self, text: str, *, words: bool = False) -> Read:
        """See `Units.text`."""
        pieces = self.split(text, words=words)
        return Read(pieces, self.ids(pieces))

    def split(self, text: str, *, words: bool = False) -> list[str]:
        """The words of a text, unchanged. `words`: they are already separated by single spaces."""
        parts: list[str] = text.split(" ") if words else self._split(text)
        return parts

    def description(self) -> dict[str, object]:
        """See `Units.description`."""
        return {"kind": "words", "mode": self.mode, "lowercase": self.lowercase, "words": self.words}

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        *,
        mode: WordChoice = "auto",
        lowercase: Lower = True,
        min_count: int = 1,
    ) -> Self:
        """The words of training texts, most frequent first.

        Args:
            mode: `auto` separates punctuation from words, unless it is already separate in the texts.
            min_count: rarer words of the texts get no id.

        Raises:
            InputError: no word is left.
        """
        chosen = reading(mode, texts)
        empty = cls([], chosen, lowercase)
        counts = Counter(empty.folded(word) for text in texts for word in empty._split(text))
        kept = sorted((word for word, count in counts.items() if count >= min_count), key=lambda w: (-counts[w], w))
        if not kept:
            raise InputError(f"input.min_count={min_count} leaves no word of the training texts; lower it")
        return cls(kept, chosen, lowercase)


@dataclass(frozen=True)
class SubwordUnits(Units):
    """The tokens of a langladder tokenizer."""

    tokenizer: Tokenizer

    @property
    def vocab_size(self) -> int:  # type: ignore[override]
        """V."""
        return self.tokenizer.vocab_size

    @property
    def full_vocab_size(self) -> int:
        """See `Units.full_vocab_size`."""
        return self.tokenizer.full_vocab_size

    @property
    def separator(self) -> int:
        """See `Units.separator`."""
        return self.tokenizer.special_id(RESERVED[0])

    def text(self, text: str, *, words: bool = False) -> Read:  # noqa: ARG002 - subwords have no trees
        """See `Units.text`."""
        ids = self.tokenizer.encode(text)
        return Read([self.tokenizer.piece(int(token)) for token in ids], ids)

    def description(self) -> dict[str, object]:
        """See `Units.description`."""
        return {"kind": "subwords"}

    def save_beside(self, folder: Path) -> None:
        """The tokenizer."""
        self.tokenizer.save(Path(folder) / TOKENIZER)


def units_from(path: Path, description: object) -> Units:
    """The units described by a file.

    Args:
        path: the file, for messages; a tokenizer is in the same folder.

    Raises:
        InputError: the file does not describe units.
    """
    if not isinstance(description, dict):
        raise InputError(f"{path}: units: not the words or subwords of a model")
    kind = description.get("kind")
    if kind == "subwords":
        return SubwordUnits(Tokenizer.load(Path(path).parent / TOKENIZER))
    if kind != "words" or set(description) != {"kind", "mode", "lowercase", "words"}:
        raise InputError(f"{path}: units: not the words or subwords of a model")
    mode, lowercase = description["mode"], description["lowercase"]
    if mode not in CHOICES or not is_lower(lowercase):
        raise InputError(f"{path}: units: mode {str(mode)[:40]!r}, lowercase {str(lowercase)[:40]!r} are not allowed")
    return WordUnits(word_list(path, description["words"]), mode, lowercase)
