"""Fuzz: files of word vectors, word lists and lexicons that were valid once are read, or refused in a sentence."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.embeddings.subword_vectors import NgramBuckets, SubwordVectors
from langladder.embeddings.synsets import Synsets
from langladder.embeddings.word_lists import read_stereotypes, read_word_sets, read_words
from langladder.formats.vector_files import read_vectors, write_vectors
from langladder.ground.errors import Damage, InputError
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


# no two words are one byte apart; the file is long enough that its kind shows
FIVE = WordVectors(
    ["the", "naïve", "苹果", "no\u00a0break", "\u3000x7"],
    np.random.default_rng(0).normal(size=(5, 6)).round(3).astype(np.float32),
)
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def valid(kind: str) -> bytes:
    """FIVE as a file: of our own writing, or as other tools write it."""
    words, rows = [word.encode() for word in FIVE.words], FIVE.matrix
    if kind.startswith("binary"):
        end = b"\n" * kind.endswith("lines")
        return b"5 6\n" + b"".join(word + b" " + row.tobytes() + end for word, row in zip(words, rows, strict=True))
    separator, end = (b"\t", b"\r\n") if kind.endswith("tabs") else (b" ", b" \n")
    numbers = [separator.join(f"{number:.3f}".encode() for number in row) for row in rows.tolist()]
    lines = [word + separator + line + end for word, line in zip(words, numbers, strict=True)]
    return (b"" if kind.startswith("glove") else b"5 6\n") + b"".join(lines)


def account(kind: str, data: bytes, position: int, word_vectors: WordVectors, damage: Damage) -> None:
    """Check vectors read from a file of FIVE with a damaged byte: only the effect of that byte may differ."""
    skipped = sum(damage.counts.values())
    assert len(word_vectors) + skipped == len(FIVE) and skipped <= 1
    rows = [row for row in range(5) if not skipped or FIVE.words[row] in word_vectors]
    assert len(rows) == len(word_vectors)
    other = [row for row, word in zip(rows, word_vectors.words, strict=True) if word != FIVE.words[row]]
    differ = np.argwhere(word_vectors.matrix != FIVE.matrix[rows])
    assert len(other) + len(differ) <= 1, (word_vectors.words, differ)
    field = re.split(rb"\s", data[:position])[-1] + re.split(rb"\s", data[position:])[0]
    if len(differ) and not kind.startswith(
        "binary"
    ):  # a digit for another: nobody can know; of binary numbers, any byte
        assert NUMBER.fullmatch(field), field
    assert not re.search(r"[\0-\x1f\x7f]", "".join(word_vectors.words))


@pytest.mark.parametrize("kind", ["word2vec", "word2vec-tabs", "glove", "glove-tabs", "binary", "binary-lines"])
@given(data=st.data())
@fuzzed
def test_fuzz_one_damaged_byte(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    """Right vectors, and the damage reported, or one sentence: never other numbers without a word."""
    whole = valid(kind)
    position, byte = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 255))
    path = tmp_path / "v"
    path.write_bytes(damaged := whole[:position] + bytes([byte]) + whole[position + 1 :])
    damage = Damage()
    if (result := read(read_vectors, path, damage)) is not None:
        account(kind, damaged, position, result, damage)
    if damage.counts:
        assert read(read_vectors, path, Damage("strict")) is None


@pytest.mark.parametrize("kind", ["word2vec", "word2vec-tabs", "glove", "glove-tabs", "binary", "binary-lines"])
def test_one_byte_that_is_missing_anywhere(tmp_path: Path, kind: str) -> None:
    """As for a damaged byte; a vector of a binary file that lacks one is refused, and with it the next word."""
    whole = valid(kind)
    path = tmp_path / "v"
    for position in range(len(whole)):
        path.write_bytes(cut := whole[:position] + whole[position + 1 :])
        damage = Damage()
        if (result := read(read_vectors, path, damage)) is not None:
            account(kind, cut, position, result, damage)
            if kind.startswith("binary"):
                assert np.array_equal(result.matrix, FIVE.matrix) or damage.counts, position


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("dimension", [1, 2, 50])
def test_numbers_in_big_endian_order_are_refused(tmp_path: Path, end: bytes, dimension: int) -> None:
    path = tmp_path / "v.bin"
    drawn = np.random.default_rng(0).normal(size=(9, dimension)).astype(np.float32)
    for matrix in (drawn, drawn.round(1), np.eye(9, dimension, dtype=np.float32), drawn * 1e25, drawn * 1e-25):
        for order in "<>":
            rows = [
                b"word%d " % row + numbers.astype(f"{order}f4").tobytes() + end for row, numbers in enumerate(matrix)
            ]
            path.write_bytes(b"9 %d\n" % dimension + b"".join(rows))
            if order == "<":
                assert np.array_equal(read_vectors(path).matrix, matrix)
            else:
                with pytest.raises(InputError, match="entry"):
                    read_vectors(path)


def test_an_implausible_number_is_refused_with_its_location(tmp_path: Path) -> None:
    whole = valid("binary")
    position = whole.index(b"no\xc2\xa0") - 3  # in the vector before it
    (tmp_path / "v.bin").write_bytes(whole[:position] + whole[position + 1 :])
    with pytest.raises(
        InputError, match=r"entry 3 of 5: it has the number .*e\+2\d, and usual are .*byte may be missing"
    ):
        read_vectors(tmp_path / "v.bin")


@pytest.mark.parametrize("kind", ["word2vec", "glove", "binary"])
@given(data=st.data())
@fuzzed
def test_fuzz_one_damaged_byte_of_a_gzip_file(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    whole = gzip.compress(valid(kind), mtime=0)
    position, byte = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 255))
    path = tmp_path / "v"
    path.write_bytes(whole[:position] + bytes([byte]) + whole[position + 1 :])
    if (result := read(read_vectors, path)) is not None:
        assert result.words == FIVE.words and np.array_equal(result.matrix, FIVE.matrix)


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
