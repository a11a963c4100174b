"""The word2vec tool's format: round trips, parity with gensim, and refused files."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from real_data import real

from langladder.embeddings.base import WordVectors
from langladder.formats import vector_formats
from langladder.formats.vector_files import read_vectors
from langladder.ground.errors import Damage, InputError


def random_vectors(seed: int = 0, size: int = 50, dim: int = 8) -> WordVectors:
    rng = np.random.default_rng(seed)
    words = ["naïve", "苹果", "re-do", *(f"w{number}" for number in range(3, size))]
    counts = np.sort(rng.integers(1, 999, size))[::-1].copy()
    return WordVectors(words, rng.normal(size=(size, dim)).astype(np.float32), counts, {"dim": dim})


@pytest.mark.parametrize("binary", [False, True])
def test_word2vec_roundtrip_and_parity_with_gensim(tmp_path: Path, binary: bool) -> None:
    vectors = random_vectors()
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    vector_formats.write_word2vec(ours, vectors.words, vectors.matrix, binary=binary)
    peer = KeyedVectors.load_word2vec_format(str(ours), binary=binary)
    assert list(peer.index_to_key) == vectors.words
    assert np.array_equal(peer.vectors, vectors.matrix)

    peer.save_word2vec_format(str(theirs), binary=binary)
    for path in (ours, theirs):
        for chosen in (binary, None):
            words, matrix = vector_formats.read_word2vec(path, binary=chosen)
            assert words == vectors.words and np.array_equal(matrix, vectors.matrix)


@pytest.mark.real
def test_reads_a_gzipped_binary_from_another_tool(tmp_path: Path) -> None:
    reference = real("ref-gensim/euclidean_vectors.bin.gz")
    vectors = read_vectors(reference)
    plain = tmp_path / "vectors.bin"
    plain.write_bytes(gzip.decompress(reference.read_bytes()))
    peer = KeyedVectors.load_word2vec_format(str(plain), binary=True)
    assert vectors.words == list(peer.index_to_key) and np.array_equal(vectors.matrix, peer.vectors)


def binary(words: list[str], matrix: np.ndarray, kind: str = "<f4", end: bytes = b"") -> bytes:
    """A binary file as another tool writes it."""
    rows = (word.encode() + b" " + row.astype(kind).tobytes() + end for word, row in zip(words, matrix, strict=True))
    return f"{len(words)} {matrix.shape[1]}\n".encode() + b"".join(rows)


MATRIX = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
BINARY = binary(["the", "king", "queen"], MATRIX)
LINES = binary(["the", "king", "queen"], MATRIX, end=b"\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a word2vec header"),
        (b"hello world\n", "not a word2vec header"),
        (b"0 3\n", "at least 1"),
        (b"2 3\na 1 2 3\nb 1 2\n", ":3: 2 numbers"),
        (b"2 3\na 1 2 3\nb 1 2 x\n", ":3: b'x' is not a number"),
        (b"2 3\na 1 2 3\n", ":3: the file ends after 1 of the 2 entries"),
        (b"2 5\nthe 0.1 0.2 -- 0.4 0.5\na 1 2 3 4 5\n", ":2: b'--' is not a number"),
        (b"2 3\nthe 0,1 0,2 0,3\na 0,1 0,2 0,3\n", ":2: b'0,1' is not a number; numbers have a decimal point"),
        (b"2 2\na 1_5 2\nb 1 2\n", ":2: b'1_5' is not a number"),  # Python reads 15
        (b"2 3\nthe 1.5 ... 2.5\na 0.5 1.5 2.5\n", ":2: b'...' is not"),  # as long as a binary file would be
        (b"1 3\na 1 2 3\nb 1 2 3\n", ":3: more entries"),
        (b"2 2\na \x00\x00\x80?\x00\x00\x80?\nb \x00", "ends inside the vector"),
        (BINARY.replace(b"3 ", b"2 ", 1), "entry 2 of 2: the file does not end after it, but goes on with"),
        (BINARY.replace(b"3 ", b"4 ", 1), "entry 4 of 4: no word"),
        (BINARY + b"d", "goes on with"),
        (binary(["the", "king", "queen"], np.eye(3, 6, dtype=">f4") * 0.3, "<f8"), "not word2vec's binary format"),
        (BINARY.replace(b"king", b"\x1bing"), r"entry 2 of 3: b'\\x1bing' is no word"),
        (BINARY.replace(b"king", b"k\xffng"), "entry 2 of 3: the word .* is not UTF-8"),
        (BINARY.replace(b"king", b""), "entry 2 of 3: b'' is no word"),
        (BINARY.replace(b"king", b"\nking"), "entry 3 of 3: there is no line end before it"),
        (LINES.replace(b"\nqueen", b"Xqueen"), "entry 3 of 3: there is no line end before it, unlike after the first"),
        (LINES.replace(b"king", b"ki g"), "not word2vec's binary format"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        WordVectors(*vector_formats.read_word2vec(path))


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_damaged_entries_of_binary_files_are_left_out(tmp_path: Path, end: bytes) -> None:
    matrix = np.random.default_rng(1).normal(size=(5, 6)).astype(np.float32)
    matrix[3, 2] = np.nan
    content = binary(["the", "naïé", "the", "king", "queen"], matrix, end=end)
    path = tmp_path / "v.bin"
    path.write_bytes(content.replace("é ".encode(), b"\xc3 "))  # as the word2vec tool cuts its longest words
    words, result = vector_formats.read_word2vec(path, damage=(damage := Damage()))
    assert words == ["the", "queen"] and np.array_equal(result, matrix[[0, 4]])
    assert list(damage.report()) == [
        "a word that is not UTF-8", "a word that occurs twice", "a number that is not finite",
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"v\.bin: entry 2: a word that is not UTF-8; b'na"):
        vector_formats.read_word2vec(path, damage=Damage("strict"))


@pytest.mark.parametrize("binary", [False, True])
def test_a_word_twice_is_read_as_gensim_reads_it_parity(tmp_path: Path, binary: bool) -> None:
    vectors = random_vectors()
    vectors.words[7] = vectors.words[30] = "twice"
    vector_formats.write_word2vec(tmp_path / "v", vectors.words, vectors.matrix, binary=binary)
    peer = KeyedVectors.load_word2vec_format(str(tmp_path / "v"), binary=binary)
    words, matrix = vector_formats.read_word2vec(tmp_path / "v")
    assert list(peer.index_to_key)[:49] == words and np.array_equal(peer[words], matrix)  # gensim's 50th is None


@pytest.mark.parametrize("index", [0, 1, 20, 49])
@pytest.mark.parametrize("word", ["New York", "a b c", "x ", " x", "ab cd", "word2vec and more words than one"])
def test_a_word_with_a_space_in_gensims_binary_file_is_refused(tmp_path: Path, index: int, word: str) -> None:
    vectors = random_vectors(dim=50)
    peer = KeyedVectors(50)
    peer.add_vectors([*vectors.words[:index], word, *vectors.words[index + 1 :]], vectors.matrix)
    peer.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    with pytest.raises(InputError, match=r"entry .* not word2vec's binary format"):
        vector_formats.read_word2vec(tmp_path / "v.bin")


def test_a_shift_that_leaves_words_intact_shows_in_the_numbers(tmp_path: Path) -> None:
    """The last bytes of a vector may be letters: then only the numbers tell that the word before held a space."""
    matrix = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    matrix[0, -1] = np.frombuffer(b"abc>", dtype="<f4")[0]
    for word in ("New a", "New ab", "New abc"):
        (tmp_path / "v.bin").write_bytes(binary([word, "king", "queen"], matrix))
        with pytest.raises(InputError, match=f"entry 2 of 3: the word before it, b'{word}', has a space"):
            vector_formats.read_word2vec(tmp_path / "v.bin")


def test_bad_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        vector_formats.read_word2vec(tmp_path / "missing.txt")
    with pytest.raises(InputError, match="New York"):
        vector_formats.write_word2vec(
            tmp_path / "out.txt", ["New York"], np.ones((1, 2), dtype=np.float32), binary=False
        )
    assert list(tmp_path.iterdir()) == []
