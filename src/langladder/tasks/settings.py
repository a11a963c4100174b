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


class Distil(Config):
    """Training with a teacher, see `tasks.distillation`."""

    temperature: float = Field(default=2.0, ge=0.1, le=100)
    """τ, by which the logits of both networks are divided."""
    weight: float = Field(default=0.5, ge=0, le=1)
    """w of the teacher's probabilities; 1 − w is the weight of the text itself."""


class SequenceTraining(TrainingConfig):
    """Training settings of networks that read sequences of tokens, and can have a teacher: the rung's base."""

    sequence_length: int = Field(default=64, ge=1, le=2**20)
    distil: Distil | None = None
    """null: the rung starts from its base."""

    def check_rung(self, kind: type | None, *, base: str | None, seeds: int, model: Config | None) -> None:
        """See `TrainingConfig`; a teacher needs another network that learns, and no sequence is longer than what the
        network reads."""
        super().check_rung(kind, base=base, seeds=seeds, model=model)
        if self.distil is not None and (model is None or base is None):
            raise ValueError(
                "training.distil: only for rungs with a base, their teacher, and a network of their own (_target_, "
                "model), such as conf/lm/lstm_distilled.yaml; set it to null"
            )
        context = getattr(model, "context", None)
        if context is not None and self.sequence_length > context:
            raise ValueError(f"training.sequence_length={self.sequence_length} exceeds model.context={context}")


class LMTrainingConfig(SequenceTraining):
    """Training settings of language models. A rung with a base can have it as teacher."""

    batch_size: int = Field(default=32, ge=1, le=2**20)
    """Parallel streams (recurrent) or windows (bounded context) per step. With model.rows=documents, as many documents
    of similar length as have at most batch_size · sequence_length tokens, padding included."""
    sequence_length: int = Field(default=64, ge=1, le=2**20)
    """Tokens per step of each stream, window or document."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    validation_tokens: int | None = Field(default=None, ge=1)
    """Validate during training on about this many tokens; null = on all."""


class InputVectors(Config):
    """Initial values of a model's input embedding."""

    vectors: str | None = Field(default=None, min_length=1)  # folder or file of word vectors; null: random values
    frozen: bool = False  # true: the input embedding is not trained
    damaged: Policy = "skip"  # damaged entries of a foreign file: skip and count them, or strict: raise an error

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
    """How texts are split into words; leaves of trees and words of tagged sentences are not split."""
    lowercase: bool = True
    spread: float | None = Field(default=None, gt=0, le=10)
    """Vectors are scaled to this standard deviation of their numbers; null: D^−½, that of random rows."""
    min_count: int = Field(default=1, ge=1)
    """Rarer words of the training texts are unknown, unless there is a vector for them."""


class TransferInput(ReadingInput):
    """The same for a rung whose input embedding starts with its base's vectors."""

    @model_validator(mode="after")
    def _something_to_freeze(self) -> Self:
        if self.vectors is not None:
            raise ValueError(f"vectors={self.vectors!r}: the rung starts with its base's vectors; set vectors to null")
        return self


class EpochTraining(TrainingConfig):
    """Training settings of tasks with a few epochs over their examples."""

    batch_size: int = Field(default=32, ge=1, le=2**20)
    """Examples per step: texts, dialogues, or prompts with their answers."""
    epochs: float | None = Field(default=None, gt=0)
    """Passes over the training examples, in at most `max_steps` steps; null: only max_steps limits training."""
    validations: int = Field(default=10, ge=1)
    """Number of validations, evenly spread over training; replaces validate_every."""

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
    """balanced: texts of rare labels have a higher weight, so that all labels have the same total weight. With
    early_stopping=accuracy, the best weights then have the highest mean accuracy over the labels."""


class PretrainingMix(Config):
    """Additional training on plain text, against forgetting, as in PPO-ptx (Ouyang et al. 2022, section 3.5)."""

    weight: float = Field(default=0.0, ge=0, le=1000)
    """γ, the weight of the mean cross-entropy in nats per token; 0: no plain text. The paper's 27.8 is for losses with
    other weights."""
    windows: int = Field(default=8, ge=1)
    """Windows of plain text per update."""
    length: int = Field(default=64, ge=1)
    """Tokens per window."""


class InstructionTraining(EpochTraining):
    """Training settings of supervised fine-tuning on dialogues."""

    early_stopping: Literal["validation_loss", "reward"] = "reward"
    """The measure that selects the best weights, also used by `patience`; reward: a judge's rewards of greedy
    answers."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    judged: int = Field(default=200, ge=1)
    """Validation prompts, evenly spread, that are answered and judged at each validation."""
    max_tokens: int = Field(default=40, ge=1, le=8192)
    """Maximum tokens of such an answer."""
    too_long: Literal["refuse", "leave_out"] = "refuse"
    """What to do with dialogues that exceed the model's context."""
    repeats: int = Field(default=1, ge=1)
    """Maximum repeats per epoch of dialogues of rare kinds, to balance the kinds; 1: no repeats."""
    pretraining: PretrainingMix = PretrainingMix()


class RewardTraining(EpochTraining):
    """Training settings of reward models."""

    early_stopping: Literal["validation_loss", "accuracy"] = "accuracy"
    """The measure that selects the best weights, also used by `patience`; accuracy: that on the validation pairs."""
    pairs: Literal["together", "apart"] = "together"
    """together: all pairs of a prompt in one batch, each response is read once per epoch; apart: each pair is an
    example."""
    too_long: Literal["refuse", "leave_out"] = "refuse"
    """What to do with prompts with a response that exceeds the model's context."""


class SpeechTraining(TrainingConfig):
    """Training settings of recognisers."""

    batch_size: int = Field(default=16, ge=1, le=2**20)
    """Utterances per step."""


class GuidedAttention(Config):
    """A loss on attention away from the diagonal, see `nn.attention.guided`."""

    weight: float = Field(default=1.0, gt=0)
    """Of this loss, which is added to the loss per token."""
    width: float = Field(default=0.2, gt=0, le=10)
    """g: the part of a sentence by which attention may be off the diagonal."""


class DecoderTraining(TrainingConfig):
    """Training settings of networks with a decoder that is conditioned on a source."""

    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    scheduled_sampling: float = Field(default=0.0, ge=0, le=1)
    """Share of the decoder's input words that the model predicted itself; rises linearly to this value at the last
    step; 0 = teacher forcing."""
    guided_attention: GuidedAttention | None = None
    """Of networks with one attention, whose target is in the order of the source; null: none."""

    def check_rung(self, kind: type | None, *, base: str | None, seeds: int, model: Config | None) -> None:
        """See `TrainingConfig`; only one attention to the source can be guided."""
        super().check_rung(kind, base=base, seeds=seeds, model=model)
        if self.guided_attention is not None and kind is not None and not hasattr(kind, "attended"):
            raise ValueError(
                f"training.guided_attention: a {kind.__name__} does not have one attention to its source; set it to "
                "null, or choose such a class: AttentionSeq2Seq, LuongSeq2Seq, AttentionRecognizer"
            )


class AttentiveSpeechTraining(DecoderTraining, SpeechTraining):
    """Training settings of recognisers with attention."""


class TranslationTraining(DecoderTraining):
    """Training settings of translators."""

    batch_tokens: int = Field(default=2048, ge=1, le=2**26)
    """Maximum size of a batch: sentence pairs × longest side, or tokens if no padding is computed (Transformers)."""
    max_length: int = Field(default=200, ge=2)
    """Pairs with a longer side, including special tokens, are left out of training."""
    early_stopping: Literal["validation_loss", "bleu"] = "validation_loss"
    """The measure that selects the best weights, also used by `patience`; bleu: that of greedy translations."""
    bleu_pairs: int = Field(default=200, ge=1)
    """Validation pairs, evenly spread, that are translated for early_stopping=bleu."""


class Reward(Config):
    """Training by the quality of whole translations, see `tasks.translation_reward`."""

    method: Literal["risk", "self_critical"] = "risk"
    samples: int = Field(default=8, ge=1, le=1000)
    """M: translations drawn for each sentence of a batch."""
    alpha: float = Field(default=0.005, gt=0, le=100)
    """α of risk: small makes Q flat, 1 makes it P; not used by self_critical."""
    max_ratio: float = Field(default=2.0, gt=0, le=1000)
    """Most tokens of a drawn translation for each source token, plus 10."""


class TranslationTuning(TranslationTraining):
    """Training settings of translators that start from another one."""

    reward: Reward | None = None
    """null: cross-entropy, as before."""

    @model_validator(mode="after")
    def _has_one_loss(self) -> Self:
        others = ("label_smoothing", "scheduled_sampling", "guided_attention")
        if self.reward is not None and (both := [name for name in others if getattr(self, name)]):
            raise ValueError(
                f"{both[0]}={getattr(self, both[0])}: belongs to cross-entropy, which training by a reward replaces; "
                "leave it out, or set reward to null"
            )
        return self


class MaskedTraining(SequenceTraining):
    """Pre-training settings of encoders. A rung with a base has it as teacher."""

    batch_size: int = Field(default=32, ge=1)
    """Rows per step."""
    sequence_length: int = Field(default=64, ge=8)
    """Maximum tokens of a row, including special tokens."""
    most_lines: int | None = Field(default=None, ge=1)
    """Maximum lines of a row; null: as many as fit. A row of two texts has at least two lines."""
    short: float = Field(default=0.1, ge=0, le=1)
    """Share of the rows that are cut to their first lines."""
    masking: Masking = Field(default_factory=Masking)
    validation_tokens: int | None = Field(default=None, ge=1)
    """Validate during training on about this many tokens; null = on all."""


class EncoderEvaluation(Config):
    """How much of the test text each evaluation of an encoder uses, evenly spread over the text."""

    tokens: int = Field(default=50_000, ge=1)  # tokens in rows with gaps: masked accuracy, next sentences
    share: float = Field(default=0.15, gt=0, lt=1)  # share of these tokens that are masked; all of them are hidden
    sentences: int = Field(default=300, ge=1)  # tokens for pseudo-perplexity: one forward pass per token
    words: int = Field(default=100, ge=0)  # hidden words whose true distribution is computed, if it is known
    shown: int = Field(default=12, ge=0)  # gaps that the report shows


class ReadAs(Config):
    """The units of a tagger."""

    lowercase: bool = True
    """Whether words are lower-cased; letter and shape features always see the case."""
    digits: bool = True
    """Whether every digit in words is replaced by 0."""
    min_count: int = Field(default=1, ge=1)
    """Rarer words of the training text are unknown, unless there is a vector for them."""


class TaggerInput(ReadAs, InputVectors):
    """The units of a tagger, and the initial values of its input embedding."""


class TaggerTransferInput(ReadAs):
    """The same for a rung that starts with the vectors of another rung."""

    vectors: None = None  # the base determines them
    frozen: bool = False  # true: the vectors are not trained


class TaggingTraining(EpochTraining):
    """Training settings of every tagger; `batch_size` counts sentences."""

    early_stopping: Literal["auto", "entity_f1", "accuracy", "validation_loss"] = "auto"
    """The measure that selects the best weights, also used by `patience`. auto: entity_f1 if tags mark phrases (IOB2,
    IOBES), because accuracy is not informative if most tags are O; accuracy otherwise."""


class TaggerTraining(TaggingTraining):
    """Training settings of taggers that read words."""

    word_dropout: float = Field(default=0.25, ge=0, le=1000)
    """α: a training word that occurs n times is treated as unknown with probability α / (α + n) (Kiperwasser & Goldberg
    2016, section 4.2), so that the network learns to handle unknown words."""


InputPart = TypeVar("InputPart", covariant=True)
ModelPart = TypeVar("ModelPart", covariant=True)
TrainingPart = TypeVar("TrainingPart", covariant=True)


class InputSettings(TrainingSettings[TrainingPart], Protocol[InputPart, TrainingPart]):
    """The settings of a rung for makers of networks whose input table can start with word vectors."""

    @property
    def input(self) -> InputPart:
        """The units, and the initial values of the input table."""


class ReadingSettings(
    ModelSettings[ModelPart], InputSettings[InputPart, TrainingPart], Protocol[ModelPart, InputPart, TrainingPart]
):
    """Settings of a rung that reads whole texts or sentences, and builds its model from them."""


class TransferSettings(NamedSettings[ModelPart], TrainingSettings[TrainingPart], Protocol[ModelPart, TrainingPart]):
    """Settings of a rung that starts from another rung's network."""


class InstructedSettings(TrainingSettings[InstructionTraining], Protocol):
    """Settings of a rung that learns to follow instructions."""

    @property
    def dropout(self) -> float | None:
        """Dropout during training; None: that of the base."""


class TunedSettings(TrainingSettings[LMTrainingConfig], Protocol):
    """Settings of a language model that starts from another rung; `model` if `target` is set."""

    @property
    def name(self) -> str:
        """The rung's name, for messages."""

    @property
    def target(self) -> str | None:
        """The class of the network; None: the network is the base's."""

    @property
    def model(self) -> Config:
        """The settings of the network, if `target` is set."""
