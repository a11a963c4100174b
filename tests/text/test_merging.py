"""Merges learnt from counts are those of the library's trainers, and pieces encoded once are what it encodes."""

import random

import numpy as np
import pyarrow as pa
import pytest
from library_training import library_trained
from tokenizers import models

from langladder.errors import InputError
from langladder.text import pieces as pieces_module
from langladder.text.byte_merges import ByteMerges
from langladder.text.cutters import cutter
from langladder.text.line_encoder import LineEncoder
from langladder.text.merging import Words, learn_merges
from langladder.text.pieces import Lines, Pieces
from langladder.text.tokenizer_training import train_tokenizer
from langladder.text.tokenizers import BYTES, Tokenizer, TokenizerConfig, Trained, assemble

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
    ids, lengths = encoder.encode(Lines.of(pa.array(lines, pa.string())))
    return [row.tolist() for row in np.split(ids, np.cumsum(lengths))[:-1]]


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_parity_of_encoding_by_pieces_with_the_library(kind: Trained, size: int | None) -> None:
    tokenizer = train_tokenizer(wild_lines(1, 300) + ENGLISH, TokenizerConfig(kind=kind, vocab_size=size))
    lines = ["", " ", "  ", *ENGLISH, *wild_lines(2, 2000), *any_lines(3, 500), "a" * 3000 + "我" * 3000]
    assert rows(LineEncoder(tokenizer), lines) == [ids.tolist() for ids in tokenizer.encode_lines(lines)]


@pytest.mark.parametrize("kind", ["bpe_bytes", "bpe_words", "wordpiece", "word"])
@pytest.mark.parametrize("seed", range(3))
def test_parity_of_training_with_the_library(kind: Trained, seed: int) -> None:
    draw = random.Random(seed)
    few = ["".join(draw.choices("ab #", k=draw.randrange(60))) for _ in range(30)]  # tokens spelled in two ways
    for lines, size in ((wild_lines(seed, 100), 700), (few, 300), (few, 400)):
        for frequency, coverage in ((1, 1.0), (2, 0.9)):
            config = TokenizerConfig(kind=kind, vocab_size=size, min_frequency=frequency, character_coverage=coverage)
            assert train_tokenizer(lines, config).to_json(reserved=False) == library_trained(lines, config)


def test_golden_merges() -> None:
    """aaab twice, ab five times: (a, b) 7 times, then of (a, a) 2 and (a, ab) 2 the pair with the lower ids."""
    words = Words(
        np.array([0, 0, 0, 1, 0, 1], dtype=np.int32), np.array([0, 4]), np.array([4, 2], np.int32), np.array([2, 5])
    )
    tokens, merges = learn_merges(words, ["a", "b"], 4)
    assert tokens == ["a", "b", "ab", "aa"] and merges == [("a", "b"), ("a", "a")]


def test_tables_grow_wherever_they_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = wild_lines(4, 400) + any_lines(5, 300)
    cut = cutter("bpe_bytes")
    large, small = Pieces(), Pieces()
    monkeypatch.setattr(small, "_slots", np.zeros(4, dtype=np.int32))
    monkeypatch.setattr(small, "_hashes", np.zeros(2, dtype=np.int64))
    monkeypatch.setattr(small, "_counts", np.zeros(2, dtype=np.int64))
    monkeypatch.setattr(small, "_bounds", np.zeros(3, dtype=np.int64))
    monkeypatch.setattr(small, "_known", np.zeros(1, dtype=np.uint8))
    one, two = (one.cut(Lines.of(pa.array(lines)), cut.classes, cut.rule) for one in (large, small))
    assert np.array_equal(one.numbers, two.numbers) and np.array_equal(one.ends, two.ends)
    assert large.lines.texts() == small.lines.texts() and large.counts.tolist() == small.counts.tolist()
    assert "".join(large.lines.texts()[number] for number in one.numbers) == "".join(lines)
    merged = Pieces()
    merged.add(large.lines, large.counts)
    merged.add(small.lines, small.counts)
    assert merged.size == large.size and (merged.counts == 2 * large.counts).all()
    assert pieces_module.RULES[cut.rule] == 0


def test_merges_that_spell_one_token_in_two_ways() -> None:
    """The library goes on with a merge that was queued for another pair where both make the same token."""
    vocabulary = {token: number for number, token in enumerate([*sorted(BYTES), "ab", "bc", "abc", "cd", "abcd"])}
    merges = [("ab", "c"), ("b", "c"), ("a", "b"), ("a", "bc"), ("c", "d"), ("ab", "cd")]
    backend = assemble("bpe_bytes", models.BPE(vocab=vocabulary, merges=merges))
    draw = random.Random(1)
    words = ["".join(draw.choices("abcd", k=draw.randrange(1, 12))) for _ in range(500)]
    lines = Lines.of(pa.array(words))
    ids, bounds = ByteMerges.of(vocabulary, merges, BYTES).encode(lines.text, lines.bounds)
    assert [row.tolist() for row in np.split(ids, bounds[1:-1])] == [backend.encode(word).ids for word in words]


def test_text_without_words_is_refused() -> None:
    for kind in ("word", "character", "unigram", "wordpiece"):
        with pytest.raises(InputError, match="no text"):
            train_tokenizer([""], TokenizerConfig(kind=kind, vocab_size=300))
    assert isinstance(train_tokenizer([""], TokenizerConfig()), Tokenizer)
