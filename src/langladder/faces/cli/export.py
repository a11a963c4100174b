"""`langladder export`: a model in the format of another tool, with its model card."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import click

from langladder.faces.cli.options import FOLDER, PathOrURL, json_option, overwrite_option
from langladder.faces.cli.output import claim, echo, print_json, to
from langladder.ground.atomic import Owner
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.ground.remote import File
    from langladder.models.classification.bert_classifier import BERTClassifier
    from langladder.models.classification.gpt_classifier import GPTClassifier
    from langladder.models.encoders.bert import BERT
    from langladder.models.language.language_model import LanguageModel
    from langladder.models.reading.bert_span import BERTSpan
    from langladder.models.tagging.bert_tagger import BERTTagger
    from langladder.models.translation.transformer import Transformer
    from langladder.models.translation.translator import Translator
    from langladder.text.tokenize.tokenizers import Tokenizer

    Fine = BERTClassifier | BERTTagger | BERTSpan | GPTClassifier

ExportFormat = Literal["gpt2", "llama", "bert", "onnx", "arpa", "marian"]
MARK = "Exported by langladder as "  # the last line of an export's README.md
LOADED = {"arpa": "model.arpa"}  # what the card's reader loads, where it is not the folder


def _is_export(folder: Path) -> bool:
    card = folder / "README.md"
    last = card.read_text(encoding="utf-8", errors="replace").rstrip().rpartition("\n")[2] if card.is_file() else ""
    return last.startswith(MARK)


_TOKENIZERS = ("tokenizer.json", "tokenizer_config.json", "source.json", "target.json", "target/tokenizer*.json")
_NETWORKS = ("config.json", "labels.json", "generation_config.json", "model.*", "encoder.onnx*", "decoder_step.onnx*")
EXPORT = Owner("a folder that langladder exported", ("README.md", *_TOKENIZERS, *_NETWORKS), _is_export)


@click.command(short_help="Export a model for other tools.")
@click.argument("model", type=FOLDER)
@click.argument("out", type=PathOrURL())
@click.option(
    "--to",
    "format",
    type=click.Choice(get_args(ExportFormat)),
    help="The format [default: the first that fits the model].",
)
@click.option("--scores", type=FOLDER, help="Figures for the model card, as JSON.")
@click.option("--words", is_flag=True, help="arpa: refuse a model whose tokens are not words (see above).")
@overwrite_option
@json_option
def export(
    model: Path,
    out: "File",
    format: ExportFormat | None,
    scores: Path | None,
    words: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write MODEL into the folder OUT for other tools, with a model card (README.md). OUT may be a URL (s3://…).

    \b
      gpt2    a GPT, for Hugging Face's GPT2LMHeadModel and AutoTokenizer; one that follows
              instructions with its chat template
      llama   the same for LlamaForCausalLM: a GPT with Llama's layers (the rung llama)
      bert    an encoder, for Hugging Face's BertForMaskedLM, …PreTraining; a fine-tuned one, for
              BertForSequenceClassification, …TokenClassification, …QuestionAnswering
      arpa    an n-gram model, for KenLM and SRILM: model.arpa, tokenizer.json
      marian  a Transformer, for Hugging Face's MarianMTModel
      onnx    a recurrent model, an encoder, a fine-tuned BERT or GPT (model.onnx), or a
              Transformer (encoder.onnx, decoder_step.onnx)

    An ARPA file contains the model's tokens. If the model was trained with `tokenizer: word`, they are words, and KenLM
    reads plain text. Otherwise README.md shows how to tokenize text for KenLM, and --words is an error.

    \b
    Examples:
      langladder export models/lm/gpt exported/gpt
      langladder export models/lm/kneser_ney exported/kneser_ney --to arpa
      langladder export models/translator/transformer exported/transformer --to marian
    """
    target = claim(out, overwrite, [model, scores], EXPORT)
    fine = fine_tuned_family(model)
    chosen = _choose(model, format)
    saved, tokenizers = _read(model)
    if words and fine:
        raise InputError(f"--words works with --to arpa only, not with {chosen}")
    if words:
        _check_words(tokenizers[0], model, chosen)
    from langladder.answers.kinds import kind_of
    from langladder.evaluation.page import titles
    from langladder.families import families
    from langladder.formats.loading import LOADING
    from langladder.formats.model_card import model_card
    from langladder.ground.artefacts import read_json, write_text
    from langladder.ground.atomic import atomic_folder

    figures: Mapping[str, Any] | None = None if scores is None else read_json(scores)
    family = families()[str(kind_of(model))]
    kind: str = fine or chosen
    if family.name == "instruct":
        kind = f"{chosen}_chat"
    elif chosen == "onnx" and family.name != "lm":
        kind = "onnx_transformer" if family.name == "translator" else f"onnx_{family.name}"
    if chosen == "arpa" and tokenizers[0].kind != "word":
        kind = "arpa_tokens"
    named, name = titles(family.page()), LOADED.get(chosen, ".")
    card = model_card(model, figures, named, loading=LOADING[kind], limits=family.limits, name=name)
    with to(target) as path:
        with atomic_folder(path, EXPORT) as temporary:
            _write(saved, tokenizers, temporary, chosen)
            write_text(temporary / "README.md", f"{card}\n{MARK}{chosen}.\n")
        files = sorted(file.name for file in path.iterdir())
    if as_json:
        print_json({"out": str(out), "format": chosen, "files": files})
    else:
        echo(f"{model.name} → {out} ({chosen}: {', '.join(files)})")


def _check_words(tokenizer: "Tokenizer", model: Path, format: ExportFormat) -> None:
    if format != "arpa":
        raise InputError(f"--words works with --to arpa only, not with {format}")
    if tokenizer.kind != "word":
        raise InputError(
            f"{model}: --words: its tokens are parts of words (tokenizer {tokenizer.kind}), so an ARPA file of words "
            "cannot represent the model; train it with `tokenizer: word` (params.yaml), or export without --words: "
            "README.md shows how to tokenize text for KenLM"
        )


def _read(folder: Path) -> "tuple[LanguageModel | BERT | Translator | Fine, list[Tokenizer]]":
    """The model with its tokenizer, or with that of the source and that of the target."""
    from langladder.answers.kinds import kind_of
    from langladder.answers.loading import read_encoder, read_model, read_translator

    if (folder / "source.json").is_file():
        translator = read_translator(folder)
        return translator.model, [translator.source, translator.target]
    if fine_tuned_family(folder):
        return _read_fine_tuned(folder), []
    if kind_of(folder) == "encoder":
        encoder = read_encoder(folder)
        return encoder.model, [encoder.tokenizer]
    loaded = read_model(folder)
    return loaded.model, [loaded.tokenizer]


def _choose(folder: Path, format: ExportFormat | None) -> ExportFormat:
    """The requested format, or the first that fits, by config.json alone.

    Raises:
        InputError: no format fits, or the requested one does not; or the folder has no model.
    """
    from langladder.ground.artefacts import read_json
    from langladder.models.saving import located

    path = folder / "config.json"
    if (folder / "words.json").is_file() and not path.is_file():
        raise InputError(f"{folder}: these are word vectors; use `langladder convert` to write them for other tools")
    if not path.is_file():
        wanted = "a folder with config.json and model.safetensors, such as models/lm/gpt"
        raise InputError(f"{folder}: no saved model; expected {wanted}")
    described = read_json(path)
    kind = located(path, str(described.get("_target_") if isinstance(described, dict) else None))
    kinds = _formats()
    fitting = next((formats for name, formats in kinds.items() if issubclass(kind, name)), None)
    if fitting is not None and "llama" in fitting and _is_llama(folder):
        fitting = ["llama"]
    if fitting is None:
        there = "; ".join(
            f"{name.__name__} can be exported to {' or '.join(formats)}" for name, formats in kinds.items()
        )
        raise InputError(
            f"{folder}: no other format supports a {kind.__name__}; its weights are in model.safetensors, which the "
            f"library safetensors reads ({there})"
        )
    if format is not None and format not in fitting:
        raise InputError(f"{folder}: a {kind.__name__} can be exported to {' or '.join(fitting)}, not to {format}")
    return format or fitting[0]


def _is_llama(folder: Path) -> bool:
    from langladder.formats.imported import described
    from langladder.formats.llama import is_llama
    from langladder.models.language.gpt import GPTConfig

    return is_llama(cast("GPTConfig", described(folder)[1]))


def _formats() -> dict[type, list[ExportFormat]]:
    """The formats of each kind of model, best first."""
    from langladder.models.classification.bert_classifier import BERTClassifier
    from langladder.models.classification.gpt_classifier import GPTClassifier
    from langladder.models.encoders.bert import BERT
    from langladder.models.language.gpt import GPT
    from langladder.models.language.recurrent import RecurrentLM
    from langladder.models.ngrams.backoff import BackoffLanguageModel
    from langladder.models.reading.bert_span import BERTSpan
    from langladder.models.tagging.bert_tagger import BERTTagger
    from langladder.models.translation.transformer import Transformer

    return {
        GPT: ["gpt2", "llama"],
        BERT: ["bert", "onnx"],
        BERTClassifier: ["bert", "onnx"],
        BERTTagger: ["bert", "onnx"],
        BERTSpan: ["bert"],
        GPTClassifier: ["onnx"],
        RecurrentLM: ["onnx"],
        BackoffLanguageModel: ["arpa"],
        Transformer: ["marian", "onnx"],
    }


def _write(
    model: "LanguageModel | BERT | Translator | Fine", tokenizers: "list[Tokenizer]", out: Path, format: ExportFormat
) -> None:
    """Write all but the card into the folder `out`, which is empty."""
    from langladder.models.encoders.bert import BERT
    from langladder.models.language.gpt import GPT
    from langladder.models.language.recurrent import RecurrentLM
    from langladder.models.ngrams.backoff import BackoffLanguageModel
    from langladder.models.translation.transformer import Transformer

    if not tokenizers:
        _write_fine_tuned(cast("Fine", model), out, format)
    elif isinstance(model, BERT):
        _write_encoder(model, tokenizers[0], out, format)
    elif isinstance(model, GPT):
        from langladder.formats.gpt2 import export_gpt2
        from langladder.formats.llama import export_llama

        (export_llama if format == "llama" else export_gpt2)(model, tokenizers[0], out)
    elif isinstance(model, Transformer):
        _write_transformer(model, tokenizers, out, format)
    elif isinstance(model, RecurrentLM):
        tokenizers[0].save(out / "tokenizer.json", reserved=False)
        from langladder.formats.onnx import export_onnx_recurrent

        export_onnx_recurrent(model, out / "model.onnx")
    else:
        from langladder.formats.arpa import write_arpa

        assert isinstance(model, BackoffLanguageModel)
        tokenizers[0].save(out / "tokenizer.json", reserved=False)
        write_arpa(out / "model.arpa", model, [tokenizers[0].name(token) for token in range(model.vocab_size)])


def _write_transformer(model: "Transformer", tokenizers: "list[Tokenizer]", out: Path, format: ExportFormat) -> None:
    source, target = tokenizers
    if format == "marian":
        from langladder.formats.marian import export_marian

        export_marian(model, source, target, out)
    else:
        from langladder.formats.onnx import export_onnx_transformer

        export_onnx_transformer(model, out)
        source.save(out / "source.json", reserved=False)
        target.save(out / "target.json", reserved=False)


def _write_encoder(model: "BERT", tokenizer: "Tokenizer", out: Path, format: ExportFormat) -> None:
    if format == "onnx":
        from langladder.formats.onnx import export_onnx_encoder
        from langladder.formats.tokenizer_folder import write_encoder_tokenizer

        export_onnx_encoder(model, out / "model.onnx")
        write_encoder_tokenizer(out, tokenizer, length=model.context, gaps=True)
    else:
        from langladder.formats.bert import export_bert

        export_bert(model, tokenizer, out)


_FINE_TUNED = (
    "langladder.models.classification.bert_classifier.BERTClassifier",
    "langladder.models.classification.gpt_classifier.GPTClassifier",
    "langladder.models.tagging.bert_tagger.BERTTagger",
    "langladder.models.reading.bert_span.BERTSpan",
)


def fine_tuned_family(folder: Path) -> str | None:
    """`classifier`, `tagger` or `reader` if the folder has a fine-tuned BERT or GPT, else None.

    Raises:
        InputError: it has a GPT for multiple choice, which no other format supports.
    """
    from langladder.answers.kinds import kind_of
    from langladder.ground.artefacts import read_json

    path = folder / "config.json"
    description = read_json(path) if path.is_file() else None
    target = description.get("_target_") if isinstance(description, dict) else None
    if target == "langladder.models.reading.gpt_choice.GPTChoice":
        raise InputError(
            f"{folder}: no other format supports a GPTChoice: it uses tokens of its own (start, delimiter, "
            "extract), which Hugging Face's GPT-2 heads do not have; use it with `langladder answer`"
        )
    return kind_of(folder) if target in _FINE_TUNED else None


def _read_fine_tuned(folder: Path) -> "Fine":
    """The classifier, tagger or reader of a folder. Raises InputError where files are missing or damaged."""
    from langladder.models.classification.classifier import Classifier
    from langladder.models.reading.bert_span import BERTSpan
    from langladder.models.tagging.bert_tagger import BERTTagger

    match fine_tuned_family(folder):
        case "tagger":
            return BERTTagger.load(folder)
        case "reader":
            return BERTSpan.load(folder)
    model: BERTClassifier | GPTClassifier = Classifier.load(folder)  # type: ignore[assignment]  # one of `_FINE_TUNED`
    return model


def _write_fine_tuned(model: "Fine", out: Path, format: str) -> None:
    """Write all but the card into the folder `out`, which is empty.

    Raises:
        InputError: the format has no such head.
    """
    from langladder.formats.bert import export_fine_tuned
    from langladder.formats.onnx import export_onnx_reader
    from langladder.formats.tokenizer_folder import write_encoder_tokenizer
    from langladder.ground.artefacts import write_json
    from langladder.models.classification.gpt_classifier import GPTClassifier
    from langladder.models.reading.bert_span import BERTSpan
    from langladder.models.tagging.bert_tagger import BERTTagger
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
