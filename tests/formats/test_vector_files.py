"""Files of word vectors: round trips in every format, parity with gensim, and refused files."""

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from real_data import real
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.formats import vector_files, vector_formats
from langladder.formats.vector_files import FORMATS, Format, format_of, read_vectors, write_vectors
from langladder.ground.errors import Damage, InputError

# U+0085, U+2028, U+00A0 and U+3000 end a line or a word for some of Python's functions, but not in these files
WORDS = ["the", "naïve", "苹果", "a\u0085b", "\u2028", "no\u00a0break", "\u3000", "3.14", "[bold]", "-1e5", "{", '"']
NAMES: dict[Format, list[str]] = {
    "safetensors": ["folder"],
    "word2vec": ["v.txt", "v.vec.gz"],
    "word2vec-binary": ["v.bin", "v.bin.gz"],
    "glove": ["v.glove", "v.glove.txt.gz"],
    "projector": ["tables"],
}


def some_vectors(dim: int = 7) -> WordVectors:
    rng = np.random.default_rng(0)
    matrix = (rng.normal(size=(len(WORDS), dim)) * 10.0 ** rng.integers(-30, 30, (len(WORDS), dim))).astype(np.float32)
    return WordVectors(WORDS, matrix, np.arange(len(WORDS), 0, -1), {"why": "test"})


@pytest.mark.parametrize(("format", "name"), [(format, name) for format in FORMATS for name in NAMES[format]])
def test_roundtrip_in_every_format(tmp_path: Path, format: Format, name: str) -> None:
    vectors = some_vectors()
    write_vectors(vectors, tmp_path / name, format)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    result = read_vectors(tmp_path / name)
    assert result.words == vectors.words
    assert result.matrix.dtype == np.float32 and np.array_equal(result.matrix, vectors.matrix)
    if format in ("safetensors", "projector"):
        assert result.counts is not None and vectors.counts is not None
        assert result.counts.tolist() == vectors.counts.tolist()
    if format != "projector":
        assert format_of(tmp_path / name) == format

    write_vectors(result, tmp_path / "again" / name, format)  # same vectors, same bytes (no time inside a gzip file)
    for path in (tmp_path / "again").rglob("*.*"):
        if path.is_file() and format != "safetensors":
            assert path.read_bytes() == (tmp_path / path.relative_to(tmp_path / "again")).read_bytes()


@pytest.mark.parametrize("format", ["word2vec", "word2vec-binary", "glove", "projector", "safetensors"])
def test_sparse_vectors_roundtrip(tmp_path: Path, format: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_formats, "ROWS_AT_ONCE", 5)
    matrix = np.where(np.random.default_rng(0).random((12, 9)) < 0.2, 1.5, 0).astype(np.float32)
    write_vectors(WordVectors(WORDS, csr_matrix(matrix)), tmp_path / "v", format)
    vectors = read_vectors(tmp_path / "v")
    assert np.array_equal(vectors.matrix.toarray() if vectors.is_sparse else vectors.matrix, matrix)


@pytest.mark.parametrize("name", ["v.glove", "v.glove.gz", "v.vec", "v.vec.gz", "v.bin", "v.bin.gz"])
def test_parity_with_gensim_both_ways(tmp_path: Path, name: str) -> None:
    vectors = some_vectors()
    path, format = tmp_path / name, format_of(tmp_path / name)
    write_vectors(vectors, path, format)
    kind = {"binary": format == "word2vec-binary", "no_header": format == "glove"}
    peer = KeyedVectors.load_word2vec_format(str(path), **kind)
    assert list(peer.index_to_key) == vectors.words and np.array_equal(peer.vectors, vectors.matrix)

    theirs = tmp_path / f"theirs-{name}"
    peer.save_word2vec_format(str(theirs), binary=kind["binary"], write_header=not kind["no_header"])
    result = read_vectors(theirs)
    assert result.words == vectors.words and np.array_equal(result.matrix, vectors.matrix)


@pytest.mark.real
def test_reads_a_gzipped_binary_from_another_tool_by_content(tmp_path: Path) -> None:
    reference = real("ref-gensim/euclidean_vectors.bin.gz")
    renamed = tmp_path / "no-ending"
    renamed.write_bytes(reference.read_bytes())
    plain = tmp_path / "plain.bin"
    plain.write_bytes(gzip.decompress(reference.read_bytes()))
    peer = KeyedVectors.load_word2vec_format(str(plain), binary=True)
    for path in (reference, renamed, plain):
        vectors = read_vectors(path)
        assert len(vectors) == 2747 and vectors.words == list(peer.index_to_key)
        assert np.array_equal(vectors.matrix, peer.vectors)


def test_glove_reads_words_with_spaces(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"the 0.5 -1\n. . . 1 2\n4 5 6\r\nat name@domain.com 3 4 \n")
    words, matrix = vector_formats.read_glove(path)
    assert words == ["the", ". . .", "4", "at name@domain.com"]
    assert matrix.tolist() == [[0.5, -1], [1, 2], [5, 6], [3, 4]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"a 1 2\nb 1\nc 3 4\n", ":2: 1 numbers after the word; most lines have 2"),
        (b"a 1\nb 1 2\nc 3 4\n", ":1: 1 numbers"),
        (b"a 1 2\nb 1 2 3\nc 3 4\n", ":2: 3 numbers"),
        (b"a 1 2\nb 1 x\n", ":2: b'x' is not a number"),
        (b"2 3Xa 1 2 3\nb 1 2 3\n", ":1: b'2 3Xa': a header of word2vec's text format that has lost its line end"),
        (b"a 1 2\n\nb 1 2\n", ":2: 0 numbers"),
    ],
)
def test_malformed_glove_lines_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        vector_formats.read_glove(path)


def _numpy_file() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no word vectors"),
        (b"{}", "no word vectors: it begins with b'{}'"),
        (b"hello\n", "neither a word2vec header"),
        (b"PK\x03\x04 and so on", "zip archive: unpack it"),
        (b"\x80\x04\x95", "pickle, which may run code"),
        (b"\xba\x16\x4f\x2f\x0c\x00", "fastText"),
        (_numpy_file(), "NumPy array"),
        (gzip.compress(b"2 2\na 1 2\nb 3 4\n" * 99, mtime=0)[:-9], "damaged gzip file"),
        (b"\xff\xfe2\x00 \x002\x00", "UTF-16: convert it"),
        (b"1 2\na nan 4\n", r"no word vectors \(1 entry skipped: a number that is not finite"),
        (b"2 2\na 1 2\nb 1 2 3\n", ":3: 3 numbers after the word; the header says 2"),
    ],
)
def test_what_is_no_vector_file_is_refused_with_advice(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "v"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_vectors(path)
    assert str(path) in str(caught.value)


def test_folders_are_refused_with_what_they_lack(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs words\.json"):
        read_vectors(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_vectors(tmp_path / "missing")
    matrix = np.array([[0, np.inf], [1, 0]], dtype=np.float32)
    WordVectors(["a", "b"], csr_matrix(matrix)).save(tmp_path / "sparse")
    with pytest.raises(InputError, match="a number that is not finite in the vector of 'a'"):
        read_vectors(tmp_path / "sparse")


def test_a_safetensors_file_stands_for_its_folder(tmp_path: Path) -> None:
    vectors = some_vectors()
    vectors.save(tmp_path / "dense")
    result = read_vectors(tmp_path / "dense" / "vectors.safetensors")
    assert result.words == vectors.words and result.about == {"why": "test"}
    (tmp_path / "dense" / "words.json").unlink()
    with pytest.raises(InputError, match=r"needs words\.json"):
        read_vectors(tmp_path / "dense" / "vectors.safetensors")


def test_projector_tables(tmp_path: Path) -> None:
    vectors = some_vectors()
    vector_files.write_projector(tmp_path / "p", vectors.words, vectors.matrix, vectors.counts)
    lines = (tmp_path / "p" / "metadata.tsv").read_text(encoding="utf-8").split("\n")
    assert lines[:2] == ["word\tcount", "the\t12"] and len(lines) == len(vectors) + 2
    assert (tmp_path / "p" / "vectors.tsv").read_text().count("\n") == len(vectors)

    vector_files.write_projector(tmp_path / "q", vectors.words, vectors.matrix)  # a single column has no header
    assert (tmp_path / "q" / "metadata.tsv").read_text(encoding="utf-8").startswith("the\nnaïve\n")
    (tmp_path / "q" / "metadata.tsv").write_text("the\n")
    with pytest.raises(InputError, match="1 words, but 12 vectors"):
        read_vectors(tmp_path / "q")
    (tmp_path / "p" / "vectors.tsv").write_text("1\t2\n1\n")
    with pytest.raises(InputError, match=r"vectors\.tsv:2: 1 numbers"):
        read_vectors(tmp_path / "p" / "vectors.tsv")


@pytest.mark.parametrize("format", ["word2vec", "word2vec-binary", "glove", "projector"])
def test_words_that_a_format_cannot_hold_are_refused(tmp_path: Path, format: Format) -> None:
    for word in ("New York", "x\x0by", ""):
        with pytest.raises(InputError, match="cannot be written"):
            write_vectors(WordVectors([word], np.ones((1, 2), dtype=np.float32)), tmp_path / "v", format)
    assert list(tmp_path.iterdir()) == []


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"allowed: safetensors, word2vec"):
        write_vectors(some_vectors(), tmp_path / "v", "csv")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the name does not determine a format"):
        format_of("x.csv")


@pytest.mark.parametrize("header", [b"", b"\xef\xbb\xbf", b"7 2\n", b"\xef\xbb\xbf7 2\r\n"])
def test_damaged_entries_of_text_are_left_out_and_counted_or_refused(tmp_path: Path, header: bytes) -> None:
    lines = [b"the 1 2", b"the 3 4", b"na\xc3 1 2", b"b\x01d 1 2", b" 1 2", b"a nan 1", b"\xe3\x80\x80 5 6"]
    path = tmp_path / "v.txt"
    path.write_bytes(header + b"\n".join(lines) + b"\n")
    vectors = read_vectors(path, damage := Damage("skip"))
    assert vectors.words == ["the", "\u3000"] and vectors.matrix.tolist() == [[1, 2], [5, 6]]
    first = 1 + (b"7" in header)
    kinds = [
        "a word that occurs twice", "a word that is not UTF-8", "a word with a control character",
        "no word before the first space", "a number that is not finite",
    ]  # fmt: skip
    numbered = enumerate(kinds, start=first + 1)
    assert damage.report() == {kind: {"count": 1, "first": f"{path}:{line}"} for line, kind in numbered}
    assert vectors.matrix.flags.writeable  # as torch asks for

    with pytest.raises(InputError, match=rf":{first + 1}: a word that occurs twice; 'the' is at line {first}"):
        read_vectors(path, Damage("strict"))
    path.write_bytes(header.replace(b"7", b"1") + b"the 1 2\n")
    assert read_vectors(path, Damage("strict")).words == ["the"]


def test_what_is_left_out_without_being_asked_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "v.txt").write_bytes(b"the 1 2\na 1 2\nthe 3 4\n")
    assert read_vectors(tmp_path / "v.txt")["the"].tolist() == [1, 2]
    assert caplog.messages == [
        f"{tmp_path}/v.txt: 1 entry skipped: a word that occurs twice (1, first at {tmp_path}/v.txt:3)"
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"2 2\na\t1\t2\nb\t3\t4\n",
        b"a\t1\t2\nb\t3\t4\n",
        b"\xef\xbb\xbfa\t1 2\r\nb\t3 4\r\n\r\n",
        b"2 2\na 1 2 \nb 3 4 \n\n",  # fastText's .vec: a space after each number
        b"2 2\na 1 2\nb 3 4",
    ],
)
def test_tabs_marks_and_line_ends_are_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "v").write_bytes(content)
    vectors = read_vectors(tmp_path / "v", Damage("strict"))
    assert vectors.words == ["a", "b"] and vectors.matrix.tolist() == [[1, 2], [3, 4]]


def test_projector_leaves_damaged_entries_out(tmp_path: Path) -> None:
    write_vectors(WordVectors(["a", "b", "c"], np.eye(3, dtype=np.float32), np.array([3, 2, 1])), tmp_path, "projector")
    (tmp_path / "metadata.tsv").write_bytes(b"\xef\xbb\xbfword\tcount\r\na\t3\r\na\t2\r\nc\t1\r\n")
    vectors = read_vectors(tmp_path, damage := Damage())
    assert vectors.words == ["a", "c"] and vectors.matrix.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert vectors.counts is not None and vectors.counts.tolist() == [3, 1] and sum(damage.counts.values()) == 1
    with pytest.raises(InputError, match=r"metadata\.tsv:3: a word that occurs twice; 'a' is at line 2"):
        read_vectors(tmp_path, Damage("strict"))
    (tmp_path / "metadata.tsv").write_bytes(b"word\tcount\na\t3\nb\t1_0\nc\t1\n")
    with pytest.raises(InputError, match=r"metadata\.tsv:3: the column `count`"):
        read_vectors(tmp_path)


@pytest.mark.parametrize("line", [b"a 1  2 3", b"a - .5 2 3", b"a 1 .5 2 3", b"a 1 2 3 b 1 2 3"])
def test_a_number_that_is_damaged_is_no_part_of_the_word(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "v").write_bytes(b"\n".join([b"x 1 2 3", line, b"y 1 2 3"]))
    with pytest.raises(InputError, match="v:2: "):
        read_vectors(tmp_path / "v")
