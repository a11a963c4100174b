"""`langladder perplexity`: how well language models predict other texts than their own (GPT-2's table of corpora)."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from langladder.answers.loading import LoadedModel, read_model
from langladder.faces.cli.input import is_folder
from langladder.faces.cli.options import json_option
from langladder.faces.cli.output import note_normalised, print_json, print_table

if TYPE_CHECKING:
    from langladder.evaluation.perplexity import TextScores

COLUMNS = ("text", "model", "per word", "bits per character", "bits per byte", "per token", "tokens", "unknown")


@click.command(short_help="How well language models predict any texts.")
@click.argument("asked", nargs=-1, required=True, metavar="MODEL... FILE...")
@json_option
def perplexity(asked: tuple[str, ...], as_json: bool) -> None:
    """Perplexity of each FILE (a text, a line a sentence; also .gz) under each MODEL, without training on it.

    Folders are models, the rest are files. A blank line begins a new document; all characters and the ends of lines
    are predicted. Between models with different tokenizers compare perplexity per word, or bits per character; where
    `unknown` is not 0 the model does not spell these words, and its figures flatter it. Words are counted as in the
    training text of the model; where that separates none, they are graphemes: then compare bits per character.

    \b
    Examples:
      langladder perplexity models/lm/* input/text/mine.txt
      langladder perplexity models/lm/gpt wikitext.txt reviews.txt.gz
    """
    folders = [Path(word) for word in asked if is_folder(word)]
    files = [Path(word) for word in asked if not is_folder(word)]
    if not folders or not files:
        raise click.UsageError(f"{len(folders)} models and {len(files)} files: name at least one of each")
    rows: list[list[Any]] = []
    units: list[str] = []
    models = [read_model(folder) for folder in folders]
    for file in files:
        for folder, loaded in zip(folders, models, strict=True):
            found = score_file(loaded, file)
            figures = [
                found.perplexity_per_word,
                found.bits_per_character,
                found.bits_per_byte,
                found.perplexity_per_token,
            ]
            units.append(found.word_unit)
            rows.append([str(file), str(folder), *map(_finite, figures), found.tokens, round(found.unknown_rate, 4)])
    if as_json:
        print_json(
            [dict(zip(COLUMNS, row, strict=True)) | {"word": unit} for row, unit in zip(rows, units, strict=True)]
        )
        return
    columns = ["per grapheme" if name == "per word" and "graphemes" in units else name for name in COLUMNS]
    print_table(columns, [[*row[:2], *map(_formatted, row[2:6]), *row[6:]] for row in rows], title="perplexity")


def score_file(loaded: LoadedModel, file: Path) -> "TextScores":
    """The scores of a text file; its words, characters and bytes are those of the normalised text.

    Raises:
        InputError: it cannot be read, or holds nothing.
    """
    import numpy as np

    from langladder.evaluation.perplexity import score
    from langladder.ground.errors import InputError
    from langladder.text.read.lines import read_lines
    from langladder.text.storage.corpus_ids import TokenStream
    from langladder.text.tokenize.encoding import framed

    documents: list[list[str]] = [[]]
    for line in (line.strip() for line in read_lines(file)):
        if line:
            documents[-1].append(line)
        elif documents[-1]:
            documents.append([])
    lines = [line for document in documents for line in document]
    if not lines:
        raise InputError(f"{file}: has blank lines only")
    note_normalised(loaded.tokenizer.normalisation, lines, f"lines of {file}")
    lines = loaded.tokenizer.normalisation.normalise_all(lines)
    rows = iter(framed(ids) for ids in loaded.tokenizer.encode_lines(lines))
    parts = [np.concatenate([next(rows) for _ in document]) for document in documents if document]
    stream = TokenStream(np.concatenate(parts), np.cumsum([0, *map(len, parts)]))
    words = sum(len(loaded.conventions.split(line)) + 1 for line in lines)
    return score(
        loaded.model,
        stream,
        words=words,
        word_unit=loaded.conventions.unit,
        characters=sum(len(line) + 1 for line in lines),
        bytes=sum(len(line.encode()) + 1 for line in lines),
    )


def _finite(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None


def _formatted(value: float | None) -> str:
    if value is None:
        return "∞"
    return f"{value:,.2f}" if value < 1e6 else f"{value:.1e}"
