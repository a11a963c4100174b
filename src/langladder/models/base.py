"""The base of every model: settings, an approach, a count of its parameters, saving and loading.

Beneath it stand the roles, each with a contract of its own and its shapes: `LanguageModel`, `Translator`, `Classifier`,
`Tagger`, `Reader`, `Encoder`.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Self

from langladder.ground import schema
from langladder.models.saving import read_description
from langladder.text.words.normalisation import Normalisation


class Model(ABC):
    """Built as `cls(config, …)`; its role defines the other arguments.

    Attributes:
        Config: schema of the settings.
        approach: rungs of one approach stand together in the report.
        maker: the function that makes a trained one, see `models.making`.
        by_gradient: whether it is trained by gradient without a `training` among its settings, by kernels of its own.
        SIZES: what besides the settings it is built with, by the names in config.json: vocabularies, labels.
        WHAT: such a model in words, for messages.
        normalisation: how the training texts were written; what is asked from outside (`serving`) is written so first.
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
        """Inputs of such a model besides texts and their targets: trees; "" for most."""
        del config
        return ""

    @abstractmethod
    def number_of_parameters(self) -> int:
        """Stored numbers that were estimated or learned; shared ones count once."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write `model.safetensors`, `config.json` and the files beside them into `folder`, all or nothing."""

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a saved model: `LanguageModel.load` reads any language model, a class of its own only its own kind.

        Raises:
            InputError: missing or damaged files, another format version, another kind of model, arrays that do not fit.
        """
        model: Self = read_description(folder, cls, cls.SIZES, cls.WHAT).kind.load(folder)
        return model
