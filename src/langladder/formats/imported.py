"""An imported network with its tokenizer, from a folder of any supported format.

BERT for transformers      `formats.bert`; with its own tokens or with this project's
GPT-2 for transformers     `formats.gpt2`; the same
Llama for transformers     `formats.llama`; the same
a model of this project    an encoder or a GPT with its tokenizer.json, from another checkout
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from langladder.formats.bert import bert_settings, import_bert, import_foreign_bert
from langladder.formats.gpt2 import gpt2_settings, import_foreign_gpt2, import_gpt2
from langladder.formats.llama import import_foreign_llama, import_llama, llama_settings
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.models.encoders.bert import BERT
from langladder.models.language.gpt import GPT
from langladder.models.network import Network
from langladder.models.saving import ARRAYS, read_description
from langladder.text.tokenize.specials import PAD, SPELLINGS
from langladder.text.tokenize.tokenizers import Tokenizer

KINDS: tuple[type[Network], ...] = (BERT, GPT)


class Format(NamedTuple):
    """How the folders of a `model_type` are read: the settings, a network with our tokens, or with its own."""

    kind: type[BERT | GPT]
    settings: Callable[[Path], tuple[Config, *tuple[object, ...]]]
    ours: Callable[[Path], BERT | GPT]
    foreign: Callable[[Path], tuple[BERT | GPT, Tokenizer]]


FORMATS = {
    "bert": Format(BERT, bert_settings, import_bert, import_foreign_bert),
    "gpt2": Format(GPT, gpt2_settings, import_gpt2, import_foreign_gpt2),
    "llama": Format(GPT, llama_settings, import_llama, import_foreign_llama),
}
FILES = ("config.json", ARRAYS, "tokenizer.json", "vocab.txt", "vocab.json", "merges.txt", "tokenizer_config.json")
"""The files of a folder that are read, if they exist."""


def described(folder: Path) -> tuple[type[Network], Config]:
    """The class and the settings of the network in a folder, from its config.json only.

    Raises:
        InputError: there is none, or one that no rung can start from.
    """
    path = Path(folder) / "config.json"
    content = read_json(path)
    if isinstance(content, dict) and "_target_" in content:
        saved = read_description(Path(folder), Network, "network")
        if not issubclass(saved.kind, KINDS):
            raise InputError(f"{path}: holds a {saved.kind.__name__}; supported is {_allowed()}")
        return saved.kind, saved.config
    format = format_of(folder)
    return format.kind, format.settings(Path(folder))[0]


def format_of(folder: Path) -> Format:
    """The format of another tool's folder, by its config.json. Raises InputError for an unknown `model_type`."""
    path = Path(folder) / "config.json"
    content = read_json(path)
    named = str(content.get("model_type") if isinstance(content, dict) else None)
    if named not in FORMATS:
        raise InputError(f"{path}: model_type: {named[:40]!r}; supported is {_allowed()}")
    return FORMATS[named]


def read_imported(folder: Path) -> tuple[BERT | GPT, Tokenizer]:
    """The network and its tokenizer.

    Raises:
        InputError: files are missing or damaged, the tokenizer is not the network's, or it is not one of the above.
    """
    folder = Path(folder)
    kind, _ = described(folder)
    foreign = "_target_" not in read_json(folder / "config.json")
    if foreign and not _has_our_specials(folder):
        return format_of(folder).foreign(folder)
    model: Any = format_of(folder).ours(folder) if foreign else kind.load(folder)
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    known = tokenizer.full_vocab_size if isinstance(model, BERT) else tokenizer.vocab_size
    if model.vocab_size == tokenizer.full_vocab_size != known and foreign:
        raise InputError(
            f"{folder}: an exported model that follows instructions cannot be imported again; use the folder that "
            "it was exported from"
        )
    if model.vocab_size != known:
        raise InputError(f"{folder}: the model has {model.vocab_size} tokens, but its tokenizer has {known}")
    return model, tokenizer


def _has_our_specials(folder: Path) -> bool:
    """Whether the tokenizer of a folder has langladder's special tokens."""
    path = folder / "tokenizer.json"
    value: Any = read_json(path) if path.exists() else {}
    for key in ("model", "vocab"):
        value = value.get(key) if isinstance(value, dict) else None
    return isinstance(value, dict) and value.get(SPELLINGS[PAD]) == PAD


def _allowed() -> str:
    return f"BERT, GPT-2 or Llama for transformers (model_type {', '.join(FORMATS)}), or langladder's own BERT or GPT"
