"""The one door of every tagger: a tag for each word of a sentence, from counting tags to a BiLSTM-CRF.

A tagger that offers `tag` and `log_probs` is judged, compared and asked from the command line like every other one.
What it needs to read a word and to name a tag is kept in its folder (reading.json), so the folder is enough.

Shape legend: T words of a sentence, K tags.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from langladder.models.base import Model
from langladder.nn.crf import Allowed
from langladder.text.labelled.labelled import may_follow, scheme_of

Sentences = Sequence[Sequence[str]]


class Tagger(Model):
    """Everything that tags words. `tags` are in the order of their ids."""

    tags: list[str]
    SIZES: ClassVar[tuple[str, ...]] = ("number_of_labels",)
    WHAT: ClassVar[str] = "tagger"

    @abstractmethod
    def tag(self, sentences: Sentences) -> list[list[str]]:
        """A tag for each word. Words as the training text has them: punctuation apart."""

    @abstractmethod
    def log_probs(self, sentences: Sentences) -> list[np.ndarray]:
        """Natural log P(tag of this word | the whole sentence), a (T, K) float64 array a sentence."""


def allowed_steps(tags: Sequence[str]) -> Allowed | None:
    """Which tag may follow which, where their names say so (IOB2, IOBES); None where any may."""
    scheme = scheme_of(tags)
    if scheme is None:
        return None
    steps = np.array([[may_follow(one, other, scheme) for other in tags] for one in tags], dtype=bool)
    first = np.array([may_follow(None, tag, scheme) for tag in tags], dtype=bool)
    return Allowed(steps, first, np.array([may_follow(tag, None, scheme) for tag in tags], dtype=bool))
