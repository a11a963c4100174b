"""A language model that begins with the weights of another rung's, and is trained from there.

The network is the base's own, or one of the same architecture that the rung describes, which may learn with another
dropout (fine-tuning: Dai & Le 2015; Howard & Ruder 2018).
"""

from pathlib import Path
from typing import Any

from langladder.ground.errors import InputError
from langladder.ground.schema import locate
from langladder.models.base import LanguageModel
from langladder.models.making import Made
from langladder.models.neural import NeuralLanguageModel
from langladder.models.starting import start_from
from langladder.tasks import language_modelling
from langladder.text.tokenize.tokenizers import Tokenizer


def begin(settings: Any, base: Path, tokenizer: Tokenizer) -> NeuralLanguageModel:
    """The network before its first step.

    Args:
        settings: what the rung's file says: `name`, and `target` with `model` where it describes a network itself.
        base: the folder of the rung that it grows from.

    Raises:
        InputError: the base is counted, or of another architecture.
    """
    if settings.target is not None:
        model: NeuralLanguageModel = locate(settings.target)(settings.model, tokenizer.vocab_size)
        start_from(model, base, rung=settings.name)
        return model
    loaded = LanguageModel.load(base)
    if not isinstance(loaded, NeuralLanguageModel):
        raise InputError(f"{settings.name} cannot grow from {base}: a {type(loaded).__name__} has no weights to train")
    return loaded


def make(base: Path, tokenizer: Tokenizer, *streams: Any, settings: Any, **others: Any) -> tuple[Any, Made]:
    """Begin with the weights in `base`, then train as `models.making` says; the model, and how it went."""
    model = begin(settings, base, tokenizer)
    return model, language_modelling.make(model, tokenizer, *streams, settings=settings, **others)
