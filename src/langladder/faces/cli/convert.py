"""`langladder convert`: word vectors from any format into any other."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from langladder.faces.cli.options import PathOrURL, json_option, overwrite_option, vectors_argument
from langladder.faces.cli.output import claim, print_json, read_vectors_argument, report_written, to
from langladder.ground.errors import Damage, InputError

if TYPE_CHECKING:
    from langladder.embeddings.base import WordVectors
    from langladder.formats.vector_files import Format
    from langladder.ground.atomic import Owner
    from langladder.ground.remote import File

FORMATS = ("safetensors", "word2vec", "word2vec-binary", "glove", "projector")


@click.command()
@vectors_argument
@click.argument("out", type=PathOrURL())
@click.option("--to", "format", type=click.Choice(FORMATS), help="The format, where the name of OUT does not say it.")
@click.option("--top", type=click.IntRange(min=1), help="Keep the first (most frequent) so many words.")
@click.option("--vocabulary", type=click.Path(path_type=Path), help="Words to read from a model: a vocabulary.json.")
@overwrite_option
@json_option
def convert(
    vectors: str,
    damage: Damage,
    out: "File",
    format: "Format | None",
    top: int | None,
    vocabulary: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write word vectors in another format.

    OUT's name says which: x.vec or x.txt is word2vec text, x.bin word2vec binary, x.glove GloVe text (all also .gz); a
    name without a dot is a folder of safetensors; - is the standard output (with --to). --to projector writes a folder
    for TensorBoard's projector. OUT and VECTORS may be URLs (s3://…).

    Of a language model, the words that are one token are taken, or with --vocabulary all words of a vocabulary, where
    a word of several tokens has the mean of their vectors.

    \b
    Examples:
      langladder convert models/embedding/skipgram skipgram.bin
      langladder convert models/lm/lstm lstm.vec.gz --vocabulary data/words/vocabulary.json
    """
    from langladder.formats.vector_files import format_of, write_vectors

    chosen = format or format_of(str(out))
    place = claim(out, overwrite, [vectors, vocabulary], folder_of(chosen), answers=as_json)
    known = read_vectors_argument(vectors, damage) if vocabulary is None else _from_model(Path(vectors), vocabulary)
    if top is not None:
        known = _first(known, top)
    with to(place) as path:
        write_vectors(known, path, chosen)
    words, dimension = len(known), int(known.matrix.shape[1])
    if as_json:
        print_json({"out": str(out), "format": chosen, "words": words, "dimension": dimension}, damage)
    else:
        report_written(place, f"{words:,} words × {dimension} → {out} ({chosen})")


def folder_of(format: "Format") -> "Owner | None":
    """The sort of folder that a format is; None for one that is a file."""
    from langladder.embeddings.base import VECTORS
    from langladder.formats.vector_files import PROJECTOR

    return {"safetensors": VECTORS, "projector": PROJECTOR}.get(format)


def _first(vectors: "WordVectors", top: int) -> "WordVectors":
    from langladder.embeddings.base import WordVectors

    counts = None if vectors.counts is None else vectors.counts[:top]
    kept: dict[str, Any] = {"words_by": vectors.words_by, "normalisation": vectors.normalisation}
    return WordVectors(vectors.words[:top], vectors.matrix[:top], counts, vectors.about, **kept)


def _from_model(folder: Path, vocabulary: Path) -> "WordVectors":
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: not a language model; --vocabulary goes with one (a folder with config.json)")
    from langladder.formats.vector_files import input_embedding
    from langladder.text.words.vocabulary import Vocabulary

    return input_embedding(folder, Vocabulary.load(vocabulary))
