"""What every way to word vectors shares: a corpus of word ids goes in, `WordVectors` come out.

A method is one module and one YAML. Methods that count, factorise or bring their own training loop (Numba kernels)
derive from `EmbeddingMethod`; networks trained by gradient through the common task are `torch.nn.Module`s instead.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from langladder.artefacts import read_arrays
from langladder.embeddings.base import WordVectors
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.corpus_ids import TokenStream
from langladder.text.vocabulary import Vocabulary

WARM_UP_WORDS = 1000
Progress = Callable[[str], None]  # takes a line of text to show


@dataclass(frozen=True)
class WordCorpus:
    """A training text as word ids, maybe larger than memory.

    Attributes:
        stream: rows are lines (sentences); `stream.ids` (T,) int32 memory-mapped, `stream.offsets` (R + 1,) int64.
        vocabulary: V words, most frequent first, with their counts in this text.
        documents: (D + 1,) int64 bounds of the documents in `stream.ids`; None: each line is a document.
    """

    stream: TokenStream
    vocabulary: Vocabulary
    documents: np.ndarray | None = None

    def __post_init__(self) -> None:
        ids = self.stream.ids
        if len(ids) == 0:
            raise InputError("the word stream is empty: the vocabulary has none of the training text's words")
        if not 0 <= int(ids.min()) <= int(ids.max()) < len(self.vocabulary):
            raise InputError(
                f"word ids {ids.min()} … {ids.max()}, but the vocabulary has {len(self.vocabulary)} words; "
                "make both again (stage `vocab`)"
            )

    @classmethod
    def open(cls, folder: Path) -> Self:
        """What `langladder.text.vocabulary.encode_words` wrote, mapped into memory.

        Raises:
            InputError: files are missing, damaged, or do not fit each other.
        """
        folder = Path(folder)
        vocabulary = Vocabulary.load(folder / "vocabulary.json")
        stream = TokenStream.open(folder / "train.arrow")
        path = folder / "documents.safetensors"
        documents = read_arrays(path).get("bounds")
        if documents is None or documents.ndim != 1 or documents.dtype != np.int64 or not len(documents):
            raise InputError(f"{path}: has no array `bounds` of whole numbers; make it again (stage `vocab`)")
        if documents[0] != 0 or documents[-1] != len(stream.ids) or (np.diff(documents) < 0).any():
            raise InputError(f"{path}: its documents are not those of train.arrow; make both again (stage `vocab`)")
        return cls(stream, vocabulary, documents)

    @property
    def document_bounds(self) -> np.ndarray:
        """(D + 1,) int64."""
        bounds: np.ndarray = self.stream.offsets if self.documents is None else self.documents
        return bounds


@dataclass(frozen=True)
class Fitted:
    """What a method made: the vectors, and its learning curve where it has one.

    The curve's rows have a `step` and any of `train_loss`, `validation_loss`, `lr`; deterministic, so no times.
    """

    vectors: WordVectors
    curve: list[dict[str, Any]] = field(default_factory=list)


class EmbeddingMethod(ABC):
    """A way to word vectors that is no gradient-trained network.

    Attributes:
        Config: schema of the rung's `model` part.
        family: rungs of one family stand together in the report.
    """

    family: ClassVar[str] = ""
    Config: ClassVar[type[Config]]

    def __init__(self, config: Any) -> None:
        self.config = config

    @abstractmethod
    def fit(self, corpus: WordCorpus, *, seed: int, progress: Progress = print) -> Fitted:
        """Make the vectors; same corpus, settings and seed: same bytes (unless a setting asks for lock-free threads).

        Args:
            progress: called with a line of text now and then during long work.

        Raises:
            InputError: the corpus cannot be used with these settings.
        """

    def warm_up(self, corpus: WordCorpus) -> None:
        """Compile what `fit` runs, on the first lines of its text and for vectors of their own: no clock counts it."""
        once = {"epochs": 1} if hasattr(self.config, "epochs") else {}
        first = replace(corpus, stream=corpus.stream.beginning(WARM_UP_WORDS), documents=None)
        with suppress(InputError):  # too little text for some methods, but seen by all that they compile
            type(self)(self.config.model_copy(update=once)).fit(first, seed=0, progress=lambda _: None)

    def about(self, seed: int) -> dict[str, Any]:
        """How the vectors came to be, for `WordVectors.about`."""
        return {"method": type(self).__name__, "config": self.config.model_dump(mode="json"), "seed": seed}
