"""What every way to word vectors shares: a corpus of word ids goes in, `WordVectors` come out.

A method is one module and one YAML. Methods that count, factorise or bring their own training loop (Numba kernels)
derive from `EmbeddingMethod`; networks trained by gradient through the common task are `torch.nn.Module`s instead. Each
class names in `maker` the function that makes its vectors, and all these functions are called alike:

    make(rung, settings, corpus, *, training, run) -> Made
"""

import time
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
from langladder.ground.progress import working
from langladder.ground.schema import Config
from langladder.models.making import Row, Run
from langladder.text.words.vocabulary import WordCorpus

WARM_UP_WORDS = 1000
Progress = Callable[[str], None]  # takes a line of text to show


@dataclass(frozen=True)
class TrainedVectors:
    """What a method made: the vectors, its learning curve where it has one, and what that took.

    Attributes:
        curve: rows have a `step` and any of `train_loss`, `validation_loss`, `lr`; deterministic, so no times.
        cost: `seconds`, `tokens_per_second`, `peak_memory_bytes`, where they were measured.
    """

    vectors: WordVectors
    curve: list[Row] = field(default_factory=list)
    cost: dict[str, float] = field(default_factory=dict)


def counting_of(settings: Config) -> Counting | None:
    """What is counted in the text for a rung with these settings; None: nothing."""
    return settings.counting() if hasattr(settings, "counting") else None


Settings = TypeVar("Settings", bound=Config)


class EmbeddingMethod(ABC, Generic[Settings]):
    """A way to word vectors that is no gradient-trained network.

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
        """What such vectors are made of beside the text: a lexicon; "" of most."""
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
        """Compile what `make` runs, on the first lines of its text and for vectors of their own: no clock counts it."""
        once = {"epochs": 1} if hasattr(self.config, "epochs") else {}
        with suppress(InputError):  # too little text for some methods, but seen by all that they compile
            own = type(self)(self.config.model_copy(update=once))
            own.make(corpus.beginning(WARM_UP_WORDS), seed=0, progress=lambda _: None)

    def about(self, seed: int) -> dict[str, object]:
        """How the vectors came to be, for `WordVectors.about`."""
        return {"method": type(self).__name__, "config": self.config.model_dump(mode="json"), "seed": seed}


def make(
    rung: type[EmbeddingMethod[Settings]],
    settings: Settings,
    corpus: WordCorpus,
    *,
    training: object = None,  # noqa: ARG001 - nothing is trained by the common task
    run: Run,
) -> TrainedVectors:
    """Make a rung's word vectors, kernels compiled before the clock starts.

    Args:
        settings: a `rung.Config`.

    Raises:
        InputError: the corpus cannot be used with these settings.
    """
    method = rung(settings)
    with working("compiling"):
        method.warm_up(corpus)
    started = time.perf_counter()
    with working("making vectors") as task:
        trained = method.make(corpus, seed=run.seed, progress=task.note)
    seconds = time.perf_counter() - started
    words = len(corpus.stream.ids) * getattr(settings, "epochs", 1)
    cost = {"seconds": seconds, "tokens_per_second": words / seconds, "peak_memory_bytes": float(peak_bytes())}
    return replace(trained, cost=cost)
