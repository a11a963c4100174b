"""langladder: the history of language models, rung by rung, on one corpus, scored in the same units.

>>> import langladder as ll
>>> model = ll.load("models/lm/kneser_ney")
>>> model.generate("the cat", greedy=True).text
'the cat sleeps .'

Importing it imports nothing else; PyTorch comes with the first model (see `langladder.faces.python`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langladder.faces.python.model import Model, load
    from langladder.faces.python.results import Answers
    from langladder.faces.python.training import train
    from langladder.ground.errors import InputError

_PLACES = {
    "Answers": "langladder.faces.python.results",
    "InputError": "langladder.ground.errors",
    "Model": "langladder.faces.python.model",
    "load": "langladder.faces.python.model",
    "train": "langladder.faces.python.training",
}

__all__ = ["Answers", "InputError", "Model", "load", "train"]


def __getattr__(name: str) -> Any:
    """What is imported when it is first used."""
    if name == "__version__":
        from importlib.metadata import version

        return version("langladder")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
