"""The models that a server has: found by name, loaded when they are first asked for, let go when memory is short.

A name is that of the folder (`gpt`), or the path where two folders have the same (`models/lm/gpt`, `models/tune/gpt`);
the path always serves. A model that was not asked for longest goes first.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from langladder.errors import InputError

if TYPE_CHECKING:
    from langladder.embeddings.base import WordVectors
    from langladder.models.base import LanguageModel
    from langladder.text.tokenizers import Tokenizer

GRANTED = 2 * 10**9  # bytes of model files that are kept loaded


class UnknownModelError(InputError):
    """There is no model of that name."""


class Rung(NamedTuple):
    """A language model and what it reads; `lock`: it answers one question at a time."""

    model: "LanguageModel"
    tokenizer: "Tokenizer"
    lock: threading.Lock


@dataclass
class Shelf:
    """Models by name.

    Attributes:
        folders: name → where the model is.
        granted: bytes of files, of what is kept loaded; the last one asked for always stays.
    """

    folders: dict[str, Path]
    granted: int = GRANTED
    _loaded: "OrderedDict[tuple[str, Path], tuple[Any, int]]" = field(default_factory=OrderedDict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @classmethod
    def of(cls, folders: Sequence[Path], granted: int = GRANTED) -> Self:
        """A shelf of these folders.

        Raises:
            InputError: one is no folder.
        """
        for folder in folders:
            if not folder.is_dir():
                raise InputError(f"{folder}: no such folder; name saved models, such as models/lm/gpt")
        names = [folder.name for folder in folders]
        return cls(
            {
                name if names.count(name) == 1 else str(folder): folder
                for name, folder in zip(names, folders, strict=True)
            },
            granted,
        )

    def find(self, name: str) -> Path:
        """The folder of a model.

        Raises:
            UnknownModelError: there is none.
        """
        for known, folder in self.folders.items():
            if name in (known, str(folder), folder.as_posix()):
                return folder
        raise UnknownModelError(f"model: {name[:80]!r} is not served; there are {', '.join(self.folders)}")

    def language_model(self, name: str) -> Rung:
        """A language model.

        Raises:
            UnknownModelError: there is none of that name. InputError: it is no language model, or damaged.
        """
        found: Rung = self._have("language model", self.find(name), _read_language_model)
        return found

    def vectors(self, name: str) -> "WordVectors":
        """Word vectors, or the input embedding of a language model. Raises as `language_model` does."""
        found: WordVectors = self._have("word vectors", self.find(name), _read_vectors)
        return found

    def _have(self, what: str, folder: Path, read: Callable[[Path], Any]) -> Any:
        with self._lock:
            key = (what, folder)
            if key not in self._loaded:
                self._loaded[key] = (
                    read(folder),
                    sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
                )
            self._loaded.move_to_end(key)
            while len(self._loaded) > 1 and sum(size for _, size in self._loaded.values()) > self.granted:
                self._loaded.popitem(last=False)
            return self._loaded[key][0]

    @property
    def loaded(self) -> list[str]:
        """The folders of what is loaded now, the one asked for last at the end."""
        return [str(folder) for _, folder in self._loaded]


def _read_language_model(folder: Path) -> Rung:
    from langladder.models.loaded import read_model

    _, model, tokenizer = read_model(folder)
    return Rung(model, tokenizer, threading.Lock())


def _read_vectors(folder: Path) -> "WordVectors":
    from langladder.export.vector_files import read_vectors

    return read_vectors(folder)
