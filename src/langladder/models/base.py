"""The base of every model: settings, approach, number of parameters, saving and loading.

Its subclasses are the roles, each with its own interface and shapes: `LanguageModel`, `Translator`, `Classifier`,
`Tagger`, `Reader`, `Encoder`.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Self

from langladder.ground import schema
from langladder.models.saving import Saved, read_description
from langladder.text.words.normalisation import Normalisation


class Model(ABC):
    """Built as `cls(config, …)`; its role defines the other arguments.

    Attributes:
        Config: schema of the settings.
        approach: the report groups rungs by approach.
        maker: the function that makes a trained model, see `models.making`.
        by_gradient: whether its own kernels train it by gradient, without `training` in its settings.
        SIZES: the other arguments of its constructor, by their names in config.json: vocabulary sizes, number of
            labels.
        WHAT: the kind of model in words, for messages.
        normalisation: the normalisation of the training texts; requests from outside (`serving`) are normalised in the
            same way.
    """

    Config: ClassVar[type[schema.Config]] = schema.Config
    approach: ClassVar[str] = ""
    maker: ClassVar[str]
    by_gradient: ClassVar[bool] = False
    SIZES: ClassVar[tuple[str, ...]] = ()
    WHAT: ClassVar[str] = "model"
    config: schema.Config
    normalisation: Normalisation = Normalisation()

    @classmethod
    def also_given(cls, config: schema.Config) -> str:
        """Inputs of the model besides texts and their targets: trees; "" for most models."""
        del config
        return ""

    @abstractmethod
    def number_of_parameters(self) -> int:
        """The number of stored values that were estimated or learned; shared ones count once."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write `model.safetensors`, `config.json` and further files into `folder`, atomically."""

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a saved model. `LanguageModel.load` reads any language model; `load` of a subclass only reads its own
        kind.

        Raises:
            InputError: files are missing or damaged, or they have another format version, another kind of model, or
                arrays that do not fit.
        """
        saved = read_description(folder, cls, cls.WHAT)
        model: Self = saved.kind.from_saved(saved, Path(folder))
        return model

    @classmethod
    def from_saved(cls, saved: Saved, folder: Path) -> Self:
        """The model of this class with the files of `folder`, whose config.json is read already: its part of `load`."""
        raise NotImplementedError(f"{cls.__name__} does not define from_saved, which builds it from its files")
