"""Pieces that are encoded once are what the library encodes; the same text trains the same tokenizer."""

import random

import numpy as np
import pytest

from langladder.errors import InputError
from langladder.text.tokenize import line_encoder
from langladder.text.tokenize.line_encoder import LineEncoder
from langladder.text.tokenize.tokenizer_training import Sample, train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig, Trained

# What pre-tokenizers and alphabets could stumble over: marks, wide spaces, control characters, scripts, emoji.
WILD = (
    *("a", "b", " ", "  ", "\t", "'", "'s", "'re", "'ll", "'v", "1", "٣", "½", "é", "e\u0301", "我", "愛", "ไทย", "ที่"),
    *("مرحبا", "🙂", "👩‍👩‍👧", "\u00a0", "\u3000", "\x1c", "\x1f", "\u200b", "\u2028", "\r", "\n", "\x85", "!", "..."),
    *("▁", "<unk>", "< unk >", "##", "the", "The", "IS", "²", "Ⅷ", "_", "-", "\ufeff", "ｗ", "가", "ー", "、", "\x00"),
)
ENGLISH = ["the cat sees the cats and theirs, it's we're I'll 12 123 1999 ...!!", "  two  spaces\tand a tab "] * 3
KINDS: list[tuple[Trained, int | None]] = [
    *(
        ("bpe_bytes", 500),
        ("bpe_words", 300),
        ("wordpiece", 300),
        ("unigram", 200),
        ("word", None),
        ("character", None),
    ),
]


def wild_lines(seed: int, count: int, longest: int = 25) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices(WILD, k=draw.randrange(longest))) for _ in range(count)]


def any_lines(seed: int, count: int) -> list[str]:
    """Of any code points."""
    draw = random.Random(seed)
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    return ["".join(map(chr, draw.choices(points, k=8))) for _ in range(count)]


def rows(encoder: LineEncoder, lines: list[str]) -> list[list[int]]:
    ids, lengths = encoder.encode(lines)
    return [row.tolist() for row in np.split(ids, np.cumsum(lengths))[:-1]]


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_parity_of_encoding_by_pieces_with_the_library(kind: Trained, size: int | None) -> None:
    tokenizer = train_tokenizer(wild_lines(1, 300) + ENGLISH, TokenizerConfig(kind=kind, vocab_size=size))
    lines = ["", " ", "  ", *ENGLISH, *wild_lines(2, 2000), *any_lines(3, 500), "a" * 3000 + "我" * 3000]
    assert rows(LineEncoder(tokenizer), lines) == [ids.tolist() for ids in tokenizer.encode_lines(lines)]


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_the_same_text_trains_the_same_tokenizer(kind: Trained, size: int | None) -> None:
    """The library counts in hash tables that are seeded anew each time."""
    lines = wild_lines(4, 300) + ENGLISH
    config = TokenizerConfig(kind=kind, vocab_size=size, character_coverage=0.9 if kind == "wordpiece" else 1.0)
    first, *others = (train_tokenizer(lines, config).to_json() for _ in range(3))
    assert others == [first] * 2


def test_golden_merges() -> None:
    """aaab twice, ab five times: (a, b) 7 times, then of (a, a) 2 and (a, ab) 2 the pair with the lower ids."""
    lines = ["aaab aaab", "ab ab ab ab ab"]
    tokenizer = train_tokenizer(lines, TokenizerConfig(kind="wordpiece", vocab_size=10))
    tokens = [tokenizer.name(token) for token in range(4, tokenizer.vocab_size)]
    assert tokens == ["a", "b", "##a", "##b", "ab", "aa"]  # ##a ##b would be 2


def test_pieces_are_forgotten_where_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = train_tokenizer(ENGLISH, TokenizerConfig(vocab_size=400))
    lines = wild_lines(6, 200)
    encoder = LineEncoder(tokenizer)
    monkeypatch.setattr(line_encoder, "MOST", 50)
    for line in lines:
        assert rows(encoder, [line]) == [tokenizer.encode(line).tolist()]


def test_first_and_last_ids_stand_around_each_line() -> None:
    encoder = LineEncoder(train_tokenizer(ENGLISH, TokenizerConfig(vocab_size=400)))
    plain = rows(encoder, ENGLISH)
    ids, lengths = encoder.encode([*ENGLISH, ""], first=2, last=3)
    framed = [row.tolist() for row in np.split(ids, np.cumsum(lengths))[:-1]]
    assert framed == [[2, *row, 3] for row in plain] + [[2, 3]] and ids.dtype == np.int32


def test_a_long_text_is_sampled_evenly() -> None:
    lines = [f"line {number}" for number in range(100)]
    whole = sum(map(len, lines))
    sample = Sample.of([lines], whole // 4 + 1)
    assert [*sample] == [*sample] == lines[::4] and sample.report() == {"trained_on_every": 4, "training_bytes": whole}
    assert [*Sample.of([lines], whole)] == lines and Sample.of([lines], whole).report() == {}


def test_text_without_words_is_refused() -> None:
    for kind in ("word", "character", "unigram", "wordpiece"):
        with pytest.raises(InputError, match="no text"):
            train_tokenizer([""], TokenizerConfig(kind=kind, vocab_size=300))
    assert isinstance(train_tokenizer([""], TokenizerConfig()), Tokenizer)
