"""Speech recognition with CTC: noisy frames → characters, whose places nobody knows."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from pydantic import Field

from langladder import schema
from langladder.corpora.speech import ALPHABET, SpeechConfig, Utterance, generate_speech
from langladder.models.ctc import CTCConfig, CTCRecognizer
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.sequence import SequenceTask

if TYPE_CHECKING:
    from langladder.tasks.training import TrainingResult


class SpeechTraining(TrainingConfig):
    """Training settings of recognisers."""

    batch_size: int = Field(default=16, ge=1)
    """Utterances a step."""


class SpeechRecognition(SequenceTask):
    """Spoken sentences of microworld."""

    Config: ClassVar[type[schema.Config]] = CTCConfig
    Data: ClassVar[type[schema.Config]] = SpeechConfig
    Training: ClassVar[type[TrainingConfig]] = SpeechTraining

    @cached_property
    def _splits(self) -> dict[str, list[Utterance]]:
        return generate_speech(self.data_config, self.seed)

    def data(self) -> dict[str, list[Utterance]]:
        """See `SequenceTask.data`."""
        return self._splits

    def train(self, training: Any, *, work: Path, logger: Any = None) -> "tuple[TrainingResult, Any]":
        """See `SequenceTask.train`."""
        from langladder.tasks.ctc import train_recognizer

        torch.manual_seed(self.seed)
        model = CTCRecognizer(self.model_config, self.data_config.dimensions, len(ALPHABET))
        result = train_recognizer(
            model,
            self._splits["train"],
            self._splits["validation"],
            training,
            batch_size=training.batch_size,
            seed=self.seed,
            work=work,
            logger=logger,
        )
        return result, model
