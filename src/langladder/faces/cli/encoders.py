"""Saved encoders as the commands read them."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.models.bert import BERT
    from langladder.text.tokenize.tokenizers import Tokenizer


class LoadedEncoder(NamedTuple):
    """A saved encoder and what it reads."""

    model: "BERT"
    tokenizer: "Tokenizer"


def is_encoder(folder: Path) -> bool:
    """Whether a folder says that it holds an encoder."""
    from langladder.ground.artefacts import read_json

    path = folder / "config.json"
    description = read_json(path) if path.is_file() else None
    return isinstance(description, dict) and description.get("_target_") == "langladder.models.bert.BERT"


def read_encoder(folder: Path) -> LoadedEncoder:
    """The encoder and the tokenizer of a folder that the pipeline wrote.

    Raises:
        InputError: no saved encoder, files damaged, or a tokenizer of another size.
    """
    if not (folder / "config.json").is_file():
        wanted = "a folder with config.json, model.safetensors and tokenizer.json, such as models/encoder/bert_mini"
        raise InputError(f"{folder}: no saved encoder; expected {wanted}")
    from langladder.models.bert import BERT
    from langladder.text.tokenize.tokenizers import Tokenizer

    model, tokenizer = BERT.load(folder), Tokenizer.load(folder / "tokenizer.json")
    if model.vocab_size != tokenizer.full_vocab_size:
        raise InputError(
            f"{folder}: the model has {model.vocab_size} tokens, its tokenizer.json {tokenizer.full_vocab_size}"
        )
    return LoadedEncoder(model, tokenizer)
