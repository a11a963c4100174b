"""Rungs inside an experiment: the files of conf/classifier and conf/tagger, composed into its settings.

    defaults:
      - /classifier@settings.rungs.text_cnn: text_cnn      claims/conf/claim/*.yaml
      - _self_
    settings:
      rungs: {text_cnn: {model: {filters: 50}}}            changes to the file, for the whole experiment

The experiment sets the number of training steps, so that all of its networks make the same number.
"""

from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from langladder.ground.schema import Config, checked, locate
from langladder.tasks.settings import ReadingInput, ReadingTraining, TaggerInput, TaggerTraining


class ReadingRung(Config):
    """The file of a classifier or tagger. Its class checks `model`; only networks have `training`.

    Subclasses define the types of `input` and `training`.
    """

    name: str
    title: str
    year: int | None = None
    target: str = Field(alias="_target_")
    model: dict[str, object] = Field(default={})
    input: Any = None
    training: Any = None
    DOOR: ClassVar[str]

    @property
    def kind(self) -> Any:
        """The class of the model."""
        return locate(self.target)

    def config(self, **changes: object) -> Any:
        """Settings of the network, with changes to single ones."""
        return checked(self.kind.Config, self.model | changes, f"rung {self.name}")

    def trained(self, **changes: object) -> Any:
        """Training settings, with changes to single ones."""
        assert self.training is not None, self.name
        values = self.training.model_dump() | changes
        return checked(type(self.training), values, f"rung {self.name}")

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        own = {base.__name__ for base in self.kind.__mro__}
        if self.DOOR not in own:
            raise ValueError(f"rung {self.name}: {self.target} is not a {self.DOOR}")
        self.config()
        if self.input.vectors is not None:
            raise ValueError(
                f"rung {self.name}: input.vectors={self.input.vectors!r}: an experiment trains its own vectors; set it "
                "to null"
            )
        if getattr(self.input, "units", "words") != "words":
            raise ValueError(f"rung {self.name}: input.units: an experiment reads words; set it to words")
        return self


class ClassifierRung(ReadingRung):
    """A file of conf/classifier."""

    input: ReadingInput = ReadingInput()
    training: ReadingTraining | None = None
    DOOR: ClassVar[str] = "Classifier"


class TaggerRung(ReadingRung):
    """A file of conf/tagger."""

    input: TaggerInput = TaggerInput()
    training: TaggerTraining | None = None
    DOOR: ClassVar[str] = "Tagger"
