"""One way in and one way out for word vectors, whatever the format.

| format | what | also read by |
| --- | --- | --- |
| safetensors | a folder: `vectors.safetensors`, `words.json` (with counts and how the vectors came to be) | |
| word2vec | text with a header | gensim, fastText's tools, spaCy |
| word2vec-binary | float32 after each word | gensim |
| glove | text without header | gensim (`no_header=True`), torchtext |
| projector | a folder: `vectors.tsv`, `metadata.tsv` | TensorBoard |

The file formats may be gzipped. Reading goes by what is in a file, not by its name. Of damaged entries of the file
formats and of the projector's tables (see `vector_entries`) `langladder.ground.errors.Damage` decides what becomes.
"""

import codecs
import logging
import struct
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from langladder.embeddings.base import WordVectors
from langladder.embeddings.saved import load_vectors
from langladder.formats import glove_format, projector, word2vec_format
from langladder.formats.vector_entries import BOM, NOT_FINITE, is_number
from langladder.ground.errors import Damage, InputError
from langladder.ground.remote import is_url
from langladder.ground.remote_copies import fetched
from langladder.text.read.lines import reading

Format = Literal["safetensors", "word2vec", "word2vec-binary", "glove", "projector"]
FORMATS: tuple[Format, ...] = get_args(Format)

_FIRST_BYTES = 1 << 20  # of a file, to see what it is; the first line of a text format lies within
_FASTTEXT = struct.pack("<i", 793712314)
_SAFETENSORS = b'\0\0{"'  # bytes 6 to 9: the end of a length in eight bytes, then JSON
_OTHERS = {  # first bytes of what people try, and what to do instead
    b"PK\x03\x04": "a zip archive: unpack it, and give one of the files inside",
    _FASTTEXT: "a fastText model: give the .vec file that fastText wrote beside it",
    b"\x80": "a pickle, which may run code and is never loaded; from gensim, write it with `save_word2vec_format`",
    b"\x93NUMPY": "a NumPy array, which has no words",
    codecs.BOM_UTF16_LE: "text in UTF-16: convert it to UTF-8 (iconv -t UTF-8)",
    codecs.BOM_UTF16_BE: "text in UTF-16: convert it to UTF-8 (iconv -t UTF-8)",
}


def read_vectors(path: Path | str, damage: Damage | None = None) -> WordVectors:
    """Read word vectors of any format in the module's table, or the input embedding of a saved language model.

    What is behind a URL is fetched first.

    Of a model, the whole-word tokens are read; see `input_embedding` for the words of a vocabulary.

    Args:
        damage: what to do with damaged entries of a foreign file, and what was found; None: they are left out. A
            warning is logged that says how many.

    Raises:
        InputError: missing, malformed, of no known format, a damaged entry and the policy is `strict`, or saved vectors
            with a number that is not finite (says where and what).
    """
    if is_url(path):
        with fetched(path) as local:
            return read_vectors(local, damage)
    path, found = Path(path), damage or Damage()
    try:
        vectors = _read_folder(path, found) if path.is_dir() else _read_file(path, found)
    except InputError as error:
        if str(path) in str(error):
            raise
        raise InputError(f"{path}: {error}") from error  # what `WordVectors` refuses, such as a word that occurs twice
    if found.counts:
        logging.getLogger(__name__).warning("%s: %s", path, found.summary())
    values = vectors.matrix.data if vectors.is_sparse else vectors.matrix
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row = np.searchsorted(vectors.matrix.indptr, bad[0, 0], side="right") - 1 if vectors.is_sparse else bad[0, 0]
        raise InputError(f"{path}: {NOT_FINITE} in the vector of {vectors.words[int(row)][:60]!r}")
    return vectors


def write_vectors(vectors: WordVectors, path: Path | str, format: Format) -> None:
    """Write word vectors; counts are kept by safetensors and projector, `about` by safetensors only.

    Raises:
        InputError: an unknown format, or a word that the format cannot hold.
    """
    path = Path(path)
    if format == "safetensors":
        vectors.save(path)
    elif format == "projector":
        projector.write(path, vectors.words, vectors.matrix, vectors.counts)
    elif format == "glove":
        glove_format.write(path, vectors.words, vectors.matrix)
    elif format in ("word2vec", "word2vec-binary"):
        word2vec_format.write(path, vectors.words, vectors.matrix, binary=format == "word2vec-binary")
    else:
        raise InputError(f"format {format!r}; allowed: {', '.join(FORMATS)}")


def format_of(path: Path | str) -> Format:
    """The format that a name to write stands for: .bin, .glove, .glove.txt, .vec, .txt (each also .gz), or a folder.

    Raises:
        InputError: none that is known.
    """
    name = Path(path).name.lower().removesuffix(".gz")
    if name.endswith(".bin"):
        return "word2vec-binary"
    if name.endswith((".glove", ".glove.txt")):
        return "glove"
    if name.endswith((".txt", ".vec", ".w2v")):
        return "word2vec"
    if "." not in name:
        return "safetensors"
    raise InputError(
        f"{path}: no format ends so; say which it is to be ({', '.join(FORMATS)}), or end it in .vec or .bin"
    )


def _read_folder(path: Path, damage: Damage) -> WordVectors:
    names = {file.name for file in path.iterdir()}
    if "words.json" in names:
        return load_vectors(path)
    if {"config.json", "model.safetensors"} <= names:
        from langladder.formats.input_embedding import input_embedding  # needs torch: only for models

        return input_embedding(path)
    if projector.VECTORS in names:
        return WordVectors(*projector.read(path, damage))
    raise InputError(
        f"{path}: a folder without word vectors; it needs words.json and vectors.safetensors (word vectors), "
        f"config.json and model.safetensors (a language model), or vectors.tsv and metadata.tsv (projector)"
    )


def _read_file(path: Path, damage: Damage) -> WordVectors:
    with reading(path) as file:
        start = file.read(_FIRST_BYTES)
    for magic, advice in _OTHERS.items():
        if start.startswith(magic):
            raise InputError(f"{path}: {advice}")
    if path.name in (projector.METADATA, projector.VECTORS) or start[6:10] == _SAFETENSORS:
        return _read_folder(path.parent, damage)
    start = start.removeprefix(BOM)
    fields = start.split(b"\n", 1)[0].split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return WordVectors(*word2vec_format.read(path, damage=damage))
    if len(fields) >= 2 and is_number(fields[-1]):
        return WordVectors(*glove_format.read(path, damage))
    raise InputError(
        f"{path}: no word vectors: it begins with {start[:40]!r}, which is neither a word2vec header (two numbers: "
        "words, dimension), nor a word with its numbers (GloVe), nor safetensors"
    )
