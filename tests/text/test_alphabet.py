"""The characters of a text against a vocabulary's size; tokens shown as text."""

from pathlib import Path

import pyarrow as pa
import pytest

from langladder.engine.base import Local, used
from langladder.text.storage import shards, tables
from langladder.text.tokenize.tokenizer_training import (
    Alphabet,
    Sample,
    count_characters,
    count_characters_of,
    report_on,
    train_tokenizer,
    visible,
)
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from langladder.text.words.segmentation import Conventions

HAN = ["".join(chr(0x4E00 + (7 * line + column) % 3000) for column in range(40)) for line in range(2000)]


def tokenizer(lines: list[str], size: int) -> Tokenizer:
    return train_tokenizer(lines, TokenizerConfig(kind="bpe_bytes", vocab_size=size))


def test_a_vocabulary_below_the_alphabet_is_reported_with_the_size_that_would_suffice() -> None:
    result = Alphabet.of(count_characters(HAN))
    assert result.size == 3000 and 2900 < result.common <= 3000
    message = result.warning(2000)
    assert message and "2,000" in message and "3,000 characters" in message and "6,500" in message
    assert result.warning(6500) is None


def test_characters_are_those_of_all_lines() -> None:
    result = Alphabet.of(count_characters(["the cat sleeps ."] * 60_000 + HAN))
    assert result.size == 3000 + len(set("thecatsleeps.")) and result.common > 500


def test_workers_count_what_one_process_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_BYTES", 50_000)
    rows = {"document": range(len(HAN)), "text": HAN, "log_prob": [None] * len(HAN)}
    tables.write_table(tmp_path / "train", pa.table(rows, schema=shards.TEXT))
    text, small = tables.TableLines([(tmp_path / "train", "text")]), tokenizer(HAN[:50], 400)
    assert len(text.shards()) > 3
    with used(Local(2)):
        assert count_characters_of(text) == count_characters(HAN)
        assert report_on(small, text.shards(), Conventions()) == report_on(small, [HAN], Conventions())
        assert Sample.of(text.shards(), 100_000).report() == Sample.of([HAN], 100_000).report()


@pytest.mark.parametrize("lines", [["the cat sleeps ."] * 10, ["männer und frauen"] * 10, []])
def test_an_alphabet_of_letters_does_not_matter(lines: list[str]) -> None:
    assert Alphabet.of(count_characters(lines)).warning(600) is None


def test_golden_tokens_are_shown_as_text() -> None:
    lines = ["die männer und die frauen", "围棋"] * 20
    small = tokenizer(lines, 300)
    for line in lines[:2]:
        assert small.decode(small.encode(line)) == line
    samples = report_on(small, [lines], Conventions(), samples=2)["samples"]
    assert "▁männer" in samples[0]["tokens"].replace(" ", "") and "Ġ" not in samples[0]["tokens"]
    assert "\ufffd" not in samples[1]["tokens"]
    for byte, text in ((0xE4, r"\xe4"), (0x20, "▁"), (0x41, "A")):
        single = next(token for token in range(4, 300) if small.name(token) == chr(byte if byte != 0x20 else 0x120))
        assert visible(small, single) == text


def test_pieces_of_one_line_are_the_line() -> None:
    line = "naïve café — 围棋, 🙂"
    small = tokenizer([line, "the cat"], 270)
    raw = "".join(small.piece(int(token)) for token in small.encode(line))
    assert raw.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1").decode() == line
