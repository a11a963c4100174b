"""Fuzz: files of word vectors, word lists and lexicons that were valid once are read, or refused in a sentence."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.embeddings.ngram_buckets import NgramBuckets
from langladder.embeddings.subword_vectors import SubwordVectors
from langladder.embeddings.synsets import Synsets
from langladder.embeddings.word_lists import read_stereotypes, read_word_sets, read_words
from langladder.export.vector_files import read_vectors, write_vectors
from tests.hostile import fuzzed, read, strange_bytes, strange_json, swelling

WORDS, MATRIX = ["king", "queen", "a"], np.eye(3, 4, dtype=np.float32)
FILES = {"word2vec": "v.vec", "word2vec-binary": "v.bin", "glove": "v.glove.txt"}


def ask(path: Path) -> None:
    vectors = read_vectors(path)
    if np.abs(vectors.matrix.data if vectors.is_sparse else vectors.matrix).max(initial=0) > 1e15:
        return  # their squares have no float32, which NumPy warns of
    for word in vectors.words[:3]:
        vectors.nearest(word)
    if isinstance(vectors, SubwordVectors):
        vectors.nearest("kings")


@pytest.mark.parametrize("format", FILES)
@given(data=st.data())
@fuzzed
def test_fuzz_vector_file(tmp_path: Path, format: str, data: st.DataObject) -> None:
    valid = tmp_path / f"valid-{FILES[format]}"
    if not valid.exists():
        write_vectors(WordVectors(WORDS, MATRIX), valid, format)  # type: ignore[arg-type]
    raw = data.draw(strange_bytes(valid.read_bytes()))
    path = tmp_path / FILES[format]
    path.write_bytes(data.draw(strange_bytes(gzip.compress(raw, 1))) if data.draw(st.booleans()) else raw)
    read(ask, path)


@given(
    words=st.integers(-1, 10**13), dimension=st.integers(-1, 10**13), rest=st.binary(max_size=30), zipped=st.booleans()
)
@example(words=10**12, dimension=1, rest=b"a 1\n", zipped=False)
@example(words=1, dimension=10**12, rest=b"a 1\n", zipped=True)
@example(words=10**6, dimension=10**6, rest=b"a 1\n", zipped=False)
@fuzzed
def test_fuzz_word2vec_header(tmp_path: Path, words: int, dimension: int, rest: bytes, zipped: bool) -> None:
    raw = f"{words} {dimension}\n".encode() + rest
    path = tmp_path / "v.bin"
    path.write_bytes(gzip.compress(raw, 1) if zipped else raw)
    read(ask, path)


@pytest.mark.parametrize("file", ["words.json", "vectors.safetensors", "ngrams.safetensors"])
@pytest.mark.parametrize("kind", ["sparse", "subword"])
@given(data=st.data())
@fuzzed
def test_fuzz_vector_folder(tmp_path: Path, kind: str, file: str, data: st.DataObject) -> None:
    folder = tmp_path / kind
    if not folder.exists():
        if kind == "sparse":
            WordVectors(WORDS, csr_matrix(MATRIX)).save(folder)
        else:
            buckets, table = np.array([3, 5]), np.ones((2, 4), dtype=np.float32)
            SubwordVectors(WORDS, MATRIX, None, {}, NgramBuckets(2, 3, 10), buckets, table).save(folder)
    path = folder / file
    if not path.exists():
        return
    before = path.read_bytes()
    try:
        path.write_bytes(data.draw(strange_json(json.loads(before)) if file == "words.json" else strange_bytes(before)))
        read(ask, folder)
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("file", ["vectors.tsv", "metadata.tsv"])
@given(data=st.data())
@fuzzed
def test_fuzz_projector(tmp_path: Path, file: str, data: st.DataObject) -> None:
    folder = tmp_path / "p"
    if not folder.exists():
        write_vectors(WordVectors(WORDS, MATRIX, np.array([3, 2, 1])), folder, "projector")
    before = (folder / file).read_bytes()
    try:
        (folder / file).write_bytes(data.draw(strange_bytes(before)))
        read(ask, folder)
    finally:
        (folder / file).write_bytes(before)


@given(data=st.data())
@fuzzed
def test_fuzz_word_lists(tmp_path: Path, data: st.DataObject) -> None:
    value = [["man", "woman"], ["he", 0.5, -0.25], "king"]
    path = tmp_path / data.draw(st.sampled_from(["l.json", "l.txt"]))
    path.write_bytes(
        data.draw(strange_json(value) if path.suffix == ".json" else strange_bytes(b"man woman\nhe she\n"))
    )
    for reader in (read_words, read_word_sets, read_stereotypes):
        read(reader, path)


@given(data=st.data())
@fuzzed
def test_fuzz_lexicon(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_bytes(data.draw(strange_bytes(b"a.n\tcat dog\tb.n\nb.n\tanimal\n# note\nc.n\tking\tb.n a.n\n")))
    read(Synsets.read, path)


def test_a_gzip_that_swells_takes_no_more_than_a_line(tmp_path: Path) -> None:
    for name, start in (("v.vec.gz", b"2 3\nking "), ("v.glove.gz", b"king 1 2 3\nqueen ")):
        path = tmp_path / name
        path.write_bytes(swelling(start))
        assert read(read_vectors, path) is None
