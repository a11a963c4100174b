"""The interface of every tagger: a tag for each word of a sentence, from tag counts to a BiLSTM-CRF.

Every tagger with `tag` and `log_probs` can be evaluated, compared and used from the command line. Its folder
(reading.json) contains everything that it needs to read a word and to name a tag.

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
        """A tag for each word. Words must be as in the training text: punctuation is separate."""

    @abstractmethod
    def log_probs(self, sentences: Sentences) -> list[np.ndarray]:
        """Natural log P(tag of this word | the whole sentence), one (T, K) float64 array per sentence."""


def allowed_steps(tags: Sequence[str]) -> Allowed | None:
    """The allowed transitions, if the tags' names determine them (IOB2, IOBES); None if all are allowed."""
    scheme = scheme_of(tags)
    if scheme is None:
        return None
    steps = np.array([[may_follow(tag, other, scheme) for other in tags] for tag in tags], dtype=bool)
    first = np.array([may_follow(None, tag, scheme) for tag in tags], dtype=bool)
    return Allowed(steps, first, np.array([may_follow(tag, None, scheme) for tag in tags], dtype=bool))
