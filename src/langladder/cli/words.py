"""Words that the user names: known, or refused with the nearest spellings."""

from pathlib import Path
from typing import TYPE_CHECKING

from langladder.errors import InputError

if TYPE_CHECKING:
    from langladder.embeddings.base import WordVectors


def check(vectors: "WordVectors", word: str) -> None:
    """See that a word has a vector: a row, or one made up of its character n-grams where the vectors know these.

    Raises:
        InputError: it has none; names the same word in another case, else the nearest spellings.
    """
    if word in vectors:
        return
    try:
        vectors[word]
    except InputError:
        same = [known for known in vectors.words if known.casefold() == word.casefold()]
        if not same:
            raise
        raise InputError(
            f"{word!r} is not among the {len(vectors):,} words that have a vector; did you mean {', '.join(same)}?"
        ) from None


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


def find(vectors: "WordVectors", word: str) -> int:
    """The row of a word. Raises InputError as `check` does, or where the vector is made up and no row."""
    check(vectors, word)
    return vectors.row(word)
