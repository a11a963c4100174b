"""Base of taggers that are not networks. They are fitted to all training sentences at once, and store arrays.

Shape legend: T words, K tags, B sentences.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from langladder.ground import artefacts, schema
from langladder.ground.errors import InputError
from langladder.ground.progress import Stopwatch
from langladder.models.classification.classifier import read_reading
from langladder.models.making import ModelSettings, TrainingResult
from langladder.models.saving import ARRAYS, READING, Saved, write_model
from langladder.models.tagging.tagger import Sentences, Tagger
from langladder.nn.crf import Chain, marginals, viterbi
from langladder.text.labelled.labelled import Tagged

AT_ONCE = 256  # sentences scored together


class CountedTagger(Tagger):
    """A tagger fitted by counting, or by a library. Built as `cls(config, tags)`.

    Attributes:
        KEYS: keys of reading.json besides the labels; their values are lists of strings.
    """

    approach: ClassVar[str] = "counted"
    maker: ClassVar[str] = f"{__name__}.make"
    KEYS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, config: schema.Config, tags: Sequence[str]) -> None:
        self.config, self.tags = config, list(tags)

    @abstractmethod
    def fit(self, sentences: Sequence[Tagged], tags: np.ndarray) -> None:
        """Estimate everything.

        Args:
            tags: ids of the tags of all words, one sentence after another.
        """

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Every array that defines the fitted tagger, by name."""

    @abstractmethod
    def lists(self) -> dict[str, list[str]]:
        """The lists of `KEYS`."""

    @abstractmethod
    def restore(self, arrays: Mapping[str, np.ndarray], lists: Mapping[str, list[str]]) -> None:
        """Restore the results of `arrays` and `lists`. Raises ValueError if they do not fit."""

    @abstractmethod
    def scores(self, words: Sequence[str]) -> np.ndarray:
        """The score of each tag for each word alone: (T, K) float64, natural logarithms up to a constant per word."""

    def chain(self) -> Chain | None:
        """The scores of transitions; None if a word's tag only depends on the word."""
        return None

    def tag(self, sentences: Sentences) -> list[list[str]]:
        """See `Tagger.tag`: Viterbi if there is a chain."""
        chain = self.chain()
        if chain is None:
            return [[self.tags[tag] for tag in self._scored(words).argmax(axis=1)] for words in sentences]
        tags: list[list[str]] = []
        for first in range(0, len(sentences), AT_ONCE):
            rows, lengths = self._padded(sentences[first : first + AT_ONCE])
            paths, _ = viterbi(rows, chain, np.maximum(lengths, 1))
            tags += [[self.tags[tag] for tag in path[:length]] for path, length in zip(paths, lengths, strict=True)]
        return tags

    def log_probs(self, sentences: Sentences) -> list[np.ndarray]:
        """See `Tagger.log_probs`: marginals if there is a chain."""
        chain = self.chain()
        if chain is None:
            return [scores - np.logaddexp.reduce(scores, axis=1)[:, None] for scores in map(self._scored, sentences)]
        log_probs: list[np.ndarray] = []
        for first in range(0, len(sentences), AT_ONCE):
            rows, lengths = self._padded(sentences[first : first + AT_ONCE])
            with np.errstate(divide="ignore"):
                logs = np.log(marginals(rows, chain, np.maximum(lengths, 1)))
            log_probs += [row[:length] for row, length in zip(logs, lengths, strict=True)]
        return log_probs

    def number_of_parameters(self) -> int:
        """See `Tagger.number_of_parameters`: only values that are not 0, because most words have one tag."""
        return sum(int(np.count_nonzero(array)) for array in self.arrays().values())

    def save(self, folder: Path) -> None:
        """See `Tagger.save`."""
        sizes = {"number_of_labels": len(self.tags)}
        write_model(folder, self, self.config, sizes, self.arrays(), self._write_beside)

    def _write_beside(self, folder: Path) -> None:
        artefacts.write_json(folder / READING, {"labels": self.tags, **self.lists()})

    @classmethod
    def from_saved(cls, saved: Saved, folder: Path) -> Self:
        """See `Model.from_saved`."""
        tags, reading = read_reading(folder, set(cls.KEYS), saved.sizes[0])
        tagger: Self = cls(saved.config, tags)
        tagger.normalisation = saved.normalisation
        path = Path(folder) / ARRAYS
        lists = {key: _strings(Path(folder) / READING, key, reading[key]) for key in cls.KEYS}
        arrays = artefacts.read_arrays(path)
        try:
            _finite(arrays)
            tagger.restore(arrays, lists)
        except (ValueError, KeyError) as error:
            raise InputError(f"{path}: the arrays do not fit config.json and {READING} ({error})") from error
        return tagger

    def _scored(self, words: Sequence[str]) -> np.ndarray:
        return self.scores(words) if len(words) else np.zeros((0, len(self.tags)))

    def _padded(self, sentences: Sentences) -> tuple[np.ndarray, np.ndarray]:
        lengths = np.array([len(words) for words in sentences], dtype=np.int64)
        rows = np.zeros((len(sentences), max(1, int(lengths.max())), len(self.tags)))  # (B, T, K)
        for row, words in enumerate(sentences):
            rows[row, : len(words)] = self._scored(words)
        return rows, lengths


def shaped(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ValueError unless the arrays are float64 of these names and shapes."""
    if set(arrays) != set(shapes):
        raise ValueError(f"they are {sorted(arrays)[:8]}, expected {sorted(shapes)}")
    for name, shape in shapes.items():
        if arrays[name].shape != shape or arrays[name].dtype != np.float64:
            raise ValueError(f"{name} is {arrays[name].dtype} {arrays[name].shape}, expected float64 {shape}")


def _finite(arrays: Mapping[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} has a number that is not finite")


def _strings(path: Path, key: str, value: object) -> list[str]:
    if (
        not isinstance(value, list)
        or not all(isinstance(entry, str) for entry in value)
        or len(set(value)) < len(value)
    ):
        raise InputError(f"{path}: {key}: not a list of different strings")
    return value


def tag_ids(sentences: Sequence[Tagged], tags: Sequence[str]) -> np.ndarray:
    """Ids of the tags of all words, one sentence after another, (W,) int64.

    Raises:
        InputError: a tag is not among `tags`, or a sentence has none.
    """
    ids = {tag: position for position, tag in enumerate(tags)}
    rows = []
    for sentence in sentences:
        if sentence.tags is None or len(sentence.tags) != len(sentence.words):
            raise InputError(f"{' '.join(sentence.words)[:60]!r}: the number of tags differs from the number of words")
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            if tag not in ids:
                raise InputError(f"{word[:60]!r}: the tag {tag[:60]!r} is not one of {', '.join(tags)[:200]}")
            rows.append(ids[tag])
    return np.array(rows, dtype=np.int64)


def make(
    kind: type[CountedTagger],
    tags: Sequence[str],
    train: Sequence[Tagged],
    validation: Sequence[Tagged],  # noqa: ARG001 - the signature of all makers
    *,
    settings: ModelSettings[schema.Config],
    **_: object,
) -> tuple[CountedTagger, TrainingResult]:
    """Fit a tagger; see `models.making`."""
    if not any(sentence.words for sentence in train):
        raise InputError("tagging: no training sentence; see the report of the stage `clean`")
    tagger = kind(settings.model, tags)
    ids = tag_ids(train, tags)
    clock = Stopwatch()
    tagger.fit(train, ids)
    return tagger, TrainingResult([], clock.cost(len(ids)))
