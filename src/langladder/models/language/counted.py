"""The base of language models that are fitted by counting: one pass over the training stream, no gradients."""

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from langladder.ground import artefacts
from langladder.ground.errors import InputError
from langladder.ground.progress import Stopwatch, working
from langladder.models.language.language_model import LanguageModel
from langladder.models.making import TrainingResult
from langladder.models.saving import ARRAYS, Saved, write_model
from langladder.text.storage.token_streams import TokenStream

WARM_UP_TOKENS = 1000


class CountedLanguageModel(LanguageModel):
    """A language model fitted by counting."""

    maker: ClassVar[str] = f"{__name__}.make"
    _read_arrays = staticmethod(artefacts.read_arrays)  # reads the arrays for `load`

    def warm_up(self, stream: TokenStream) -> None:
        """Compile the kernels of `fit` on the first documents, with another model, outside the measured time."""
        with suppress(InputError):  # too little text for some models, but enough to compile everything
            type(self)(self.config, self.vocab_size).fit(stream.beginning(WARM_UP_TOKENS))

    @abstractmethod
    def fit(self, stream: TokenStream) -> None:
        """Count the training stream and estimate the probabilities."""

    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Every array that defines the fitted model, by name."""

    @abstractmethod
    def set_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore the arrays of `arrays`. Raises ValueError if names or shapes do not fit."""

    def number_of_parameters(self) -> int:
        """See `LanguageModel.number_of_parameters`."""
        return sum(array.size for array in self.arrays().values())

    def save(self, folder: Path) -> None:
        """See `LanguageModel.save`."""
        write_model(folder, self, self.config, {"vocab_size": self.vocab_size}, self.arrays())

    @classmethod
    def from_saved(cls, saved: Saved, folder: Path) -> Self:
        """See `Model.from_saved`."""
        model: Self = cls(saved.config, *saved.sizes)
        path = Path(folder) / ARRAYS
        arrays = cls._read_arrays(path)
        try:
            model.set_arrays(arrays)
        except ValueError as error:
            raise InputError(f"{path}: the arrays do not fit config.json ({error})") from error
        return model


def make(
    model: CountedLanguageModel,
    tokenizer: object,  # noqa: ARG001 - the signature of all makers
    train: TokenStream,
    *_: object,
    **__: object,
) -> TrainingResult:
    """Fit the model; kernels are compiled before the time is measured. For the arguments see `models.making`."""
    with working("compiling"):
        model.warm_up(train)
    clock = Stopwatch()
    model.fit(train)
    return TrainingResult([], clock.cost(len(train.ids)))
