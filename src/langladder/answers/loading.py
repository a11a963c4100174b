"""Load saved models with their tokenizers and conventions.

A folder that the pipeline wrote has `config.json` and `model.safetensors`, tokenizers for models that read tokens,
and the conventions of the training text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.encoders.bert import BERT
from langladder.models.language.language_model import LanguageModel
from langladder.models.reading.reader import Reader
from langladder.models.tagging.tagger import Tagger
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.segmentation import Conventions, conventions_of


class LoadedModel(NamedTuple):
    """A saved language model, its tokenizer and its name.

    conventions: how its training text was read; the default for models from elsewhere.
    """

    name: str
    model: LanguageModel
    tokenizer: Tokenizer
    conventions: Conventions


class LoadedEncoder(NamedTuple):
    """A saved encoder and its tokenizer."""

    model: BERT
    tokenizer: Tokenizer


@dataclass(frozen=True)
class LoadedTranslator:
    """A saved translator with the tokenizers of both languages."""

    name: str
    model: Translator
    source: Tokenizer
    target: Tokenizer


def read_model(folder: Path) -> LoadedModel:
    """A language model and its tokenizer.

    Raises:
        InputError: no saved language model, damaged files, or a tokenizer of another size.
    """
    if not (folder / "config.json").is_file():
        wanted = "a folder with config.json, model.safetensors and tokenizer.json, such as models/lm/gpt"
        raise InputError(f"{folder}: no saved language model; expected {wanted}")
    model, tokenizer = LanguageModel.load(folder), Tokenizer.load(folder / "tokenizer.json")
    known = tokenizer.full_vocab_size if model.reads_markers else tokenizer.vocab_size
    if model.vocab_size != known:
        raise InputError(f"{folder}: the model has {model.vocab_size} tokens, but its tokenizer.json has {known}")
    return LoadedModel(folder.name, model, tokenizer, conventions_of(folder))


def read_models(folders: Sequence[Path]) -> list[LoadedModel]:
    """Several language models; models with the same name are identified by their paths. Raises as `read_model`."""
    models = [read_model(folder) for folder in folders]
    names = [loaded.name for loaded in models]
    return [
        loaded._replace(name=str(folder)) if names.count(loaded.name) > 1 else loaded
        for loaded, folder in zip(models, folders, strict=True)
    ]


def read_encoder(folder: Path) -> LoadedEncoder:
    """An encoder and its tokenizer.

    Raises:
        InputError: no saved encoder, damaged files, or a tokenizer of another size.
    """
    if not (folder / "config.json").is_file():
        wanted = "a folder with config.json, model.safetensors and tokenizer.json, such as models/encoder/bert_mini"
        raise InputError(f"{folder}: no saved encoder; expected {wanted}")
    model, tokenizer = BERT.load(folder), Tokenizer.load(folder / "tokenizer.json")
    if model.vocab_size != tokenizer.full_vocab_size:
        raise InputError(
            f"{folder}: the model has {model.vocab_size} tokens, but its tokenizer.json has {tokenizer.full_vocab_size}"
        )
    return LoadedEncoder(model, tokenizer)


def read_translator(folder: Path) -> LoadedTranslator:
    """A translator with its tokenizers. Raises InputError for anything else."""
    _check(folder, "a translator", "models/translator/")
    model = Translator.load(folder)
    sides = {}
    for side, size in (("source", model.source_vocab_size), ("target", model.target_vocab_size)):
        sides[side] = Tokenizer.load(folder / f"{side}.json")
        if sides[side].vocab_size != size:
            raise InputError(f"{folder}: the model has {size} tokens, but its {side}.json has {sides[side].vocab_size}")
    return LoadedTranslator(folder.resolve().name, model, **sides)


def read_classifier(folder: Path) -> Classifier:
    """A classifier. Raises InputError for anything else."""
    _check(folder, "a classifier", "models/classifier/")
    return Classifier.load(folder)


def read_tagger(folder: Path) -> Tagger:
    """A tagger. Raises InputError for anything else."""
    _check(folder, "a tagger", "models/tagger/")
    return Tagger.load(folder)


def read_reader(folder: Path) -> Reader:
    """A reader of questions. Raises InputError for anything else."""
    _check(folder, "a reader", "models/reader/")
    return Reader.load(folder)


def _check(folder: Path, what: str, where: str) -> None:
    try:
        readable = (folder / "config.json").is_file()
    except (OSError, ValueError):  # a sentence as an argument can be too long for a file name
        readable = False
    if not readable:
        raise InputError(f"{folder}: not {what} (a folder with config.json); see {where}")
