"""The interface of all methods for word vectors: from a corpus of word ids to `WordVectors`.

A method is one module and one YAML. Methods that count, factorise or bring their own training loop (Numba kernels)
derive from `EmbeddingMethod`; networks trained by gradient through the common task are `torch.nn.Module`s instead. Each
class names in `maker` the function that makes its vectors, and all these functions are called alike:

    make(rung, settings, corpus, *, training, run) -> Made
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, TypeVar

from langladder.counts.stored import Counting
from langladder.embeddings.base import WordVectors
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.ground.memory import peak_bytes
from langladder.ground.progress import Stopwatch, working
from langladder.ground.schema import Config
from langladder.models.making import Row, Run
from langladder.text.words.vocabulary import WordCorpus

WARM_UP_WORDS = 1000
Progress = Callable[[str], None]  # takes a line of text to show


@dataclass(frozen=True)
class TrainedVectors:
    """The result of a method: the vectors, its learning curve if any, and the cost.

    Attributes:
        curve: rows have a `step` and any of `train_loss`, `validation_loss`, `lr`; deterministic, so no times.
        cost: `seconds`, `tokens_per_second`, `peak_memory_bytes`, where they were measured.
    """

    vectors: WordVectors
    curve: list[Row] = field(default_factory=list)
    cost: dict[str, float] = field(default_factory=dict)


def counting_of(settings: Config) -> Counting | None:
    """The counts that a rung with these settings needs; None: none."""
    return settings.counting() if hasattr(settings, "counting") else None


Settings = TypeVar("Settings", bound=Config)


class EmbeddingMethod(ABC, Generic[Settings]):
    """A method for word vectors that is not a network trained by gradient.

    Attributes:
        Config: schema of the rung's `model` part.
        approach: rungs of one approach stand together in the report.
        maker: the function that makes the vectors of such a rung.
        by_gradient: whether they are trained by gradient, so that another seed makes others.
    """

    approach: ClassVar[str] = ""
    by_gradient: ClassVar[bool] = False
    maker: ClassVar[str] = "langladder.embeddings.method.make"
    Config: ClassVar[type[schema.Config]]

    def __init__(self, config: Settings) -> None:
        self.config = config

    @classmethod
    def also_given(cls, config: schema.Config) -> str:
        """Inputs of such vectors besides the text: a lexicon; "" for most."""
        del config
        return ""

    @abstractmethod
    def make(self, corpus: WordCorpus, *, seed: int, progress: Progress = print) -> TrainedVectors:
        """Make the vectors; same corpus, settings and seed: same bytes (unless a setting asks for lock-free threads).

        Args:
            progress: called with a line of text now and then during long work.

        Raises:
            InputError: the corpus cannot be used with these settings.
        """

    def warm_up(self, corpus: WordCorpus) -> None:
        """Compile the kernels of `make` on the first lines of the text; this time is not measured."""
        once = {"epochs": 1} if hasattr(self.config, "epochs") else {}
        with suppress(InputError):  # too little text for some methods, but enough to compile everything
            own = type(self)(self.config.model_copy(update=once))
            own.make(corpus.beginning(WARM_UP_WORDS), seed=0, progress=lambda _: None)

    def about(self, seed: int) -> dict[str, object]:
        """How the vectors were made, for `WordVectors.about`."""
        return {"method": type(self).__name__, "config": self.config.model_dump(mode="json"), "seed": seed}


def make(
    rung: type[EmbeddingMethod[Settings]],
    settings: Settings,
    corpus: WordCorpus,
    *,
    training: object = None,  # noqa: ARG001 - nothing is trained by the common task
    run: Run,
) -> TrainedVectors:
    """Make a rung's word vectors; kernels are compiled before the time is measured.

    Args:
        settings: a `rung.Config`.

    Raises:
        InputError: the corpus cannot be used with these settings.
    """
    method = rung(settings)
    with working("compiling"):
        method.warm_up(corpus)
    clock = Stopwatch()
    with working("making vectors") as task:
        trained = method.make(corpus, seed=run.seed, progress=task.note)
    cost = clock.cost(len(corpus.stream.ids) * getattr(settings, "epochs", 1))
    cost["peak_memory_bytes"] = float(peak_bytes())
    return replace(trained, cost=cost)
