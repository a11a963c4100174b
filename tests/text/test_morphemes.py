"""Morphemes: a tokenizer whose pieces are Morfessor's morphs cuts words as Morfessor does, and needs it no more."""

import random
from itertools import product
from pathlib import Path

import pytest
from pydantic import ValidationError

from langladder.ground.errors import InputError
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig

STEMS = ["talo", "auto", "kissa", "koira", "metsä", "järvi", "kala", "lintu", "kirja", "tyttö"]
CASES = ["", "ssa", "sta", "lla", "lta", "lle", "ksi"]
OWNERS = ["", "ni", "si", "mme"]
WORDS = ["".join(parts) for parts in product(STEMS, CASES, OWNERS)]


def lines() -> list[str]:
    draw = random.Random(0)
    return [" ".join([*draw.choices(WORDS, k=6), "."]) for _ in range(300)]


def names(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer.name(token) for token in tokenizer.encode(text).tolist()]


def test_morfessor_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ValidationError, match=r"morfessor is not installed: pip install 'langladder\[morphemes\]'"):
        TokenizerConfig(kind="morphemes")


def test_words_are_cut_as_morfessor_cuts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    morfessor = pytest.importorskip("morfessor")
    text, before = lines(), random.getstate()
    trained = train_tokenizer(text, TokenizerConfig(kind="morphemes", vocab_size=500))
    assert random.getstate() == before
    words = sorted({word for line in text for word in line.split()})
    model = morfessor.BaselineModel()
    model.load_data((1, word) for word in words)
    state = random.getstate()
    random.seed(0)
    model.train_batch()
    random.setstate(state)
    for word in words:
        assert [name.removeprefix("▁") for name in names(trained, word)] == model.viterbi_segment(word, 0)[0]
    assert names(trained, "talossani autolle") == ["▁talo", "ssa", "ni", "▁auto", "lle"]
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)  # from here on it is not needed
    trained.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.kind == "unigram" and loaded.same_as(trained)
    assert [loaded.decode(ids) for ids in loaded.encode_lines(text)] == text


def test_few_pieces_are_the_most_frequent_and_what_is_new_is_spelled() -> None:
    pytest.importorskip("morfessor")
    text = [*lines(), "x" * 70, "a▁b"]
    item, same = (train_tokenizer(text, TokenizerConfig(kind="morphemes", vocab_size=30)) for _ in range(2))
    assert item.vocab_size == 30 and item.same_as(same)
    assert {"ni", "mme", "▁."} <= {item.name(token) for token in item.ordinary}
    assert names(item, "mukkaΩ") == ["▁", "m", "u", "k", "k", "a", "<unk>"]
    with pytest.raises(InputError, match=r"vocab_size: 9 is less than the \d+ tokens"):
        train_tokenizer(text, TokenizerConfig(kind="morphemes", vocab_size=9))
    with pytest.raises(InputError, match="no word of at most 60 characters occurs 9 times"):
        train_tokenizer(["a b"], TokenizerConfig(kind="morphemes", vocab_size=9, min_frequency=9))
