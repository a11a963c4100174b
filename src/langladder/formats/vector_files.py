"""Read and write word vectors in any format.

| format | what | also read by |
| --- | --- | --- |
| safetensors | a folder: `vectors.safetensors`, `words.json` (with counts and how the vectors came to be) | |
| word2vec | text with a header | gensim, fastText's tools, spaCy |
| word2vec-binary | float32 after each word | gensim |
| glove | text without header | gensim (`no_header=True`), torchtext |
| projector | a folder: `vectors.tsv`, `metadata.tsv` | TensorBoard |

The file formats may be gzipped. The format is recognised by the content of a file, not by its name.
`langladder.ground.errors.Damage` decides about damaged entries of the file formats and the projector's tables.

Projector: `vectors.tsv` has the numbers of one word a line, between tabs; `metadata.tsv` the words on the same lines
(with their counts as a second column under a header, where they are known; a single column must have no header). Both
load at projector.tensorflow.org; the third file, `projector_config.pbtxt`, is for `tensorboard --logdir <folder>`.

The input embedding of a language model can be read as word vectors. The rows of its table belong to tokens. A word that
is one token has that token's row; a word of several pieces the mean of their rows (as a bag of pieces; the network
itself reads them one after the other). A word with a piece that the tokenizer does not know (UNK) has no
"""

import codecs
import logging
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from langladder.embeddings.base import Matrix, WordVectors
from langladder.embeddings.saved import load_vectors
from langladder.formats import vector_formats
from langladder.formats.vector_formats import (
    BOM,
    NOT_FINITE,
    Entries,
    check_words,
    dense_rows,
    entry_line,
    is_number,
    parse_numbers,
)
from langladder.ground.artefacts import JSONObject, write_text
from langladder.ground.atomic import Owner, atomic_folder
from langladder.ground.errors import Damage, InputError
from langladder.ground.remote import fetched, is_url
from langladder.text.read.lines import reading
from langladder.text.tokenize.specials import UNK
from langladder.text.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from langladder.text.tokenize.tokenizers import Tokenizer

# ---- the tables of the TensorBoard Embedding Projector


MOST_NUMBERS = 100_000  # on a line
VECTORS, METADATA, SETTINGS = "vectors.tsv", "metadata.tsv", "projector_config.pbtxt"
_CONFIG = f'embeddings {{\n  tensor_path: "{VECTORS}"\n  metadata_path: "{METADATA}"\n}}\n'


def _is_projector(folder: Path) -> bool:
    path = folder / SETTINGS
    return path.is_file() and path.read_bytes() == _CONFIG.encode()


PROJECTOR = Owner("a projector folder that langladder wrote", (VECTORS, METADATA, SETTINGS), _is_projector)


def write_projector(folder: Path, words: list[str], matrix: Matrix, counts: np.ndarray | None = None) -> None:
    """Write the folder, atomically.

    Raises:
        InputError: a word is empty or holds a space or line end.
    """
    check_words(folder, words)
    rows = words if counts is None else [f"{word}\t{count}" for word, count in zip(words, counts, strict=True)]
    header = [] if counts is None else ["word\tcount"]
    with atomic_folder(Path(folder), PROJECTOR) as temporary:
        numbers = "\t".join(["%.9g"] * matrix.shape[1])
        with (temporary / VECTORS).open("wb") as file:
            for vector in dense_rows(matrix):
                file.write((numbers % tuple(vector.tolist())).encode() + b"\n")
        write_text(temporary / METADATA, "".join(f"{row}\n" for row in [*header, *rows]))
        write_text(temporary / SETTINGS, _CONFIG)


def read_projector(folder: Path, damage: Damage | None = None) -> tuple[list[str], np.ndarray, np.ndarray | None]:
    """Words, (V, D) float32 vectors and (V,) int64 counts (None where there are none).

    Of other metadata the first column is taken for the word.

    Args:
        damage: what to do with damaged entries; None: they are left out.

    Raises:
        InputError: a file is missing or malformed, the two differ in length, an entry is damaged and the policy is
            `strict` (names the line).
    """
    matrix = _read_vectors(Path(folder) / VECTORS)
    path = Path(folder) / METADATA
    with reading(path) as file:
        lines = enumerate(iter(lambda: entry_line(path, file, 0, 0), b""), start=1)
        rows = [(number, line.rstrip(b"\r\n").removeprefix(BOM).split(b"\t")) for number, line in lines]
    header = rows.pop(0)[1] if len(rows) == len(matrix) + 1 and len(rows[0][1]) > 1 else []
    if len(rows) != len(matrix):
        raise InputError(f"{path}: {len(rows)} words, but {len(matrix)} vectors in {Path(folder) / VECTORS}")
    entries, kept = Entries(matrix.shape[1], damage or Damage()), []
    for (number, row), vector in zip(rows, matrix, strict=True):
        if entries.add(f"{path}:{number}", f"line {number}", row[0], vector):
            kept.append((number, row))
    words, matrix = entries.finish(path)
    return words, matrix, _counts(path, kept) if header[1:2] == [b"count"] else None


def _counts(path: Path, rows: list[tuple[int, list[bytes]]]) -> np.ndarray:
    for number, row in rows:
        if len(row) < 2 or not row[1].isdigit() or len(row[1]) > 18:
            raise InputError(f"{path}:{number}: the column `count` must have a whole number in every row")
    return np.array([int(row[1]) for _, row in rows], dtype=np.int64)


def _read_vectors(path: Path) -> np.ndarray:
    rows: list[np.ndarray] = []
    with reading(path) as file:
        for number, line in enumerate(iter(lambda: entry_line(path, file, len(rows) + 1, MOST_NUMBERS), b""), start=1):
            row = parse_numbers(f"{path}:{number}", line.rstrip(b"\r\n").removeprefix(BOM).split(b"\t"))
            if rows and len(row) != len(rows[0]):
                raise InputError(f"{path}:{number}: {len(row)} numbers; the first line has {len(rows[0])}")
            rows.append(row)
    if not rows:
        raise InputError(f"{path}: empty; it has the numbers of one word on each line, between tabs")
    return np.stack(rows)


# ---- the input embedding of a language model


@dataclass(frozen=True)
class TokenVectors(WordVectors):
    """The words that are one token of a language model; of other words, the error says which tokens they are."""

    tokenizer: "Tokenizer" = field(kw_only=True)

    def row(self, word: str) -> int:
        """The row of a word. Raises InputError if it is several tokens, or none."""
        if word in self.index:
            return self.index[word]
        from langladder.text.tokenize.tokenizers import word_pieces

        pieces = [self.tokenizer.piece(int(token)).strip() for token in word_pieces(self.tokenizer, [word])[0]]
        raise InputError(
            f"{word!r} is not among the {len(self):,} words that have a vector, those that are one token of the model; "
            f"the model reads {word!r} as {', '.join(filter(None, pieces))}"
        )


def input_embedding(model_folder: Path, vocabulary: Vocabulary | None = None) -> WordVectors:
    """The input embedding of a saved language model as word vectors.

    Args:
        model_folder: holds config.json, model.safetensors and tokenizer.json.
        vocabulary: whose words, in whose order; None: the words that are one token, in the tokenizer's order.

    Raises:
        InputError: files are missing or damaged, the model has no input embedding, or no word is left.
    """
    from langladder.models.language.language_model import LanguageModel  # torch takes seconds: only for models
    from langladder.models.language.neural import NeuralLanguageModel
    from langladder.text.tokenize.tokenizers import Tokenizer, word_tokens

    folder = Path(model_folder)
    model = LanguageModel.load(folder)
    embedding = model.input_embedding() if isinstance(model, NeuralLanguageModel) else None
    if embedding is None:
        raise InputError(f"{folder}: a {type(model).__name__} has no input embedding, only neural language models have")
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    table = embedding.weight.detach().float().cpu().numpy()  # (tokens, D)
    if len(table) not in (tokenizer.vocab_size, tokenizer.full_vocab_size):  # the latter: with its reserved specials
        raise InputError(f"{folder}: the model has {len(table)} tokens, its tokenizer.json {tokenizer.vocab_size}")

    about: JSONObject = {
        "method": f"input embedding of {type(model).__name__}",
        "config": model.config.model_dump(mode="json"),
    }
    if vocabulary is None:
        single = word_tokens(tokenizer)
        words, rows = list(single.values()), table[list(single)]
        vectors: WordVectors = TokenVectors(words, rows, None, about, tokenizer=tokenizer)
    else:
        vectors = _of_vocabulary(table, tokenizer, vocabulary, about)
    if not len(vectors):
        raise InputError(f"{folder}: its tokenizer ({tokenizer.kind}) knows none of the words; give another vocabulary")
    return vectors


def _of_vocabulary(table: np.ndarray, tokenizer: "Tokenizer", vocabulary: Vocabulary, about: JSONObject) -> WordVectors:
    from langladder.text.tokenize.tokenizers import word_pieces

    pieces = word_pieces(tokenizer, vocabulary.words)
    known = np.array([len(ids) > 0 and UNK not in ids for ids in pieces], dtype=bool)
    pieces = [ids for ids, is_known in zip(pieces, known, strict=True) if is_known]
    lengths = np.array([len(ids) for ids in pieces], dtype=np.int64)
    words = [word for word, is_known in zip(vocabulary.words, known, strict=True) if is_known]
    matrix: np.ndarray = np.empty((0, table.shape[1]), dtype=np.float32)
    if words:
        starts = np.cumsum(lengths) - lengths
        # v(word) = (1/n) Σ_i E[piece_i]
        matrix = np.add.reduceat(table[np.concatenate(pieces)], starts) / lengths[:, None].astype(np.float32)
    about = about | {"words_of_one_token": int((lengths == 1).sum()), "words_left_out": int((~known).sum())}
    return WordVectors(words, matrix, vocabulary.counts[known], about)


# ---- any format


Format = Literal["safetensors", "word2vec", "word2vec-binary", "glove", "projector"]
FORMATS: tuple[Format, ...] = get_args(Format)

_FIRST_BYTES = 1 << 20  # of a file, to recognise it; the first line of a text format is shorter
_FASTTEXT = struct.pack("<i", 793712314)
_SAFETENSORS = b'\0\0{"'  # bytes 6 to 9: the end of a length in eight bytes, then JSON
_OTHERS = {  # first bytes of unsupported formats, and what to do instead
    b"PK\x03\x04": "a zip archive: unpack it, and give one of the files inside",
    _FASTTEXT: "a fastText model: give the .vec file that fastText wrote beside it",
    b"\x80": "a pickle, which may run code and is never loaded; from gensim, write it with `save_word2vec_format`",
    b"\x93NUMPY": "a NumPy array, which has no words",
    codecs.BOM_UTF16_LE: "text in UTF-16: convert it to UTF-8 (iconv -t UTF-8)",
    codecs.BOM_UTF16_BE: "text in UTF-16: convert it to UTF-8 (iconv -t UTF-8)",
}


def read_vectors(path: Path | str, damage: Damage | None = None) -> WordVectors:
    """Read word vectors of any format in the module's table, or the input embedding of a saved language model.

    A URL is downloaded first.

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
    path, source = Path(path), damage or Damage()
    try:
        vectors = _read_folder(path, source) if path.is_dir() else _read_file(path, source)
    except InputError as error:
        if str(path) in str(error):
            raise
        raise InputError(f"{path}: {error}") from error  # of `WordVectors`, such as a word that occurs twice
    if source.counts:
        logging.getLogger(__name__).warning("%s: %s", path, source.summary())
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
        write_projector(path, vectors.words, vectors.matrix, vectors.counts)
    elif format == "glove":
        vector_formats.write_glove(path, vectors.words, vectors.matrix)
    elif format in ("word2vec", "word2vec-binary"):
        vector_formats.write_word2vec(path, vectors.words, vectors.matrix, binary=format == "word2vec-binary")
    else:
        raise InputError(f"format {format!r}; allowed: {', '.join(FORMATS)}")


def format_of(path: Path | str) -> Format:
    """The format for an output name: .bin, .glove, .glove.txt, .vec, .txt (each also .gz), or a folder.

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
        f"{path}: the name does not determine a format; give one ({', '.join(FORMATS)}), or end it in .vec or .bin"
    )


def _read_folder(path: Path, damage: Damage) -> WordVectors:
    names = {file.name for file in path.iterdir()}
    if "words.json" in names:
        return load_vectors(path)
    if {"config.json", "model.safetensors"} <= names:
        return input_embedding(path)
    if VECTORS in names:
        return WordVectors(*read_projector(path, damage))
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
    if path.name in (METADATA, VECTORS) or start[6:10] == _SAFETENSORS:
        return _read_folder(path.parent, damage)
    start = start.removeprefix(BOM)
    fields = start.split(b"\n", 1)[0].split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return WordVectors(*vector_formats.read_word2vec(path, damage=damage))
    if len(fields) >= 2 and is_number(fields[-1]):
        return WordVectors(*vector_formats.read_glove(path, damage))
    raise InputError(
        f"{path}: no word vectors: it begins with {start[:40]!r}, which is neither a word2vec header (two numbers: "
        "words, dimension), nor a word with its numbers (GloVe), nor safetensors"
    )
