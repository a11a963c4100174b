"""The interface of every recogniser of speech: frames → letters, with CTC or with attention."""

from typing import ClassVar

from langladder.models.network import Network


class Recognizer(Network):
    """Built as `cls(config, dimensions, labels)`: D, the numbers of a frame, and A, the letters of the alphabet.

    Its labels are 1 … A. How it is trained is said by its `maker`, how it is searched by `evaluation.transcripts`.
    """

    SIZES: ClassVar[tuple[str, ...]] = ("dimensions", "labels")
    WHAT: ClassVar[str] = "recogniser"
    dimensions: int
    labels: int
