"""One door for the shapes of sequence task besides language modelling and translation: data, network, training.

A rung of this ladder is a small world of its own: it makes its data (the same for the same settings and seed, so
whoever evaluates makes it again), builds its network and trains it. What is measured stands in `evaluation`. Lightning
takes its time: only what trains imports it.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from langladder import schema
from langladder.tasks.optimisation import TrainingConfig

if TYPE_CHECKING:
    from langladder.tasks.training import TrainingResult


class SequenceTask(ABC):
    """A task with the settings of its three parts."""

    Config: ClassVar[type[schema.Config]]
    """Settings of the network."""
    Data: ClassVar[type[schema.Config]]
    """Settings of what is drawn."""
    Training: ClassVar[type[TrainingConfig]]

    def __init__(self, data: Any, model: Any, *, seed: int) -> None:
        self.data_config, self.model_config, self.seed = data, model, seed

    @abstractmethod
    def data(self) -> dict[str, list[Any]]:
        """train, validation and test."""

    @abstractmethod
    def train(self, training: Any, *, work: Path, logger: Any = None) -> "tuple[TrainingResult, Any]":
        """Train on train, watch validation.

        Args:
            work: folder of the checkpoints; an interrupted run goes on from there.

        Returns:
            How training went, and the network.
        """

    def save(self, model: Any, folder: Path) -> None:
        """Write the network, and what it cannot be used without, into `folder`."""
        model.save(folder)
