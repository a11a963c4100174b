"""Captioning and speech recognition as rungs of one ladder, each with the data that it makes for itself."""

from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch

from langladder import schema
from langladder.corpora.scene_files import Scenes
from langladder.corpora.scenes import SceneConfig, generate_scenes
from langladder.corpora.speech import ALPHABET, SpeechConfig, generate_speech
from langladder.data.captioning import CODES, SceneCodes
from langladder.models.captioner import Captioner, CaptionerConfig
from langladder.models.ctc import CTCConfig, CTCRecognizer
from langladder.models.making import Made
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.settings import SpeechTraining, TranslationTraining


class _Rung(NamedTuple):
    training: Any


class SequenceTask(ABC):
    """A task with the settings of its three parts."""

    Config: ClassVar[type[schema.Config]]
    """Settings of the network."""
    Data: ClassVar[type[schema.Config]]
    """Settings of what is drawn."""
    Training: ClassVar[type[TrainingConfig]]

    def __init__(self, data: Any, model: Any, *, seed: int) -> None:
        self.data_config, self.model_config, self.seed = data.model_copy(update={"seed": seed}), model, seed

    @abstractmethod
    def data(self) -> dict[str, list[Any]]:
        """train, validation and test."""

    @abstractmethod
    def train(self, training: Any, *, work: Path, logger: Any = None) -> tuple[Made, Any]:
        """Train on train, watch validation: how it went, and the network. work: folder of the checkpoints."""

    def save(self, model: Any, folder: Path) -> None:
        """Write the network, and what it cannot be used without, into `folder`."""
        model.save(folder)


class Captioning(SequenceTask):
    """Scenes of microworld and their sentences."""

    Config: ClassVar[type[schema.Config]] = CaptionerConfig
    Data: ClassVar[type[schema.Config]] = SceneConfig
    Training: ClassVar[type[TrainingConfig]] = TranslationTraining

    @cached_property
    def corpus(self) -> Scenes:
        """The scenes."""
        return Scenes(self.data_config.size, generate_scenes(self.data_config))

    def data(self) -> dict[str, list[Any]]:
        """See `SequenceTask.data`."""
        return {**self.corpus.splits}

    def train(self, training: Any, *, work: Path, logger: Any = None) -> tuple[Made, Any]:
        """See `SequenceTask.train`."""
        from langladder.tasks.captioning import make

        codes = SceneCodes.of_corpus(self.corpus)
        torch.manual_seed(self.seed)
        model = Captioner(self.model_config, *codes.sizes)
        data = [self.corpus.splits[split] for split in ("train", "validation")]
        rung = _Rung(training)
        return make(model, codes, *data, settings=rung, seed=self.seed, checkpoints=work, logger=lambda: logger), model

    def save(self, model: Any, folder: Path) -> None:
        """See `SequenceTask.save`; the codes stand beside the network."""
        super().save(model, folder)
        SceneCodes.of_corpus(self.corpus).save(folder / CODES)


class SpeechRecognition(SequenceTask):
    """Spoken sentences of microworld."""

    Config: ClassVar[type[schema.Config]] = CTCConfig
    Data: ClassVar[type[schema.Config]] = SpeechConfig
    Training: ClassVar[type[TrainingConfig]] = SpeechTraining

    @cached_property
    def _splits(self) -> dict[str, list[Any]]:
        return {**generate_speech(self.data_config)}

    def data(self) -> dict[str, list[Any]]:
        """See `SequenceTask.data`."""
        return self._splits

    def train(self, training: Any, *, work: Path, logger: Any = None) -> tuple[Made, Any]:
        """See `SequenceTask.train`."""
        from langladder.tasks.speech_recognition import make

        torch.manual_seed(self.seed)
        model = CTCRecognizer(self.model_config, self.data_config.dimensions, len(ALPHABET))
        data = [self._splits[split] for split in ("train", "validation")]
        rung = _Rung(training)
        return make(model, None, *data, settings=rung, seed=self.seed, checkpoints=work, logger=lambda: logger), model
