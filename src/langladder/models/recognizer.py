"""The interface of every recogniser of speech: frames → letters, with CTC or with attention."""

from typing import ClassVar

from langladder.models.network import Network


class Recognizer(Network):
    """Built as `cls(config, dimensions, labels)`: D, the numbers of a frame, and A, the letters of the alphabet.

    Its labels are 1 … A. `maker` trains it, and `evaluation.transcripts` searches it.
    """

    SIZES: ClassVar[tuple[str, ...]] = ("dimensions", "labels")
    WHAT: ClassVar[str] = "recogniser"
    dimensions: int
    labels: int
