"""The base of classifiers that are fitted by counting or by a solver: arrays, and their storage."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from langladder.ground import artefacts, schema
from langladder.ground.artefacts import JSONObject
from langladder.ground.errors import InputError
from langladder.ground.progress import Stopwatch
from langladder.models.classification.classifier import MULTI_LABEL, Classifier, is_multi_label, read_reading
from langladder.models.making import ModelSettings, TrainingResult
from langladder.models.saving import ARRAYS, READING, Saved, write_model
from langladder.text.labelled.labelled import Example


class CountedClassifier(Classifier):
    """Built as `cls(config, labels)`, then fitted.

    language: of the training texts, a BCP 47 tag; lower case depends on it.
    """

    maker = f"{__name__}.make"
    language: str | None = None
    KEYS: ClassVar[frozenset[str]] = frozenset()
    """Keys of reading.json besides the labels."""

    def __init__(self, config: schema.Config, labels: Sequence[str]) -> None:
        self.config, self.labels = config, list(labels)

    @abstractmethod
    def fit(self, train: Sequence[Example], validation: Sequence[Example]) -> None:
        """Estimate from the training texts; the validation texts select settings that must be selected."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Every array that defines the fitted classifier, by name."""

    @abstractmethod
    def set_arrays(self, arrays: Mapping[str, np.ndarray], reading: JSONObject, path: Path) -> None:
        """Restore the results of `arrays` and `reading`. Raises ValueError or InputError if they do not fit."""

    def reading(self) -> dict[str, object]:
        """The content of reading.json besides the labels, as JSON values."""
        return {}

    def number_of_parameters(self) -> int:
        """See `Classifier.number_of_parameters`."""
        return sum(array.size for array in self.arrays().values())

    def save(self, folder: Path) -> None:
        """See `Classifier.save`."""
        sizes = {"number_of_labels": len(self.labels)}
        write_model(folder, self, self.config, sizes, self.arrays(), self._write_beside)

    def _write_beside(self, folder: Path) -> None:
        more = {MULTI_LABEL: True} if self.multi_label else {}
        artefacts.write_json(folder / READING, {"labels": self.labels, **self.reading(), **more})

    @classmethod
    def from_saved(cls, saved: Saved, folder: Path) -> Self:
        """See `Model.from_saved`."""
        labels, reading = read_reading(folder, set(cls.KEYS), saved.sizes[0], frozenset({MULTI_LABEL}))
        model: Self = cls(saved.config, labels)
        model.normalisation, model.multi_label = saved.normalisation, MULTI_LABEL in reading
        path = Path(folder) / ARRAYS
        arrays = artefacts.read_arrays(path)
        try:
            model.set_arrays(arrays, reading, Path(folder) / READING)
        except (ValueError, KeyError) as error:
            raise InputError(f"{path}: the arrays do not fit config.json ({error})") from error
        return model


def finite(name: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array, after a check of its shape and that it is finite. Raises ValueError otherwise."""
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has a number that is not finite")
    return array


def make(
    kind: type[CountedClassifier],
    labels: Sequence[str],
    train: Sequence[Example],
    validation: Sequence[Example],
    *,
    settings: ModelSettings[schema.Config],
    language: str | None = None,
    **_: object,
) -> tuple[CountedClassifier, TrainingResult]:
    """Fit a classifier; see `models.making`.

    Raises:
        InputError: there is no training text.
    """
    if not train:
        raise InputError("classification: no training text; see the report of the stage `clean`")
    model = kind(settings.model, labels)
    model.multi_label = is_multi_label([*train, *validation])
    model.language = language
    clock = Stopwatch()
    model.fit(train, validation)
    return model, TrainingResult([], clock.cost(len(train)))
