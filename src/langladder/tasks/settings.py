"""Training settings of each task, apart from the tasks so that checking settings loads no Lightning."""

from typing import Literal, Self

from pydantic import Field, model_validator

from langladder.schema import Config
from langladder.tasks.optimisation import TrainingConfig


class LMTrainingConfig(TrainingConfig):
    """Training settings of language models."""

    batch_size: int = Field(default=32, ge=1)
    """Parallel streams (recurrent) or windows (bounded context) a step."""
    sequence_length: int = Field(default=64, ge=1)
    """Tokens per step in each of them."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    validation_tokens: int | None = Field(default=None, ge=1)
    """Validate during training on about this many tokens; null = on all."""


class InputVectors(Config):
    """Where a model's input embedding begins."""

    vectors: str | None = Field(default=None, min_length=1)  # folder or file of word vectors; null: at random
    frozen: bool = False  # true: the input embedding is not trained

    @model_validator(mode="after")
    def _something_to_freeze(self) -> Self:
        if self.frozen and self.vectors is None:
            raise ValueError(
                "frozen=true, but vectors=null: a table of random numbers is not worth freezing; name vectors, or set "
                "frozen to false"
            )
        return self


class SpeechTraining(TrainingConfig):
    """Training settings of recognisers."""

    batch_size: int = Field(default=16, ge=1)
    """Utterances per step."""


class TranslationTraining(TrainingConfig):
    """Training settings of translators."""

    batch_tokens: int = Field(default=2048, ge=1)
    """The most cells (sentence pairs × longest side) of a batch."""
    max_length: int = Field(default=200, ge=2)
    """Pairs with a longer side, specials included, are left out of training."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    scheduled_sampling: float = Field(default=0.0, ge=0, le=1)
    """Share of the decoder's input words that are its own, reached linearly at the last step; 0 = teacher forcing."""
    early_stopping: Literal["validation_loss", "bleu"] = "validation_loss"
    """What `patience` watches and the best weights are chosen by; bleu: of greedy translations."""
    bleu_pairs: int = Field(default=200, ge=1)
    """Validation pairs, evenly spread, that are translated for early_stopping=bleu."""
