"""Fuzz: model folders, tokenizers, ARPA files and checkpoints that were valid once are read, or refused."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save, save_file

from langladder.embeddings.base import WordVectors
from langladder.formats.arpa import read_arpa, write_arpa
from langladder.formats.model_card import model_card
from langladder.formats.vector_files import read_vectors
from langladder.models.ctc import CTCRecognizer
from langladder.models.language.language_model import LanguageModel
from langladder.models.translation.translator import Translator
from langladder.tasks.checkpoints import read_checkpoint, write_checkpoint
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from tests.hostile import fuzzed, read, strange_bytes, strange_json
from tests.models.test_strangers_folder import FAMILIES, TOKENIZER, V, arrays_file, description, make

TOKENS = torch.tensor([[BOS, 4, 5, 6, EOS], [BOS, 5, 6, 7, EOS]])


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("fuzz")
    for family in FAMILIES:
        make(family, root / family)
    return {family: root / family for family in FAMILIES}


def use(family: str, folder: Path) -> None:
    """Load a folder and use the model."""
    if family == "vectors":
        vectors = read_vectors(folder)
        for word in vectors.words[:3]:
            vectors.nearest(word)
    elif family == "translator":
        translator = Translator.load(folder)
        if min(translator.source_vocab_size, translator.target_vocab_size) > 7:
            translator.log_probs(TOKENS[:, 1:], TOKENS)
    elif family == "sequence":
        CTCRecognizer.load(folder)
    else:
        model = LanguageModel.load(folder)
        model.log_probs(TOKENS)
        model.next_log_probs(TOKENS[:, :-1])


def check(family: str, folder: Path, path: Path, data: bytes) -> None:
    before = path.read_bytes()
    try:
        path.write_bytes(data)
        read(use, family, folder)
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
@fuzzed
def test_fuzz_description(folders: dict[str, Path], family: str, data: st.DataObject) -> None:
    path = description(family, folders[family])
    check(family, folders[family], path, data.draw(strange_json(json.loads(path.read_bytes()))))


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
@fuzzed
def test_fuzz_arrays_file(folders: dict[str, Path], family: str, data: st.DataObject) -> None:
    path = arrays_file(family, folders[family])
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    if data.draw(st.booleans()):  # the head, whose length is right
        head = data.draw(strange_json(json.loads(raw[8 : 8 + length])))
        check(family, folders[family], path, len(head).to_bytes(8, "little") + head + raw[8 + length :])
    else:
        check(family, folders[family], path, data.draw(strange_bytes(raw)))


@pytest.mark.parametrize("family", ["n-gram", "recurrent", "vectors"])
@given(data=st.data())
@fuzzed
def test_fuzz_arrays(folders: dict[str, Path], family: str, data: st.DataObject) -> None:
    path = arrays_file(family, folders[family])
    arrays = load_file(path)
    name = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[name].copy().reshape(-1)
    numbers = st.sampled_from([-1, 0, 1, 5, 10**6, 2**31 - 1, -(2**31)])
    if array.dtype.kind == "f":
        numbers |= st.sampled_from([np.nan, np.inf, -np.inf, 1e10])  # type: ignore[arg-type]
    for index, value in data.draw(st.lists(st.tuples(st.integers(0, len(array) - 1), numbers), max_size=4)):
        array[index] = value
    arrays[name] = array.reshape(arrays[name].shape)[: data.draw(st.sampled_from([None, -1, 1]))]
    check(family, folders[family], path, save({key: np.ascontiguousarray(a) for key, a in arrays.items()}))


KINDS: list[dict[str, Any]] = [
    {"kind": "word", "vocab_size": None}, {"kind": "character", "vocab_size": None},
    {"kind": "bpe_bytes", "vocab_size": 270}, {"kind": "unigram", "vocab_size": 12},
    {"kind": "wordpiece", "vocab_size": 20},
]  # fmt: skip


@pytest.mark.parametrize("settings", KINDS, ids=lambda settings: settings["kind"])
@given(data=st.data())
@fuzzed
def test_fuzz_tokenizer(tmp_path: Path, settings: dict[str, Any], data: st.DataObject) -> None:
    path = tmp_path / "tokenizer.json"
    if not (tmp_path / "valid").exists():
        train_tokenizer(["a b c d e", "ab abc"], TokenizerConfig(**settings)).save(tmp_path / "valid")
    path.write_bytes(data.draw(strange_json(json.loads((tmp_path / "valid").read_bytes()))))
    tokenizer = read(Tokenizer.load, path)
    if tokenizer is not None:
        read(lambda: tokenizer.decode(tokenizer.encode("a b ab xyz é")))


@given(data=st.data())
@fuzzed
def test_fuzz_arpa(tmp_path: Path, data: st.DataObject) -> None:
    if not (tmp_path / "m").exists():
        make("n-gram", tmp_path / "m")
        model: Any = LanguageModel.load(tmp_path / "m")
        write_arpa(tmp_path / "valid.arpa", model, [TOKENIZER.name(token) for token in range(V)])
    raw = data.draw(strange_bytes((tmp_path / "valid.arpa").read_bytes()))
    zipped = data.draw(st.booleans())
    path = tmp_path / ("m.arpa.gz" if zipped else "m.arpa")
    path.write_bytes(data.draw(strange_bytes(gzip.compress(raw, 1))) if zipped else raw)
    result = read(read_arpa, path)
    if result is not None and result[0].vocab_size > 7:
        result[0].log_probs(TOKENS)


ARPA = """
\\data\\
ngram 1=6
ngram 2=4
ngram 3=2

\\1-grams:
-1.25\t<unk>
-99\t<s>\t-0.25
-0.75\tthe\t-0.125
-1\t</s>
-0.5\t苹果\t-0.5
-1.5\tnaïve10\t-0.0625

\\2-grams:
-0.25\t<s> the\t-0.75
-0.5\tthe </s>
-0.375\t苹果 naïve10\t-1.5
-2.5e-1\tthe naïve10\t-.5

\\3-grams:
-0.25\t<s> the naïve10
-0.125\t<s> the </s>\t0

\\end\\
""".encode()
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|-inf(inity)?", re.IGNORECASE)


@given(position=st.integers(0, len(ARPA) - 1), byte=st.integers(0, 255))
@fuzzed
def test_fuzz_one_damaged_byte_of_arpa(tmp_path: Path, position: int, byte: int) -> None:
    """The right model, one number or one word of which may be the byte's own doing, or one sentence."""
    path = tmp_path / "m.arpa"
    path.write_bytes(ARPA)
    right, words = read_arpa(path)
    path.write_bytes(damaged := ARPA[:position] + bytes([byte]) + ARPA[position + 1 :])
    result = read(read_arpa, path)
    if result is None:
        return
    if b"<unk>" not in damaged:  # its line is that of another word now
        assert len(result[1]) == len(words) + 1
        return
    model, read_words = result
    old, new = right.arrays(), model.arrays()
    assert all(np.array_equal(old[name], new[name]) for name in ("levels", "words", "starts"))
    other = [word for word, known in zip(read_words, words, strict=True) if word != known]
    differ = [row for name in ("log_probs", "log_backoffs") for row in np.flatnonzero(old[name] != new[name])]
    assert len(other) + len(differ) <= 1
    if differ:
        assert NUMBER.fullmatch(re.split(rb"\s", damaged[:position])[-1] + re.split(rb"\s", damaged[position:])[0])


@given(position=st.integers(0, 10_000), byte=st.integers(0, 255))
@fuzzed
def test_fuzz_one_damaged_byte_of_a_gzipped_arpa(tmp_path: Path, position: int, byte: int) -> None:
    whole, path = bytearray(gzip.compress(ARPA, mtime=0)), tmp_path / "m.arpa.gz"
    path.write_bytes(whole)
    right, words = read_arpa(path)
    whole[position % len(whole)] = byte
    path.write_bytes(whole)
    if (result := read(read_arpa, path)) is not None:
        assert result[1] == words
        assert all(np.array_equal(right.arrays()[name], array) for name, array in result[0].arrays().items())


@given(data=st.data())
@fuzzed
def test_fuzz_checkpoint(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "c.ckpt"
    write_checkpoint(path, {"step": 3, "state": [torch.ones(2, 3), (1, "a")], "by number": {1: torch.zeros(1)}})
    path.write_bytes(data.draw(strange_bytes(path.read_bytes())))
    read(read_checkpoint, path)


@given(data=st.data())
@fuzzed
@example(data=None)
def test_fuzz_provenance(tmp_path: Path, data: st.DataObject | None) -> None:
    folder = tmp_path / "m"
    if not folder.exists():
        WordVectors(["a", "b"], np.eye(2, dtype=np.float32)).save(folder)
    job = {
        "name": "x",
        "title": "X",
        "_target_": "langladder.embeddings.svd.SVD",
        "model": {"dim": 3},
        "training": {"lr": 0.1},
    }
    about = {"fingerprint": "ab", "inputs": {"t": "cd"}, "settings": {"seed": 1, "code": "x", "embedding": job}}
    raw = json.dumps(about).encode() if data is None else data.draw(strange_json(about))
    (folder / "provenance.json").write_bytes(raw)
    card = read(model_card, folder)
    assert data is not None or "X" in card


def test_a_file_of_vectors_whose_head_lies_is_refused(tmp_path: Path) -> None:
    save_file({"a": np.zeros(2, dtype=np.float32)}, tmp_path / "x.safetensors")
    raw = (tmp_path / "x.safetensors").read_bytes()
    for old, new in ((b'"shape":[2]', b'"shape":[9]'), (b"[0,8]", b"[0,9]"), (b"F32", b"F99"), (b"F32", b"F64")):
        assert old in raw
        (tmp_path / "x.safetensors").write_bytes(raw.replace(old, new))
        assert read(read_vectors, tmp_path / "x.safetensors") is None
