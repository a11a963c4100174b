"""The word2vec tool's format: there and back, gensim's files and ours in turn, and what is refused."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from real_data import real

from langladder.embeddings.base import WordVectors
from langladder.errors import InputError
from langladder.export import word2vec_format
from langladder.export.vector_files import read_vectors


def random_vectors(seed: int = 0, size: int = 50, dim: int = 8) -> WordVectors:
    rng = np.random.default_rng(seed)
    words = ["naïve", "苹果", "re-do", *(f"w{number}" for number in range(3, size))]
    counts = np.sort(rng.integers(1, 999, size))[::-1].copy()
    return WordVectors(words, rng.normal(size=(size, dim)).astype(np.float32), counts, {"dim": dim})


@pytest.mark.parametrize("binary", [False, True])
def test_word2vec_roundtrip_and_parity_with_gensim(tmp_path: Path, binary: bool) -> None:
    vectors = random_vectors()
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    word2vec_format.write(ours, vectors.words, vectors.matrix, binary=binary)
    peer = KeyedVectors.load_word2vec_format(str(ours), binary=binary)
    assert list(peer.index_to_key) == vectors.words
    assert np.array_equal(peer.vectors, vectors.matrix)

    peer.save_word2vec_format(str(theirs), binary=binary)
    for path in (ours, theirs):
        for told in (binary, None):
            words, matrix = word2vec_format.read(path, binary=told)
            assert words == vectors.words and np.array_equal(matrix, vectors.matrix)


@pytest.mark.real
def test_reads_a_gzipped_binary_made_elsewhere(tmp_path: Path) -> None:
    reference = real("ref-gensim/euclidean_vectors.bin.gz")
    vectors = read_vectors(reference)
    plain = tmp_path / "vectors.bin"
    plain.write_bytes(gzip.decompress(reference.read_bytes()))
    peer = KeyedVectors.load_word2vec_format(str(plain), binary=True)
    assert vectors.words == list(peer.index_to_key) and np.array_equal(vectors.matrix, peer.vectors)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a word2vec header"),
        (b"hello world\n", "not a word2vec header"),
        (b"0 3\n", "at least 1"),
        (b"2 3\na 1 2 3\nb 1 2\n", ":3: 2 numbers"),
        (b"2 3\na 1 2 3\nb 1 2 x\n", ":3: could not convert"),
        (b"2 3\na 1 2 3\n", ":3: 0 numbers"),
        (b"1 3\na 1 2 3\nb 1 2 3\n", ":3: more entries"),
        (b"2 3\na 1 2 3\na 1 2 4\n", "'a' occurs twice"),
        (b"2 2\na \x00\x00\x80?\x00\x00\x80?\nb \x00", "ends inside the vector"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        WordVectors(*word2vec_format.read(path))


def test_bad_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        word2vec_format.read(tmp_path / "missing.txt")
    with pytest.raises(InputError, match="New York"):
        word2vec_format.write(tmp_path / "out.txt", ["New York"], np.ones((1, 2), dtype=np.float32), binary=False)
    assert list(tmp_path.iterdir()) == []
