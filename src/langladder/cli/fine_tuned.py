"""BERT fine-tuned, as `langladder export` reads it; what no other format holds is refused by name."""

from pathlib import Path
from typing import TYPE_CHECKING

from langladder.errors import InputError

if TYPE_CHECKING:
    from langladder.export.bert_heads import Fine

_KINDS = {
    "langladder.models.bert_classifier.BERTClassifier": "classifier",
    "langladder.models.bert_tagger.BERTTagger": "tagger",
    "langladder.models.bert_span.BERTSpan": "reader",
}
_GPTS = {
    "langladder.models.gpt_classifier.GPTClassifier": "classify",
    "langladder.models.gpt_choice.GPTChoice": "answer",
}
"""And the command that reads them."""


def fine_tuned_family(folder: Path) -> str | None:
    """`classifier`, `tagger` or `reader` where a folder says that it holds a fine-tuned BERT; None elsewhere.

    Raises:
        InputError: it holds a fine-tuned GPT, which no other format here holds.
    """
    from langladder.artefacts import read_json

    path = folder / "config.json"
    description = read_json(path) if path.is_file() else None
    target = str(description.get("_target_")) if isinstance(description, dict) else ""
    if target in _GPTS:
        raise InputError(
            f"{folder}: no other format holds a {target.rpartition('.')[2]}: it reads texts between tokens of its own "
            "(start, delimiter, extract), which Hugging Face's GPT-2 heads do not have; "
            f"`langladder {_GPTS[target]}` reads it"
        )
    return _KINDS.get(target)


def read_fine_tuned(folder: Path) -> "Fine":
    """The classifier, tagger or reader of a folder. Raises InputError where files are missing or damaged."""
    from langladder.models.bert_classifier import BERTClassifier
    from langladder.models.bert_span import BERTSpan
    from langladder.models.bert_tagger import BERTTagger

    match fine_tuned_family(folder):
        case "classifier":
            return BERTClassifier.load(folder)
        case "reader":
            return BERTSpan.load(folder)
    return BERTTagger.load(folder)
