"""What was fine-tuned from BERT or GPT, as `langladder export` reads and writes it."""

from pathlib import Path
from typing import TYPE_CHECKING

from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.models.bert_classifier import BERTClassifier
    from langladder.models.bert_span import BERTSpan
    from langladder.models.bert_tagger import BERTTagger
    from langladder.models.gpt_classifier import GPTClassifier

    Fine = BERTClassifier | BERTTagger | BERTSpan | GPTClassifier

_KINDS = {
    "langladder.models.bert_classifier.BERTClassifier": "classifier",
    "langladder.models.gpt_classifier.GPTClassifier": "classifier",
    "langladder.models.bert_tagger.BERTTagger": "tagger",
    "langladder.models.bert_span.BERTSpan": "reader",
}


def fine_tuned_family(folder: Path) -> str | None:
    """`classifier`, `tagger` or `reader` where a folder says that it holds a fine-tuned BERT or GPT; None elsewhere.

    Raises:
        InputError: it holds a GPT for multiple choice, which no other format here holds.
    """
    from langladder.ground.artefacts import read_json

    path = folder / "config.json"
    description = read_json(path) if path.is_file() else None
    target = str(description.get("_target_")) if isinstance(description, dict) else ""
    if target == "langladder.models.gpt_choice.GPTChoice":
        raise InputError(
            f"{folder}: no other format holds a GPTChoice: it reads texts between tokens of its own (start, delimiter, "
            "extract), which Hugging Face's GPT-2 heads do not have; `langladder answer` reads it"
        )
    return _KINDS.get(target)


def read_fine_tuned(folder: Path) -> "Fine":
    """The classifier, tagger or reader of a folder. Raises InputError where files are missing or damaged."""
    from langladder.models.bert_span import BERTSpan
    from langladder.models.bert_tagger import BERTTagger
    from langladder.models.classifier import Classifier

    match fine_tuned_family(folder):
        case "tagger":
            return BERTTagger.load(folder)
        case "reader":
            return BERTSpan.load(folder)
    model: BERTClassifier | GPTClassifier = Classifier.load(folder)  # type: ignore[assignment]  # one of `_KINDS`
    return model


def write_fine_tuned(model: "Fine", out: Path, format: str) -> None:
    """Write all but the card into the folder `out`, which is empty.

    Raises:
        InputError: the format has no such head.
    """
    from langladder.formats.bert import export_fine_tuned
    from langladder.formats.onnx import export_onnx_reader
    from langladder.formats.tokenizer_folder import write_encoder_tokenizer
    from langladder.ground.artefacts import write_json
    from langladder.models.bert_span import BERTSpan
    from langladder.models.bert_tagger import BERTTagger
    from langladder.models.gpt_classifier import GPTClassifier
    from langladder.models.units import SubwordUnits

    if format == "bert" or isinstance(model, BERTSpan):
        assert not isinstance(model, GPTClassifier)
        export_fine_tuned(model, out)
        return
    export_onnx_reader(model, out / "model.onnx")
    write_json(out / "labels.json", model.tags if isinstance(model, BERTTagger) else model.labels)
    if isinstance(model, BERTTagger):
        write_encoder_tokenizer(out, model.tokenizer, length=model.features.encoder.context)
        return
    assert isinstance(model.units, SubwordUnits)
    if isinstance(model, GPTClassifier):
        single, pair = ("<mask>", "$A", "<cls>"), ("<mask>", "$A", "<sep>", "$B", "<cls>")
        write_encoder_tokenizer(out, model.units.tokenizer, length=model.gpt.context, single=single, pair=pair)
    else:
        write_encoder_tokenizer(out, model.units.tokenizer, length=model.features.encoder.context)
