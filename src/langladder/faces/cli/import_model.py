"""`langladder import` and `langladder copy`: models of other tools, and files and folders behind URLs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from langladder.faces.cli.options import FOLDER, PathOrURL, json_option, overwrite_option
from langladder.faces.cli.output import claim, echo, print_json, report_written, to
from langladder.ground.atomic import Owner
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.ground.remote import File
    from langladder.models.encoders.bert import BERT
    from langladder.models.language.language_model import LanguageModel
    from langladder.text.tokenize.tokenizers import Tokenizer


COPY = Owner("a copy that may be replaced", (), lambda _: False)  # only an empty folder is filled


@click.command("import", short_help="Import a language model of another tool.")
@click.argument("source", type=PathOrURL())
@click.argument("out", type=FOLDER)
@click.option(
    "--tokenizer",
    "tokens",
    type=FOLDER,
    help="The tokenizer.json for it [default: that of SOURCE; for a single ARPA file, its words].",
)
@overwrite_option
@json_option
def import_model(source: "File", out: Path, tokens: Path | None, overwrite: bool, as_json: bool) -> None:
    """Convert another tool's language model SOURCE to a model folder OUT. SOURCE may be a URL (s3://…).

    OUT gets weights, settings, tokenizer and model card, and works with every command.

    \b
      a GPT-2 folder  as `langladder export --to gpt2` or transformers' save_pretrained writes it,
                      with langladder's special tokens (PAD 0, BOS 2, EOS 3) or GPT-2's own
      a Llama folder  the same; its own tokenizer must cut text as GPT-2's does
      a BERT folder   as `langladder export --to bert` or another tool writes it: with WordPiece and
                      the five special tokens of BERT, in tokenizer.json or vocab.txt;
                      model.safetensors, no pickle
      an ARPA file    of KenLM, SRILM or `langladder export --to arpa`, also .gz;
                      or a folder with model.arpa

    \b
    Examples:
      langladder import exported/gpt models/lm/imported
      langladder import counted.arpa.gz models/lm/counted
    """
    from langladder.formats.model_card import model_card
    from langladder.ground.artefacts import write_text
    from langladder.ground.atomic import atomic_folder
    from langladder.ground.remote import fetched
    from langladder.models.encoders.encoder import Encoder
    from langladder.models.saving import MODEL

    target = claim(out, overwrite, [source if isinstance(source, Path) else None, tokens], MODEL)
    with fetched(source) as folder:
        model, tokenizer = _read(folder, tokens)
    known = tokenizer.full_vocab_size if isinstance(model, Encoder) else tokenizer.vocab_size
    if model.vocab_size != known:
        raise InputError(f"{source}: the model has {model.vocab_size} tokens, but its tokenizer has {known}")
    with atomic_folder(target, MODEL) as temporary:
        model.save(temporary)
        tokenizer.save(temporary / "tokenizer.json")
        write_text(temporary / "README.md", model_card(temporary))
    kind, size = type(model).__name__, model.number_of_parameters()
    if as_json:
        print_json({"out": str(out), "model": kind, "tokens": model.vocab_size, "parameters": size})
    else:
        echo(f"{source} → {out} ({kind}, {model.vocab_size:,} tokens, {size:,} parameters)")


def _read(source: Path, tokens: Path | None) -> "tuple[LanguageModel | BERT, Tokenizer]":
    from langladder.formats.arpa import read_arpa
    from langladder.text.tokenize.tokenizers import Tokenizer, of_words

    if (source / "config.json").is_file():
        from langladder.formats.imported import format_of, read_imported

        return read_imported(source) if tokens is None else (format_of(source).ours(source), Tokenizer.load(tokens))
    if source.is_dir():
        if not (source / "model.arpa").is_file():
            raise InputError(
                f"{source}: no config.json (GPT-2, Llama, BERT) and no model.arpa; give a folder with one of them, or "
                "a file"
            )
        source, tokens = source / "model.arpa", tokens or source / "tokenizer.json"
    if tokens is None:
        model, words = read_arpa(source)
        return model, of_words(words, source)
    tokenizer = Tokenizer.load(tokens)
    return read_arpa(source, [tokenizer.name(token) for token in range(tokenizer.vocab_size)])[0], tokenizer


@click.command()
@click.argument("source", type=PathOrURL())
@click.argument("out", type=PathOrURL())
@overwrite_option
@json_option
def copy(source: "File", out: "File", overwrite: bool, as_json: bool) -> None:
    """Copy a file or folder SOURCE to OUT; either may be a URL.

    s3://bucket/… needs `pip install 'langladder[cluster]'`, gs://… needs gcsfs; https://… and hf://… are read-only. A
    folder is copied with everything in it. A local copy appears under its name only when it is complete. If a copy to a
    URL fails, the files that were written are deleted.

    \b
    Examples:
      langladder copy models/lm/gpt s3://bucket/models/gpt
      langladder copy s3://bucket/encoders/mine input/encoders/mine
    """
    from langladder.ground.remote import copy as copied

    reads = source if isinstance(source, Path) else None
    target = claim(out, overwrite, [reads], COPY if source.is_dir() else None, answers=as_json)
    if isinstance(target, Path):
        with to(target) as path:
            files, size = copied(source, path, overwrite=overwrite)
    else:
        files, size = copied(source, target, overwrite=overwrite)
    if as_json:
        print_json({"out": str(out), "files": files, "bytes": size})
    else:
        report_written(target, f"{source} → {out} ({files:,} file{'s' * (files != 1)}, {size:,} bytes)")
