"""A language model whose input embedding begins with the word vectors of another rung, see `from_vectors`."""

from pathlib import Path
from typing import Any

from langladder.ground.schema import locate
from langladder.models.making import Made
from langladder.tasks import language_modelling
from langladder.tasks.from_vectors import start_from_vectors
from langladder.tasks.settings import InputVectors
from langladder.text.tokenize.tokenizers import Tokenizer


def make(base: Path, tokenizer: Tokenizer, *streams: Any, settings: Any, **others: Any) -> tuple[Any, Made]:
    """Begin with the vectors in `base`, then train as `models.making` says; the model, and how it went."""
    model = locate(settings.target)(settings.model, tokenizer.vocab_size)
    start_from_vectors(model, tokenizer, InputVectors(vectors=str(base)))
    return model, language_modelling.make(model, tokenizer, *streams, settings=settings, **others)
