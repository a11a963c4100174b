"""Words, and files of words, that the user names (`evaluation.word_questions` knows the words themselves)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from langladder.faces.cli.output import note_normalised
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.embeddings.base import WordVectors


def file_of(vectors: "WordVectors", given: str, wanted: str) -> Path:
    """What is given alone is a file (or folder) to read.

    Raises:
        InputError: there is none; says whether it is a word, and what is `wanted`.
    """
    path = Path(given)
    if not path.exists():
        what = f"{given!r} is one word" if given in vectors else f"{given}: no such file, and no word that has a vector"
        raise InputError(f"{what}; {wanted}")
    return path


def note_spelled(vectors: "WordVectors", words: Sequence[str]) -> None:
    """Say that words are asked for in another spelling than was typed: that of the training text."""
    note_normalised(vectors.normalisation, words, "words", vectors.index)
