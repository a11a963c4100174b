"""Read a folder of word vectors that `WordVectors.save` wrote, with the additional data of its kinds."""

from pathlib import Path

import numpy as np

from langladder.counts.stored import read_sparse
from langladder.embeddings.base import Matrix, WordVectors
from langladder.embeddings.subword_vectors import SubwordVectors
from langladder.ground import artefacts
from langladder.ground.artefacts import count_list, word_list
from langladder.ground.errors import InputError
from langladder.text.words.normalisation import Normalisation
from langladder.text.words.segmentation import CHOICES


def load_vectors(folder: Path) -> WordVectors:
    """Read what `WordVectors.save` wrote; subword vectors as such.

    Raises:
        InputError: missing or damaged files, another format version.
    """
    path = Path(folder) / "words.json"
    description = artefacts.read_json(path)
    if not isinstance(description, dict) or not {"format", "words", "counts"} <= set(description):
        raise InputError(f"{path}: not the words of saved vectors (lacks format, words or counts)")
    if description["format"] != artefacts.FORMAT_VERSION:
        raise InputError(f"{path}: format {description['format']}; this version reads {artefacts.FORMAT_VERSION}")
    counts = description["counts"]
    counts = None if counts is None else count_list(path, counts)
    words, about = word_list(path, description["words"]), description.get("about", {})
    matrix = _read_matrix(path.parent)
    if len(words) != matrix.shape[0]:
        raise InputError(f"{path}: {len(words)} words, but vectors.safetensors has {matrix.shape[0]} vectors")
    if not isinstance(about, dict):
        raise InputError(f"{path}: about: a {type(about).__name__}, not an object")
    written = Normalisation.checked(description.get("normalisation"), f"{path}: normalisation")
    if (words_by := description.get("words_by", "auto")) not in CHOICES:
        raise InputError(f"{path}: words_by: {str(words_by)[:40]!r}; allowed are {', '.join(CHOICES)}")
    vectors = WordVectors(words, matrix, counts, about, words_by=words_by, normalisation=written)
    if "kind" not in description:
        return vectors
    if description["kind"] != "subword":
        raise InputError(f"{path}: vectors of kind {description['kind']!r}; this version reads none but subword")
    return SubwordVectors.complete(vectors, path.parent, description)


def _read_matrix(folder: Path) -> Matrix:
    file = folder / "vectors.safetensors"
    arrays = artefacts.read_arrays(file)
    if set(arrays) == {"indptr", "indices", "data", "shape"}:
        counts = read_sparse(file)
        if counts.dtype != np.float32:
            raise InputError(f"{file}: vectors of type {counts.dtype}; needed: float32")
        return counts
    if set(arrays) != {"vectors"}:
        raise InputError(f"{file}: no word vectors (its arrays are {sorted(arrays)[:8]})")
    matrix = arrays["vectors"]
    if matrix.ndim != 2 or matrix.dtype != np.float32:
        raise InputError(f"{file}: vectors of shape {matrix.shape} and type {matrix.dtype}; needed: (V, D) float32")
    return matrix
