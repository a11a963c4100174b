"""Files from outside that a rung may be made of: hashed where they are used, so that other content is another job."""

from pathlib import Path
from typing import Any

PROVIDED = ("microworld", "wordnet")  # lexicons that are no file of the user's: they come with the code, and with NLTK


def vectors_of(job: Any) -> dict[str, Path]:
    """The word vectors that a language model begins with, where it does."""
    vectors = getattr(getattr(job.lm, "input", None), "vectors", None)
    return {"vectors": Path(vectors)} if vectors else {}


def lexicon_of(job: Any) -> dict[str, Path]:
    """The user's lexicon, where word vectors are made of it."""
    lexicon = getattr(job.embedding.model, "lexicon", None)
    return {"lexicon": Path(lexicon)} if lexicon not in (None, *PROVIDED) else {}
