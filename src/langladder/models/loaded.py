"""Saved language models with what they read, as commands and servers take them."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.models.base import LanguageModel
    from langladder.text.tokenize.tokenizers import Tokenizer
    from langladder.text.words.conventions import Conventions


class LoadedModel(NamedTuple):
    """A saved language model, what it reads and what the user calls it.

    conventions: how its training text was read; of models from elsewhere the default.
    """

    name: str
    model: "LanguageModel"
    tokenizer: "Tokenizer"
    conventions: "Conventions"


def read_model(folder: Path) -> LoadedModel:
    """The model and the tokenizer of a folder that the pipeline wrote.

    Raises:
        InputError: no saved language model, files damaged, or a tokenizer of another size.
    """
    if not (folder / "config.json").is_file():
        wanted = "a folder with config.json, model.safetensors and tokenizer.json, such as models/lm/gpt"
        raise InputError(f"{folder}: no saved language model; expected {wanted}")
    from langladder.models.base import LanguageModel
    from langladder.text.tokenize.tokenizers import Tokenizer
    from langladder.text.words.conventions import conventions_of

    model, tokenizer = LanguageModel.load(folder), Tokenizer.load(folder / "tokenizer.json")
    known = tokenizer.full_vocab_size if model.reads_markers else tokenizer.vocab_size
    if model.vocab_size != known:
        raise InputError(f"{folder}: the model has {model.vocab_size} tokens, its tokenizer.json {known}")
    return LoadedModel(folder.name, model, tokenizer, conventions_of(folder))
