"""The same text trains the same tokenizer; lines are encoded one after the other."""

import json
import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from tokenizers import models, pre_tokenizers, trainers

from langladder.ground.errors import InputError
from langladder.text.tokenize import encoding
from langladder.text.tokenize.encoding import encode_lines
from langladder.text.tokenize.likelihood_pieces import likelihood_pieces
from langladder.text.tokenize.specials import SPELLINGS
from langladder.text.tokenize.tokenizer_training import Sample, train_tokenizer
from langladder.text.tokenize.tokenizers import BYTES, Tokenizer, TokenizerConfig, Trained, assemble

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
        ("wordpiece_likelihood", 300),
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


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_the_same_text_trains_the_same_tokenizer(kind: Trained, size: int | None) -> None:
    """The library counts in hash tables that are seeded anew each time."""
    lines = wild_lines(4, 300) + ENGLISH
    config = TokenizerConfig(
        kind=kind, vocab_size=size, character_coverage=0.9 if kind.startswith("wordpiece") else 1.0
    )
    first, *others = (train_tokenizer(lines, config).to_json() for _ in range(3))
    assert others == [first] * 2


def test_golden_merges() -> None:
    """aaab twice, ab five times: (a, b) 7 times, then of (a, a) 2 and (a, ab) 2 the pair with the lower ids."""
    lines = ["aaab aaab", "ab ab ab ab ab"]
    tokenizer = train_tokenizer(lines, TokenizerConfig(kind="wordpiece", vocab_size=10))
    tokens = [tokenizer.name(token) for token in range(4, tokenizer.vocab_size)]
    assert tokens == ["a", "b", "##a", "##b", "ab", "aa"]  # ##a ##b would be 2


def test_golden_merges_by_likelihood() -> None:
    """hug 10, pug 5, pun 12, bun 4, hugs 5 times: count(ab) / (count(a) count(b)) by hand.

    ##g ##s 5 / (20 · 5) = 1/20, above 20 / (36 · 20) of ##u ##g, the most frequent. Then all pairs with ##u have 1/36:
    p ##u is the most frequent (17). Then ##u is left 19 times: h ##u 15 / (15 · 19), as b ##u 4 / (4 · 19), less often.
    """
    lines = ["hug pug pun"] * 5 + ["hug hugs pun"] * 5 + ["pun bun"] * 2 + ["bun bun"]
    config = TokenizerConfig(kind="wordpiece_likelihood", vocab_size=4 + 14 + 3)
    tokenizer = train_tokenizer(lines, config)
    assert [tokenizer.name(token) for token in range(18, tokenizer.vocab_size)] == ["##gs", "pu", "hu"]
    pieces = [tokenizer.name(token) for token in tokenizer.encode("hugs bun pugs")]
    assert pieces == ["hu", "##gs", "b", "##u", "##n", "pu", "##gs"]
    assert tokenizer.kind == "wordpiece"
    by_frequency = train_tokenizer(lines, config.model_copy(update={"kind": "wordpiece"}))
    assert [by_frequency.name(token) for token in range(18, 21)] == ["##ug", "##un", "hug"]


BURMESE = "ကခဂငစဆတထဒနပဖဘမယရလဝသဟအ"
SYLLABLES = ("", "ာ", "ိ", "ု", "ေ", "ို", "ုံ", "က်", "င်", "န်း", "များ", "ြင်း")


def burmese_lines(count: int = 300) -> list[str]:
    draw = random.Random(5)
    words = [
        "".join(draw.choice(BURMESE) + draw.choice(SYLLABLES) for _ in range(draw.randrange(1, 5))) for _ in range(150)
    ]
    return ["".join(draw.choices(words, k=8)) + " " + "".join(draw.choices(words, k=6)) + "။" for _ in range(count)]


def trained_by_the_library(lines: list[str], size: int) -> list[list[str]]:
    """The merges of the library's own byte-level BPE."""
    backend = assemble("bpe_bytes", models.BPE())
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=size, min_frequency=2, show_progress=False, special_tokens=[*SPELLINGS], initial_alphabet=letters
    )
    backend.train_from_iterator(lines, trainer)
    return cast("list[list[str]]", json.loads(backend.to_str())["model"]["merges"])


def merges(tokenizer: Tokenizer) -> list[list[str]]:
    return cast("list[list[str]]", json.loads(tokenizer.to_json())["model"]["merges"])


def piece_of(pair: list[str]) -> str:
    return bytes(BYTES[character] for character in "".join(pair)).decode(errors="backslashreplace")


@pytest.mark.parametrize("size", [500, 700])
def test_letters_of_three_bytes_are_tokens_before_any_merge(size: int, tmp_path: Path) -> None:
    """By the library's own order of merges, about half of the tokens of such a text are parts of two letters."""
    lines = [*burmese_lines(), "rare: 愛ő🙂 and Latin, once"]
    config = TokenizerConfig(kind="bpe_bytes", vocab_size=size, min_frequency=2)
    tokenizer = train_tokenizer(lines, config)
    assert tokenizer.vocab_size == size and len(merges(tokenizer)) == size - 260
    text = [tokenizer.piece(token) for line in lines[:-1] for token in tokenizer.encode(line)]
    assert not [piece for piece in text if "\\x" in piece]
    assert max(map(len, text)) > 3  # of which words are made
    own_order = trained_by_the_library(lines, size)
    torn = [pair for pair in own_order if "\\x" in piece_of(pair)]
    assert len(torn) > 100 > len([pair for pair in merges(tokenizer) if "\\x" in piece_of(pair)])
    for line in [*lines, *wild_lines(2, 30), *any_lines(3, 30)]:  # a rare character is written by its bytes
        assert tokenizer.decode(tokenizer.encode(line)) == line
    tokenizer.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json").same_as(tokenizer)
    assert train_tokenizer(lines, config).to_json() == tokenizer.to_json()


@pytest.mark.parametrize(
    "lines",
    [
        ENGLISH,
        ["tout l’été, à Noël — « où ? »"] * 3 + ENGLISH,
        ["Все люди рождаются свободными", "يولد جميع الناس أحراراً", "כל בני האדם"] * 3,
        ["".join(chr(0x4E00 + (7 * line + column) % 900) for column in range(40)) for line in range(300)],
        burmese_lines(20) + ["the cat sees the cats and theirs " * 20] * 40,
    ],
    ids=["English", "French", "two bytes", "no room", "a little Burmese"],
)
def test_other_texts_have_the_merges_of_the_library(lines: list[str]) -> None:
    config = TokenizerConfig(kind="bpe_bytes", vocab_size=700, min_frequency=2)
    assert merges(train_tokenizer(lines, config)) == trained_by_the_library(lines, 700)


def test_pairs_by_likelihood_as_counted_again_for_each_merge() -> None:
    draw = random.Random(3)
    words = Counter("".join(draw.choices("aab", k=draw.randrange(1, 9))) for _ in range(60))
    begin = ["a", "b", "##a", "##b"]
    cut, names = {word: [word[0], *(f"##{item}" for item in word[1:])] for word in words}, [*begin]
    for _ in range(40):
        pieces, pairs = Counter[str](), Counter[tuple[str, str]]()
        for word, parts in cut.items():
            for part in parts:
                pieces[part] += words[word]
            for pair in pairwise(parts):
                pairs[pair] += words[word]
        kept = [pair for pair, count in pairs.items() if count >= 2]
        if not kept:
            break
        score = {(a, b): Fraction(pairs[a, b], pieces[a] * pieces[b]) for a, b in kept}
        a, b = min(kept, key=lambda pair: (-score[pair], -pairs[pair], *map(names.index, pair)))
        whole = a + b.removeprefix("##")
        names += [whole] if whole not in names else []
        for word, parts in cut.items():
            result: list[str] = []
            for part in parts:
                result[-1:] = [whole] if result and (result[-1], part) == (a, b) else [*result[-1:], part]
            cut[word] = result
    assert likelihood_pieces(words, begin, len(names), 2) == names and len(names) > 20


def test_first_and_last_ids_stand_around_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "LINES", 4)  # encoded at a time
    tokenizer = train_tokenizer(ENGLISH, TokenizerConfig(vocab_size=400))
    lines = [*ENGLISH, "", *wild_lines(6, 30)]
    plain = [ids.tolist() for ids in tokenizer.encode_lines(lines)]
    for first, last, before, after in ((2, 3, [2], [3]), (-1, 3, [], [3]), (-1, -1, [], [])):
        ids, lengths = encode_lines(tokenizer, lines, first=first, last=last)
        rows = [row.tolist() for row in np.split(ids, np.cumsum(lengths))[:-1]]
        assert rows == [before + row + after for row in plain] and ids.dtype == np.int32
    assert [ids.tolist() for ids in encode_lines(tokenizer, [])] == [[], []]


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
