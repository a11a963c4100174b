"""Captioning: a vector of facts about a scene → a sentence. Trained as translators are: likelihood of the words."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from langladder import schema
from langladder.corpora.scenes import Described, SceneConfig, all_facts, generate_scenes
from langladder.data.captioning import SceneCodes
from langladder.models.captioner import Captioner, CaptionerConfig
from langladder.tasks.optimisation import TrainingConfig
from langladder.tasks.sequence import SequenceTask
from langladder.tasks.settings import TranslationTraining

if TYPE_CHECKING:
    from langladder.tasks.training import TrainingResult

CODES = "codes.json"
"""Beside the model: what the vector's places and the words' ids mean."""


class Captioning(SequenceTask):
    """Scenes of microworld and their sentences."""

    Config: ClassVar[type[schema.Config]] = CaptionerConfig
    Data: ClassVar[type[schema.Config]] = SceneConfig
    Training: ClassVar[type[TrainingConfig]] = TranslationTraining

    @cached_property
    def _splits(self) -> dict[str, list[Described]]:
        return generate_scenes(self.data_config, self.seed)

    def data(self) -> dict[str, list[Described]]:
        """See `SequenceTask.data`."""
        return self._splits

    def codes(self) -> SceneCodes:
        """Ids of the facts and of the training words."""
        return SceneCodes.of(all_facts(self.data_config.size), [one.sentence for one in self._splits["train"]])

    def train(self, training: Any, *, work: Path, logger: Any = None) -> "tuple[TrainingResult, Any]":
        """See `SequenceTask.train`."""
        from langladder.tasks.translation import train_translator

        codes = self.codes()
        torch.manual_seed(self.seed)
        model = Captioner(self.model_config, *codes.sizes)
        train, validation = (codes.pairs(self._splits[split]) for split in ("train", "validation"))
        result = train_translator(model, train, validation, training, seed=self.seed, work=work, logger=logger)
        return result, model

    def save(self, model: Any, folder: Path) -> None:
        """See `SequenceTask.save`; the codes stand beside the network."""
        super().save(model, folder)
        self.codes().save(folder / CODES)
