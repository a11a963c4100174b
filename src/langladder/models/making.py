"""How rungs are made: each class has a `maker` function, so that callers do not depend on the kind of rung.

A maker is a function, named by its dotted path. So only models that need its module import it: an n-gram model does not
import the training loop, and a randomly initialised model does not import the reader of word vectors. All makers are
called as

    made = maker(model, tokenizer, train, validation, settings=…, run=…)

    model        a new model, which is trained in place
    tokenizer    the tokenizer of the text; for a translator, those of source and target
    train        token streams (language models) or pairs of sentences (translators)
    validation   the same, for validation
    settings     those of the rung's file: `training`, `input`, as far as the maker uses them
    run          the training's seed, folder of checkpoints and logger, see `Run`

Makers of classifiers, taggers and readers also build the model:

    model, made = maker(kind, labels, train, validation, settings=…, run=…, tokenizer=…, base=…, language=…)

    kind         the class in the rung's file
    labels       the label names, in the order of their ids; readers have none
    train        labelled examples, tagged sentences, questions with their answers; validation: the same, for validation
    settings     `model`, and for networks `input` and `training`
    tokenizer    path of the text's tokenizer, for subwords; only for classifiers
    base         folder of the rung that it starts from, for its word vectors instead of those in `settings.input`,
                 or for its network's weights
    language     of classified texts and tagged sentences, a BCP 47 tag
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

ModelPart = TypeVar("ModelPart", covariant=True)
TrainingPart = TypeVar("TrainingPart", covariant=True)

Row = dict[str, float | None]
"""A row of a learning curve: `step` and any of `train_loss`, `validation_loss`, `lr` and a task's measures."""


class ModelSettings(Protocol[ModelPart]):
    """The settings of a rung for makers of counted models."""

    @property
    def model(self) -> ModelPart:
        """Settings of the model."""


class NamedSettings(ModelSettings[ModelPart], Protocol[ModelPart]):
    """Settings of a rung with a name for messages."""

    @property
    def name(self) -> str:
        """The rung's name."""


class TrainingSettings(Protocol[TrainingPart]):
    """The settings of a rung for makers of trained models."""

    @property
    def training(self) -> TrainingPart:
        """Training settings."""


@dataclass(frozen=True)
class Run:
    """One training run of a rung, without its data and settings.

    Attributes:
        seed: for the order of batches and for dropout; also for the initial weights, if the maker builds the model.
        checkpoints: folder; an interrupted training of the same run continues from there.
        logger: a function that opens the Lightning logger of the learning curve, called once if training has steps; or
            None. (`object`, because models do not import Lightning.)
    """

    seed: int
    checkpoints: Path
    logger: Callable[[], object] | None = None


LAST = "validation_step"
"""A measure that is best at the last step, so that the last weights are kept."""


class Kept(NamedTuple):
    """A validation that was better than all others: its step, and the measure that is compared, with its value."""

    step: int
    measure: str
    value: float
    highest: bool

    def __str__(self) -> str:
        which = f"{'highest' if self.highest else 'lowest'} {measure_title(self.measure)} ({self.value:.4f})"
        return f"the weights of step {self.step} are kept: the {'last' if self.measure == LAST else which}"


_MEASURES = {"bleu": "BLEU", "entity_f1": "entity F₁", "micro_f1": "micro-F₁"}


def measure_title(name: str) -> str:
    """A measure of the validation data, such as `validation_entity_f1`, for people."""
    short = name.removeprefix("validation_")
    return _MEASURES.get(short, f"validation {short}" if short == "loss" else short.replace("_", " "))


@dataclass(frozen=True)
class TrainingResult:
    """The result of training; the model itself is changed in place.

    Attributes:
        curve: rows of the learning curve; empty if training has no steps.
        cost: machine-dependent measurements: seconds (over all resumed parts), tokens_per_second (in training) and, if
            measured, processor_seconds (of all threads; not on a GPU) and peak_memory_bytes. They must not be in
            deterministic files.
        validation_loss: nats per token of the final weights: the lowest loss, the loss at the best of another measure,
            or that of the mean weights; None without validation.
        vectors_skipped: number of damaged entries of the initial word vectors, which were left out.
        steps: number of updates.
        trained: numbers that were trained, where LoRA leaves most of the network as it is; None: all.
        kept: the validation whose weights are the final ones; None without validation, and for mean weights.
    """

    curve: list[Row]
    cost: dict[str, float]
    validation_loss: float | None = None
    vectors_skipped: int = 0
    steps: int = 0
    trained: int | None = None
    kept: Kept | None = None

    def sizes(self, parameters: int) -> dict[str, object]:
        """The figures of a network's size: its parameters, and the trained ones where those are fewer; also the
        entries of its initial word vectors that were left out, if there are any."""
        trained: dict[str, object] = {} if self.trained is None else {"trained_parameters": self.trained}
        skipped = {"vectors_skipped": self.vectors_skipped} if self.vectors_skipped else {}
        return trained | {"parameters": parameters} | skipped
