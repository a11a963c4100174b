"""The settings in the files of rungs: a class per family, and one for those of its rungs that start from another.

A part that depends on the rung's class (`_target_`) says so: `model` has that class's `Config`, and what only networks
have is `OfNetworks`. A family names its class in `Family.rung`, which imports this module, and with it PyTorch, only if
rungs are checked.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationInfo
from pydantic_core import PydanticKnownError

from langladder.embeddings.postprocess import PostprocessConfig
from langladder.families.family import Continued, Listed, Rung, Values, config_of, is_network, takes_weights
from langladder.families.folds import CurvedRung, FoldedRung
from langladder.ground.schema import Config, locate
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.policy.settings import (
    DPOTraining,
    ExpertIterationTraining,
    GRPOTraining,
    PolicyTraining,
    PPOTraining,
)
from langladder.tasks.settings import (
    AttentiveSpeechTraining,
    ClassifierTraining,
    EncoderEvaluation,
    InputVectors,
    InstructionTraining,
    LMTrainingConfig,
    MaskedTraining,
    ReadingInput,
    ReadingTraining,
    RewardTraining,
    SpeechTraining,
    TaggerInput,
    TaggerTraining,
    TaggerTransferInput,
    TaggingTraining,
    TransferInput,
    TranslationTraining,
    TranslationTuning,
)

T = TypeVar("T")


def _only(has: Callable[[type], bool], *, needed: bool) -> BeforeValidator:
    """A part of the file that a rung has if its class fits `has`.

    Args:
        needed: whether the file must have it then; otherwise all its settings have defaults.
    """

    def check(value: object, info: ValidationInfo) -> object:
        if "target" not in info.data:  # which is a problem of its own
            return value
        if not has(locate(info.data["target"])):
            if value is not None:
                raise PydanticKnownError("extra_forbidden")
            return None
        if value is None and needed:
            raise PydanticKnownError("missing")
        return {} if value is None else value

    return BeforeValidator(check)


_ABSENT: Any = Field(default=None, validate_default=True, exclude_if=lambda value: value is None)

OfNetworks = Annotated[T | None, _only(is_network, needed=True), _ABSENT]
"""Settings that files of networks have, and other files have not."""
InputOfNetworks = Annotated[T | None, _only(is_network, needed=False), _ABSENT]
"""The same for settings with defaults."""


def _has_own_input(kind: type) -> bool:
    return not takes_weights(kind)  # else the base's


class WordVectorRung(Rung):
    """Word vectors."""

    after: PostprocessConfig = PostprocessConfig(steps=[])
    training: OfNetworks[TrainingConfig]


class LanguageModelRung(Rung):
    """A language model."""

    training: OfNetworks[LMTrainingConfig]
    input: InputOfNetworks[InputVectors]


class ContinuedLanguageModel(Continued):
    """A language model that continues the training of its base."""

    training: LMTrainingConfig


class TunedLanguageModel(Rung):
    """A language model with a network of its own, which starts from its base's vectors, or has it as teacher."""

    base: str
    training: Annotated[
        LMTrainingConfig | None, _only(lambda kind: not hasattr(kind, "tuned_maker"), needed=True), _ABSENT
    ]


class EncoderRung(Rung):
    """An encoder."""

    training: MaskedTraining
    judged: EncoderEvaluation = EncoderEvaluation()


class EncoderTransfer(EncoderRung):
    """An encoder that learns from its base."""

    base: str


class ClassifierRung(CurvedRung):
    """A classifier."""

    training: OfNetworks[ClassifierTraining]
    input: InputOfNetworks[ReadingInput]


class ClassifierTransfer(CurvedRung):
    """A classifier that starts from its base: its word vectors, or its network with the base's input."""

    base: str
    training: OfNetworks[ClassifierTraining]
    input: Annotated[TransferInput | None, _only(_has_own_input, needed=False), _ABSENT]


class TaggerRung(FoldedRung):
    """A tagger."""

    training: OfNetworks[TaggerTraining]
    input: InputOfNetworks[TaggerInput]


def _tagger_training(values: Values) -> type[TaggingTraining]:
    """Only networks that read words of their own hide some."""
    return TaggerTraining if _has_own_input(locate(values["_target_"])) else TaggingTraining


class TaggerTransfer(FoldedRung):
    """A tagger that starts from its base: its word vectors, or its network with the base's input."""

    PARTS = MappingProxyType({**FoldedRung.PARTS, "training": _tagger_training})

    base: str
    training: SerializeAsAny[TaggingTraining]
    input: Annotated[TaggerTransferInput | None, _only(_has_own_input, needed=False), _ABSENT]


class ReaderRung(Rung):
    """A reader."""

    training: OfNetworks[ReadingTraining]


class ReaderTransfer(ReaderRung):
    """A reader with the network of its base."""

    base: str


class TranslatorRung(Rung):
    """A translator, or a captioner."""

    training: TranslationTraining


class TranslatorTransfer(Continued):
    """A translator that is trained further."""

    training: TranslationTuning


def _speech_training(values: Values) -> type[SpeechTraining]:
    """Recognisers with attention are trained like translators."""
    return AttentiveSpeechTraining if hasattr(locate(values["_target_"]), "attended") else SpeechTraining


class TranscriberRung(Rung):
    """A recogniser of speech."""

    PARTS = MappingProxyType({**Rung.PARTS, "training": _speech_training})

    training: SerializeAsAny[SpeechTraining]


class InstructRung(Continued):
    """A model that follows instructions."""

    dropout: float | None = Field(default=None, ge=0, lt=1)
    training: InstructionTraining


class RewardRung(Rung):
    """A reward model."""

    base: str
    reads: str
    training: RewardTraining


POLICIES: dict[str, type[PolicyTraining]] = {
    "ppo": PPOTraining,
    "grpo": GRPOTraining,
    "expert_iteration": ExpertIterationTraining,
    "dpo": DPOTraining,
}
"""Method of alignment → the settings of its training."""


class AlignRung(Continued):
    """A model that is trained with rewards or preferences."""

    PARTS = MappingProxyType({"training": lambda values: POLICIES[values["method"]]})

    reads: str
    method: str
    training: SerializeAsAny[PolicyTraining]


class SelectionRung(Continued):
    """A model that gives the best of n answers; it is not trained."""

    reads: str
    method: str
    n: int = Field(ge=1, le=4096)
    max_new_tokens: int = Field(default=32, ge=1, le=4096)


class ClaimRung(Listed):
    """A claim, a probe, or a task in words."""

    PARTS = MappingProxyType({"settings": config_of})

    claim: str
    paper: str | None = None  # the source: authors, year, section; several separated by `;`
    settings: SerializeAsAny[Config]
