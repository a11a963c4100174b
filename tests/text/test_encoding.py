"""From clean tables to token streams."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from real_data import real

from langladder.ground.artefacts import read_arrays
from langladder.text.clean.clean_text import CleanConfig, clean_text
from langladder.text.read.files import TextSource, read_text
from langladder.text.storage import shards, tables
from langladder.text.storage.token_streams import POSITIONS, PairStream, TokenStream
from langladder.text.tokenize.encoding import (
    TextSize,
    encode_corpus,
    encode_pairs,
    total,
    training_sides,
    training_text,
)
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from langladder.text.words.segmentation import Conventions

WORDS = TokenizerConfig(kind="word", vocab_size=None)


def test_a_document_is_its_framed_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langladder.text.tokenize.encoding.ROWS", 2)  # documents run across batches
    rows = {"document": [0, 0, 0, 1], "text": ["a b", "b", "c a", "a"], "log_prob": [None] * 4}
    for split in shards.SPLITS:
        tables.write_table(tmp_path / "clean" / split, pa.table(rows, schema=shards.TEXT))
    tokenizer = train_tokenizer(training_text(tmp_path / "clean"), WORDS)
    report = encode_corpus(tmp_path / "clean", tokenizer, tmp_path / "tokens")
    stream = TokenStream.open(tmp_path / "tokens" / "train.arrow")
    a, b, c = (tokenizer.encode(word)[0] for word in "abc")
    assert stream.document(0).tolist() == [BOS, a, b, EOS, BOS, b, EOS, BOS, c, a, EOS]
    assert stream.document(1).tolist() == [BOS, a, EOS]
    stored = read_arrays(tmp_path / "tokens" / "train_counts.safetensors")["counts"]
    assert stored.tolist() == np.bincount(stream.ids, minlength=7).tolist() == stream.counts(7).tolist()
    assert report["train"] == {"documents": 2, "lines": 4, "tokens": 10} == report["test"]
    assert Tokenizer.load(tmp_path / "tokens" / "tokenizer.json").vocab_size == 7


def test_golden_sizes_count_words_characters_and_bytes() -> None:
    """`é` has two bytes, a Chinese character three, and is a word; each line has one end."""
    size = TextSize()
    size.add(["été là", "你好"], pa.array([-1.0, -2.0]), Conventions().split, np.array([0, 1]))
    figures, rest = size.figures(), [0] * (len(POSITIONS) - 2)
    assert (figures.pop("words_by_position"), figures.pop("log_prob_by_position")) == ([3, 3, *rest], [-1, -2, *rest])
    assert figures == {"words": 2 + 2 + 2, "characters": 6 + 2 + 2, "bytes": 9 + 6 + 2, "log_prob": -3.0}
    both = total([size, size]).figures()
    assert (both.pop("words_by_position"), both.pop("log_prob_by_position")) == ([6, 6, *rest], [-2, -4, *rest])
    assert both == {"words": 12, "characters": 20, "bytes": 34, "log_prob": -6.0}
    size.add(["a"], pa.array([None], type=pa.float64()), Conventions().split, np.array([1]))
    assert (size.words_by_position[1], size.log_prob, size.log_prob_by_position) == (5, None, None)


def test_sizes_by_position_in_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of documents of 7, 1 and 60 lines, whatever the batches they are read in; line n has n + 1 words with its end."""
    lengths = [7, 1, 60]
    rows = {
        "document": [number for number, length in enumerate(lengths) for _ in range(length)],
        "text": [" ".join("a" * (n + 1)) for length in lengths for n in range(length)],
        "log_prob": [-float(n) for length in lengths for n in range(length)],
    }
    tables.write_table(tmp_path / "clean" / "train", pa.table(rows, schema=shards.TEXT))
    tokenizer = train_tokenizer(training_text(tmp_path / "clean"), WORDS)
    bounds = [*POSITIONS, 61]
    groups = [[n for length in lengths for n in range(1, length + 1) if a <= n < b] for a, b in pairwise(bounds)]
    for batch in (2, 5, 1000):
        monkeypatch.setattr("langladder.text.tokenize.encoding.ROWS", batch)
        encode_corpus(tmp_path / "clean", tokenizer, tmp_path / f"tokens{batch}")
        train = json.loads((tmp_path / f"tokens{batch}" / "sizes.json").read_text())["train"]
        assert train["words_by_position"] == [sum(n + 1 for n in group) for group in groups]
        assert train["log_prob_by_position"] == [-sum(n - 1 for n in group) for group in groups]
        assert sum(train["words_by_position"]) == train["words"]


def test_pairs_end_the_source_and_frame_the_target(tmp_path: Path) -> None:
    clean = tmp_path / "clean"
    for split in shards.SPLITS:
        pairs = pa.table({"source": ["go", "run now"], "target": ["va", "cours"]}, schema=tables.PAIRS)
        tables.write_table(clean / f"{split}.parquet", pairs)
    source = train_tokenizer(training_sides(clean, ["source"]), WORDS)
    target = train_tokenizer(training_sides(clean, ["target"]), WORDS)
    report = encode_pairs(clean, source, target, tmp_path / "tokens")
    item, two = PairStream.open(tmp_path / "tokens" / "test.arrow").pair(1)
    assert item.tolist() == [*source.encode("run now"), EOS] and two.tolist() == [BOS, *target.encode("cours"), EOS]
    assert report["train"] == {"pairs": 2, "source_tokens": 5, "target_tokens": 4}
    shared = train_tokenizer(training_sides(clean, ["source", "target"]), WORDS)
    encode_pairs(clean, shared, shared, tmp_path / "shared")
    assert (tmp_path / "shared" / "source.json").read_bytes() == (tmp_path / "shared" / "target.json").read_bytes()
    assert shared.vocab_size == 4 + 5


FILES = {"train": "train.txt.gz", "validation": "valid.txt.gz", "test": "test.txt.gz"}


def wikitext(out: Path, files: dict[str, str]) -> Path:
    path = str(real("wikitext-2"))
    read_text(TextSource(path=path, files=files, documents="heading", heading="= [^=].* ="), out)
    return out


@pytest.mark.long
@pytest.mark.real
@pytest.mark.slow
def test_golden_wikitext_counts(tmp_path: Path) -> None:
    """2,088,628 training tokens of 33,278 types by the makers' count: one end of line a line, blank ones too."""
    raw = wikitext(tmp_path / "raw", FILES)
    tokenizer = train_tokenizer(training_text(raw), WORDS)
    report = encode_corpus(raw, tokenizer, tmp_path / "tokens")
    assert tokenizer.vocab_size == 33_277 + 4
    blank = {"train": 36_718 - 23_767, "validation": 3_760 - 2_461, "test": 4_358 - 2_891}
    makers = {"train": 2_088_628, "validation": 217_646, "test": 245_569}
    assert {split: report[split]["tokens"] + blank[split] for split in blank} == makers
    stream = TokenStream.open(tmp_path / "tokens" / "test.arrow")
    assert int(np.sum(stream.ids == tokenizer.encode("<unk>")[0])) > 10_000


@pytest.mark.real
def test_prepared_text_can_pass_through_cleaning_as_it_is(tmp_path: Path) -> None:
    raw = wikitext(tmp_path / "raw", {"train": FILES["validation"], "test": FILES["test"]})
    as_it_is = CleanConfig.model_validate({"steps": {"control_characters": False}, "duplicates": {"exact": "keep"}})
    report = clean_text(raw, tmp_path / "clean", as_it_is, seed=1)
    assert report["cleaning"]["changed_by_step"] == {} == report["cleaning"]["dropped"]
    test = tables.read_table(tmp_path / "clean" / "test")
    assert test.column("text").equals(tables.read_table(raw / "test").column("text"))
    assert sum(report["splits"][split]["documents"] for split in ("train", "validation")) == 60
