"""BERT fine-tuned, as `langladder export` reads it; what no other format holds is refused by name."""

from pathlib import Path
from typing import TYPE_CHECKING

from langladder.errors import InputError

if TYPE_CHECKING:
    from langladder.export.bert_heads import Fine

_KINDS = {
    "langladder.models.bert_classifier.BERTClassifier": "classifier",
    "langladder.models.bert_tagger.BERTTagger": "tagger",
}


def fine_tuned_family(folder: Path) -> str | None:
    """`classifier` or `tagger` where a folder says that it holds a fine-tuned BERT; None elsewhere.

    Raises:
        InputError: it holds a fine-tuned GPT, which no other format here holds.
    """
    from langladder.artefacts import read_json

    path = folder / "config.json"
    description = read_json(path) if path.is_file() else None
    target = str(description.get("_target_")) if isinstance(description, dict) else ""
    if target == "langladder.models.gpt_classifier.GPTClassifier":
        raise InputError(
            f"{folder}: no other format holds a GPTClassifier: it reads texts between tokens of its own (start, "
            "delimiter, extract), which Hugging Face's GPT-2 heads do not have; `langladder classify` reads it"
        )
    return _KINDS.get(target)


def read_fine_tuned(folder: Path) -> "Fine":
    """The classifier or tagger of a folder. Raises InputError where files are missing or damaged."""
    from langladder.models.bert_classifier import BERTClassifier
    from langladder.models.bert_tagger import BERTTagger

    return (BERTClassifier if fine_tuned_family(folder) == "classifier" else BERTTagger).load(folder)
