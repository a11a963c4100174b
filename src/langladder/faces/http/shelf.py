"""The models of a server: found by name, loaded on the first request, unloaded when memory is short.

The name is that of the folder (`gpt`), or the path if two folders have the same name (`models/lm/gpt`,
`models/tune/gpt`); the path always works. The least recently used model is unloaded first. While a model is loaded,
others can answer. A model that has changed on disk is loaded again.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self, TypeVar, cast

from langladder.answers.kinds import has_vectors, kind_of
from langladder.answers.loading import read_model
from langladder.embeddings.base import WordVectors
from langladder.formats.vector_files import read_vectors
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel
from langladder.text.tokenize.tokenizers import Tokenizer

T = TypeVar("T")
MEMORY = 2 * 10**9  # bytes of model files to keep loaded


class UnknownModelError(InputError):
    """There is no model with this name."""


class Rung(NamedTuple):
    """A language model and its tokenizer; `lock`: it answers one question at a time."""

    model: LanguageModel
    tokenizer: Tokenizer
    lock: threading.Lock


class _Loaded(NamedTuple):
    """Something loaded: its size on disk, and the state of the disk when it was read."""

    value: object
    size: int
    state: tuple[int, int]


@dataclass
class Shelf:
    """Models by name.

    Attributes:
        folders: name → path of the model.
        memory: bytes of model files to keep loaded; the last requested model always stays.
        project: the folder with data/ and reports/ beside the models.
        roots: folders in which `refresh` searches for models again.
        tracking: address of the tracking UI, for links to the run of a model; "" if unknown.
    """

    folders: dict[str, Path]
    memory: int = MEMORY
    project: Path = field(default_factory=Path)
    roots: tuple[Path, ...] = ()
    tracking: str = ""
    _loaded: OrderedDict[tuple[str, Path], _Loaded] = field(default_factory=OrderedDict)
    _reading: dict[tuple[str, Path], threading.Lock] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @classmethod
    def of(cls, folders: Sequence[Path], memory: int = MEMORY) -> Self:
        """A shelf of these folders.

        Raises:
            InputError: one is not a folder.
        """
        for folder in folders:
            if not folder.is_dir():
                raise InputError(f"{folder}: no such folder; give saved models, such as models/lm/gpt")
        return cls(_named(folders), memory)

    @classmethod
    def below(cls, roots: Sequence[Path], memory: int = MEMORY, project: Path | None = None) -> Self:
        """A shelf of every model in or below some folders.

        Args:
            project: see `Shelf`; None: the folder that contains the first root.

        Raises:
            InputError: one is not a folder.
        """
        shelf = cls.of(roots, memory)
        shelf.roots, shelf.project = tuple(roots), roots[0].resolve().parent if project is None else project
        shelf.refresh()
        return shelf

    def refresh(self) -> None:
        """Search the roots for models again."""
        if self.roots:
            self.folders = _named([folder for root in self.roots for folder in models_below(root)])

    def folders_of(self, *kinds: str) -> dict[str, Path]:
        """The models of some kinds, name → folder, without loading any; "vectors": all models with word vectors."""
        items = self.folders.items()
        return {name: at for name, at in items if kind_of(at) in kinds or ("vectors" in kinds and has_vectors(at))}

    def find(self, name: str) -> Path:
        """The folder of a model.

        Raises:
            UnknownModelError: there is none.
        """
        for known, folder in self.folders.items():
            if name in (known, str(folder), folder.as_posix()):
                return folder
        raise UnknownModelError(f"model: {name[:80]!r} is not served; models: {', '.join(self.folders)}")

    def language_model(self, name: str) -> Rung:
        """A language model.

        Raises:
            UnknownModelError: there is no such model. InputError: it is not a language model, or damaged.
        """
        return self.load("language model", self.find(name), _read_language_model)

    def vectors(self, name: str) -> WordVectors:
        """Word vectors, or the input embedding of a language model. Raises as `language_model` does."""
        return self.load("word vectors", self.find(name), read_vectors)

    def load(self, what: str, folder: Path, read: Callable[[Path], T], size: int | None = None) -> T:
        """The result of `read` for a folder (or a file), read on the first request and kept as memory allows.

        Two requests for the same model wait for one load; other models answer meanwhile. A model that has changed on
        disk is loaded again, and a failed load is retried.

        Args:
            what: the kind of thing to read: a folder can be read as several kinds.
            size: bytes that the result takes in memory; None: as many as the files.

        Raises:
            InputError: the folder no longer exists, or as `read` raises.
        """
        key, state = (what, folder), _state(folder)
        if (loaded := self._current(key, state)) is not None:
            return cast(T, loaded.value)
        with self._lock:
            reading = self._reading.setdefault(key, threading.Lock())
        with reading:
            if (loaded := self._current(key, state)) is None:
                if size is None:
                    files = [folder] if folder.is_file() else [file for file in folder.rglob("*") if file.is_file()]
                    size = sum(file.stat().st_size for file in files)
                loaded = _Loaded(read(folder), size, state)
                self._keep(key, loaded)
        return cast(T, loaded.value)

    def _current(self, key: tuple[str, Path], state: tuple[int, int]) -> _Loaded | None:
        with self._lock:
            loaded = self._loaded.get(key)
            if loaded is None or loaded.state != state:
                return None
            self._loaded.move_to_end(key)
            return loaded

    def _keep(self, key: tuple[str, Path], loaded: _Loaded) -> None:
        with self._lock:
            self._loaded[key] = loaded
            self._loaded.move_to_end(key)
            while len(self._loaded) > 1 and sum(entry.size for entry in self._loaded.values()) > self.memory:
                self._loaded.popitem(last=False)

    @property
    def loaded(self) -> list[str]:
        """The folders of all loaded models, the most recently used last."""
        with self._lock:
            return [str(folder) for _, folder in self._loaded]


def _named(folders: Sequence[Path]) -> dict[str, Path]:
    names = [folder.name for folder in folders]
    pairs = zip(names, folders, strict=True)
    return {name if names.count(name) == 1 else folder.as_posix(): folder for name, folder in pairs}


def _state(folder: Path) -> tuple[int, int]:
    """A value that changes if a path is replaced: models are replaced as whole folders, files by renaming."""
    try:
        stat = folder.stat()
    except OSError as error:
        raise InputError(f"{folder}: no such folder any more; was it moved, or is it being trained again?") from error
    return stat.st_ino, stat.st_mtime_ns


def _read_language_model(folder: Path) -> Rung:
    loaded = read_model(folder)
    return Rung(loaded.model, loaded.tokenizer, threading.Lock())


def models_below(folder: Path) -> list[Path]:
    """All folders with a saved model in or below a folder; hidden folders and links are skipped."""
    folders, waiting = [], [folder]
    while waiting:
        current = waiting.pop()
        if kind_of(current) is not None:
            folders.append(current)
            continue
        try:
            inside = sorted(current.iterdir(), reverse=True)
        except OSError:
            continue
        waiting += [
            folder
            for folder in inside
            if folder.is_dir() and not folder.is_symlink() and not folder.name.startswith(".")
        ]
    return folders
