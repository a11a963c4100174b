"""How a rung is made: the `maker` of its class, so that callers need not know the kind of rung.

A maker is a function of a module, named by its dotted path. Only what is made in that way depends on the module: an
n-gram model on no training loop, a model that begins at random on no reader of word vectors. All makers are called as

    made = maker(model, tokenizer, train, validation, settings=…, run=…)

    model        just built; trained in place
    tokenizer    that of the text; of a translator, the source's and the target's
    train        token streams (language models) or pairs of sentences (translators)
    validation   the same, to watch
    settings     what the rung's file says: `training`, `input`, as far as the maker reads them
    run          the training's seed, folder of checkpoints and logger, see `Run`

Makers of classifiers, taggers and readers build the model, too:

    model, made = maker(kind, labels, train, validation, settings=…, run=…, tokenizer=…, base=…)

    kind         the class that the rung names
    labels       their names, in the order of their ids; readers have none
    train        labelled examples, tagged sentences, questions with their answers; validation: the same, to watch
    settings     `model`, and for networks `input` and `training`
    tokenizer    path of the text's tokenizer, for subwords; of classifiers alone
    base         folder of the rung that it starts from: of its word vectors, instead of those that `settings.input`
                 names, or of the network whose weights it takes
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

ModelPart = TypeVar("ModelPart", covariant=True)
TrainingPart = TypeVar("TrainingPart", covariant=True)

Row = dict[str, float | None]
"""A row of a learning curve: `step` and any of `train_loss`, `validation_loss`, `lr` and what a task measures."""


class ModelSettings(Protocol[ModelPart]):
    """The settings of a rung that a maker of counted models reads."""

    @property
    def model(self) -> ModelPart:
        """Settings of the model."""


class NamedSettings(ModelSettings[ModelPart], Protocol[ModelPart]):
    """Settings of a rung with a name for messages."""

    @property
    def name(self) -> str:
        """Its name."""


class TrainingSettings(Protocol[TrainingPart]):
    """The settings of a rung that a maker of trained models reads."""

    @property
    def training(self) -> TrainingPart:
        """How it is trained."""


@dataclass(frozen=True)
class Run:
    """One training of a rung, without its data and settings.

    Attributes:
        seed: of the batches' order and of dropout; of the first weights, too, where the maker builds the model.
        checkpoints: folder; an interrupted training of the same run goes on from there.
        logger: opens the Lightning logger of the learning curve, once, if anything is trained step by step; or None.
            (`object`, since models know nothing of Lightning.)
    """

    seed: int
    checkpoints: Path
    logger: Callable[[], object] | None = None


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training; the model itself was changed in place.

    Attributes:
        curve: rows of the learning curve; none where nothing is learnt step by step.
        cost: what the machine took: seconds (over all resumed parts), tokens_per_second (trained on) and, where it was
            measured, peak_memory_bytes. They belong in no deterministic file.
        validation_loss: nats per token of the weights that training ended with: the lowest one, that at the best of
            another measure, or the mean weights' own; None without validation.
        vectors_skipped: damaged entries of the word vectors that it begins with, which were left out.
        steps: updates made.
        trained: numbers that were trained, where LoRA leaves most of the network as it is; None: all.
    """

    curve: list[Row]
    cost: dict[str, float]
    validation_loss: float | None = None
    vectors_skipped: int = 0
    steps: int = 0
    trained: int | None = None

    def sizes(self, parameters: int) -> dict[str, object]:
        """The figures of a network's size: its parameters, and the trained ones where those are fewer."""
        return {"parameters": parameters} | ({} if self.trained is None else {"trained_parameters": self.trained})
