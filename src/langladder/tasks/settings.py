"""Training settings of each task, in a separate module so that checking settings does not load Lightning."""

import math
from typing import Literal, Protocol, Self, TypeVar

from pydantic import Field, model_validator

from langladder.data.masking import Masking
from langladder.ground.errors import Policy
from langladder.ground.schema import Config
from langladder.models.making import ModelSettings, NamedSettings, TrainingSettings
from langladder.tasks.optimisation import TrainingConfig
from langladder.text.words.segmentation import InstalledWords


class LMTrainingConfig(TrainingConfig):
    """Training settings of language models."""

    batch_size: int = Field(default=32, ge=1, le=2**20)
    """Parallel streams (recurrent) or windows (bounded context) a step."""
    sequence_length: int = Field(default=64, ge=1, le=2**20)
    """Tokens per step in each of them."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    validation_tokens: int | None = Field(default=None, ge=1)
    """Validate during training on about this many tokens; null = on all."""


class InputVectors(Config):
    """Where a model's input embedding begins."""

    vectors: str | None = Field(default=None, min_length=1)  # folder or file of word vectors; null: at random
    frozen: bool = False  # true: the input embedding is not trained
    damaged: Policy = "skip"  # entries of a foreign file: skip leaves them out and counts them, strict refuses the file

    @model_validator(mode="after")
    def _something_to_freeze(self) -> Self:
        if self.frozen and self.vectors is None:
            raise ValueError(
                "frozen=true, but vectors=null: a table of random numbers must be trained; set vectors, or set "
                "frozen to false"
            )
        return self


class ReadingInput(InputVectors):
    """The units of a network that reads whole texts, and the initial values of its input embedding."""

    units: Literal["words", "subwords"] = "words"
    """subwords: the tokens of the text's tokenizer (stage `tokenize`)."""
    words: InstalledWords = "auto"
    """The definition of a word; leaves of trees and words of tagged sentences are not changed."""
    lowercase: bool = True
    spread: float | None = Field(default=None, gt=0, le=10)
    """Standard deviation of the vectors' numbers, to which they are scaled; null: D^−½, as random rows have."""
    min_count: int = Field(default=1, ge=1)
    """Rarer words of the training texts are unknown, unless there is a vector for them."""


class TransferInput(ReadingInput):
    """The same of a rung whose input embedding begins with its base's vectors."""

    @model_validator(mode="after")
    def _something_to_freeze(self) -> Self:
        if self.vectors is not None:
            raise ValueError(f"vectors={self.vectors!r}: the rung starts with those of its base; set vectors to null")
        return self


class EpochTraining(TrainingConfig):
    """Training settings of tasks with a few epochs over their examples."""

    batch_size: int = Field(default=32, ge=1, le=2**20)
    """Examples per step: texts, dialogues, or prompts with their answers."""
    epochs: float | None = Field(default=None, gt=0)
    """Passes over the training examples, in at most `max_steps` steps; null: max_steps alone decides."""
    validations: int = Field(default=10, ge=1)
    """How often to validate, evenly spread; instead of validate_every."""

    def of(self, examples: int) -> Self:
        """The same for a number of training examples: steps for the epochs, and when to validate."""
        steps = self.max_steps
        if self.epochs is not None:
            steps = min(steps, max(1, math.ceil(self.epochs * examples / (self.batch_size * self.accumulate))))
        every = max(1, math.ceil(steps / self.validations))
        return self.model_copy(update={"max_steps": steps, "validate_every": every})


class ReadingTraining(EpochTraining):
    """Training settings of classifiers and readers."""

    early_stopping: Literal["validation_loss", "accuracy"] = "accuracy"
    """The measure that selects the best weights, also used by `patience`."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)


class ClassifierTraining(ReadingTraining):
    """Training settings of classifiers."""

    class_weights: Literal["none", "balanced"] = "none"
    """balanced: texts of rare labels count more, so that each label counts as much in all; the best weights are then
    those with the highest mean accuracy of a label (with early_stopping=accuracy)."""


class PretrainingMix(Config):
    """Plain text to train on as well, against forgetting, as in PPO-ptx (Ouyang et al. 2022, section 3.5)."""

    weight: float = Field(default=0.0, ge=0, le=1000)
    """γ of the mean cross-entropy in nats per token; 0: none. The paper's 27.8 belongs to losses weighed otherwise."""
    windows: int = Field(default=8, ge=1)
    """Windows of plain text an update."""
    length: int = Field(default=64, ge=1)
    """Tokens of each."""


class InstructionTraining(EpochTraining):
    """Training settings of supervised fine-tuning on dialogues."""

    early_stopping: Literal["validation_loss", "reward"] = "reward"
    """The measure that selects the best weights, also for `patience`; reward: of greedy answers, by a judge."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    judged: int = Field(default=200, ge=1)
    """Validation prompts, evenly spread, that are answered and judged at each validation."""
    max_tokens: int = Field(default=40, ge=1, le=8192)
    """Of such an answer, at most."""
    too_long: Literal["refuse", "leave_out"] = "refuse"
    """Dialogues that exceed the model's context."""
    repeats: int = Field(default=1, ge=1)
    """Maximum repeats per epoch of dialogues of rare kinds, to balance the kinds; 1: no repeats."""
    pretraining: PretrainingMix = PretrainingMix()


class RewardTraining(EpochTraining):
    """Training settings of reward models."""

    early_stopping: Literal["validation_loss", "accuracy"] = "accuracy"
    """The measure that selects the best weights, also used by `patience`; accuracy: of the validation pairs."""
    pairs: Literal["together", "apart"] = "together"
    """together: all pairs of a prompt in one batch, each response read once an epoch; apart: each pair an example."""
    too_long: Literal["refuse", "leave_out"] = "refuse"
    """Prompts with a response that exceeds the model's context."""


class SpeechTraining(TrainingConfig):
    """Training settings of recognisers."""

    batch_size: int = Field(default=16, ge=1, le=2**20)
    """Utterances per step."""


class TranslationTraining(TrainingConfig):
    """Training settings of translators."""

    batch_tokens: int = Field(default=2048, ge=1, le=2**26)
    """The most cells (sentence pairs × longest side) of a batch; tokens where no padding is computed (Transformers)."""
    max_length: int = Field(default=200, ge=2)
    """Pairs with a longer side, specials included, are left out of training."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    scheduled_sampling: float = Field(default=0.0, ge=0, le=1)
    """Share of the decoder's input words that are its own, reached linearly at the last step; 0 = teacher forcing."""
    early_stopping: Literal["validation_loss", "bleu"] = "validation_loss"
    """The measure that selects the best weights, also used by `patience`; bleu: of greedy translations."""
    bleu_pairs: int = Field(default=200, ge=1)
    """Validation pairs, evenly spread, that are translated for early_stopping=bleu."""


class MaskedTraining(TrainingConfig):
    """How an encoder is pre-trained."""

    batch_size: int = Field(default=32, ge=1)
    """Rows a step."""
    sequence_length: int = Field(default=64, ge=8)
    """Tokens of a row, specials included, at most."""
    most_lines: int | None = Field(default=None, ge=1)
    """Lines of a row at most; null: as many as fit. Two texts have two lines at least."""
    short: float = Field(default=0.1, ge=0, le=1)
    """Share of the rows that are cut to their first lines."""
    masking: Masking = Field(default_factory=Masking)
    validation_tokens: int | None = Field(default=None, ge=1)
    """Validate during training on about this many tokens; null = on all."""


class EncoderEvaluation(Config):
    """On how much of the test text an encoder is judged; every amount is spread evenly over it."""

    tokens: int = Field(default=50_000, ge=1)  # in rows with gaps: masked accuracy, next sentences
    share: float = Field(default=0.15, gt=0, lt=1)  # of these that are masked, all of them hidden
    sentences: int = Field(default=300, ge=1)  # pseudo-perplexity: a forward pass a token
    words: int = Field(default=100, ge=0)  # hidden words whose true distribution is computed, where it is known
    shown: int = Field(default=12, ge=0)  # gaps that the report shows


class ReadAs(Config):
    """The units of a tagger."""

    lowercase: bool = True
    """Whether case is folded in the list of words; letters and shapes see it in any case."""
    digits: bool = True
    """Whether every digit is a 0 there."""
    min_count: int = Field(default=1, ge=1)
    """Rarer words of the training text are unknown, unless there is a vector for them."""


class TaggerInput(ReadAs, InputVectors):
    """And the initial values of its input embedding."""


class TaggerTransferInput(ReadAs):
    """The same for a rung that starts with the vectors of another rung."""

    vectors: None = None  # its base says which
    frozen: bool = False  # true: they are not trained


class TaggingTraining(EpochTraining):
    """Training settings of every tagger; `batch_size` counts sentences."""

    early_stopping: Literal["auto", "entity_f1", "accuracy", "validation_loss"] = "auto"
    """The measure that selects the best weights, also for `patience`; auto: entity_f1 if tags bracket phrases (IOB2,
    IOBES), because the share of right words says little where most of them are O; accuracy otherwise."""


class TaggerTraining(TaggingTraining):
    """Training settings of taggers that read words."""

    word_dropout: float = Field(default=0.25, ge=0, le=1000)
    """α: a training word that occurs n times is taken for unknown with probability α / (α + n) (Kiperwasser & Goldberg
    2016, section 4.2), so that the network learns what to make of unknown words."""


InputPart = TypeVar("InputPart", covariant=True)
ModelPart = TypeVar("ModelPart", covariant=True)
TrainingPart = TypeVar("TrainingPart", covariant=True)


class InputSettings(TrainingSettings[TrainingPart], Protocol[InputPart, TrainingPart]):
    """The settings of a rung for makers of networks whose input table can start with word vectors."""

    @property
    def input(self) -> InputPart:
        """Its units, and the initial values of its input table."""


class ReadingSettings(
    ModelSettings[ModelPart], InputSettings[InputPart, TrainingPart], Protocol[ModelPart, InputPart, TrainingPart]
):
    """Settings of a rung that reads whole texts or sentences, and builds its model from them."""


class TransferSettings(NamedSettings[ModelPart], TrainingSettings[TrainingPart], Protocol[ModelPart, TrainingPart]):
    """Settings of a rung that starts from another one's network."""


class InstructedSettings(TrainingSettings[InstructionTraining], Protocol):
    """Settings of a rung that learns to follow instructions."""

    @property
    def dropout(self) -> float | None:
        """While it is trained; None: as its base's."""


class TunedSettings(TrainingSettings[LMTrainingConfig], Protocol):
    """Settings of a language model that starts from another rung; `model` if `target` is set."""

    @property
    def name(self) -> str:
        """Its name, for messages."""

    @property
    def target(self) -> str | None:
        """The class of its network; None: it is its base's."""

    @property
    def model(self) -> Config:
        """The settings of a network of its own."""
