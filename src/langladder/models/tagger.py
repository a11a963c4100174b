"""The one door of every tagger: a tag for each word of a sentence, from counting tags to a BiLSTM-CRF.

A tagger that offers `tag` and `log_probs` is judged, compared and asked from the command line like every other one.
What it needs to read a word and to name a tag is kept in its folder (reading.json), so the folder is enough.

Shape legend: T words of a sentence, K tags.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from langladder.ground import schema
from langladder.models.saving import load_by_kind
from langladder.nn.crf import Allowed
from langladder.text.labelled.labelled import may_follow, scheme_of
from langladder.text.words.normalisation import Normalisation

Sentences = Sequence[Sequence[str]]


class Tagger(ABC):
    """Everything that tags words. `tags` are in the order of their ids."""

    approach: ClassVar[str] = ""  # rungs of one approach stand together in the report
    maker: ClassVar[str]  # the function that makes a trained one, see `models.reading`
    Config: ClassVar[type[schema.Config]] = schema.Config
    config: Any
    tags: list[str]
    SIZES: ClassVar[tuple[str, ...]] = ("number_of_labels",)
    WHAT: ClassVar[str] = "tagger"
    normalisation: Normalisation = Normalisation()
    """How the training texts were written; what is asked from outside (`serving`) is written so first."""

    @abstractmethod
    def tag(self, sentences: Sentences) -> list[list[str]]:
        """A tag for each word. Words as the training text has them: punctuation apart."""

    @abstractmethod
    def log_probs(self, sentences: Sentences) -> list[np.ndarray]:
        """Natural log P(tag of this word | the whole sentence), a (T, K) float64 array a sentence."""

    @abstractmethod
    def number_of_parameters(self) -> int:
        """Stored numbers that were estimated or learnt."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write everything needed into `folder`, whole or not at all."""

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a saved tagger; `Tagger.load` reads any kind, a subclass only its own.

        Raises:
            InputError: missing or damaged files, another kind of model, arrays that do not fit.
        """
        found: Self = load_by_kind(folder, cls)
        return found


def allowed_steps(tags: Sequence[str]) -> Allowed | None:
    """Which tag may follow which, where their names say so (IOB2, IOBES); None where any may."""
    scheme = scheme_of(tags)
    if scheme is None:
        return None
    steps = np.array([[may_follow(one, other, scheme) for other in tags] for one in tags], dtype=bool)
    first = np.array([may_follow(None, tag, scheme) for tag in tags], dtype=bool)
    return Allowed(steps, first, np.array([may_follow(tag, None, scheme) for tag in tags], dtype=bool))
