"""Words that the user names: found, or refused with the nearest spellings."""

from typing import TYPE_CHECKING

from langladder.errors import InputError

if TYPE_CHECKING:
    from langladder.embeddings.base import WordVectors


def find(vectors: "WordVectors", word: str) -> int:
    """The row of a word.

    Raises:
        InputError: it has no vector; names the same word in another case, else the nearest spellings.
    """
    if word not in vectors:
        folded = word.casefold()
        same = [known for known in vectors.words if known.casefold() == folded]
        if same:
            message = (
                f"{word!r} is not among the {len(vectors):,} words that have a vector; did you mean {', '.join(same)}?"
            )
            raise InputError(message)
    return vectors.row(word)
