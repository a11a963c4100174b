"""Tokens of a corpus in shards: the same bytes wherever the shards are encoded, joined to one batch that is mapped."""

import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tokenizer_training import ENGLISH, wild_lines

from langladder.engine.base import Engine, Local, Serial, used
from langladder.ground.artefacts import read_arrays
from langladder.text.storage import shards, tables
from langladder.text.storage.token_streams import IdWriter, PairStream, StreamJoiner, TokenStream
from langladder.text.tokenize.encoding import encode_corpus, encode_pairs, training_sides, training_text
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig, Trained

CHINESE = ["她喜欢看书。《红楼梦》是名著， ok", "彼女は本を読む。", "เธออ่านหนังสือ ที่นี่", "مرحبا بالعالم 🙂"] * 10


def hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Text in several shards a split, of documents of several lines; pairs."""
    monkeypatch.setattr(shards, "SHARD_BYTES", 2_000)
    lines = ENGLISH * 20 + [line for line in wild_lines(7, 200) if line] + CHINESE
    rows = {"document": [row // 7 for row in range(len(lines))], "text": lines, "log_prob": [-0.1] * len(lines)}
    for split in shards.SPLITS:
        tables.write_table(tmp_path / "clean" / split, pa.table(rows, schema=shards.TEXT))
        pairs = {"source": lines, "target": lines[::-1]}
        tables.write_table(tmp_path / "pairs" / f"{split}.parquet", pa.table(pairs, schema=tables.PAIRS))
    assert len(shards.shard_files(tmp_path / "clean" / "train")) > 4
    return tmp_path


def tokenised(clean: Path, out: Path, engine: Engine, kind: Trained) -> dict[str, str]:
    with used(engine):
        out.mkdir()
        tokenizer = train_tokenizer(training_text(clean), TokenizerConfig(kind=kind, vocab_size=500))
        encode_corpus(clean, tokenizer, out)
    return hashes(out)


KINDS: list[Trained] = ["bpe_bytes", "wordpiece", "unigram", "word", "character"]


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_those_of_each_line_framed(clean: Path, tmp_path: Path, kind: Trained) -> None:
    result = tokenised(clean / "clean", tmp_path / "out", Serial(), kind)
    streams = {"train.arrow", "validation.arrow", "test.arrow"}
    assert set(result) == {"conventions.json", "sizes.json", "tokenizer.json", "train_counts.safetensors"} | streams
    stream = TokenStream.open(tmp_path / "out" / "train.arrow")
    assert (
        not stream.ids.flags.owndata
        and len(pa.ipc.open_stream(tmp_path / "out" / "train.arrow").read_all().to_batches()) == 1
    )
    stored = read_arrays(tmp_path / "out" / "train_counts.safetensors")["counts"]  # of all shards
    assert stored.tolist() == np.bincount(stream.ids, minlength=len(stored)).tolist()
    table = tables.read_table(clean / "clean" / "train").to_pydict()
    tokenizer = train_tokenizer(table["text"], TokenizerConfig(kind=kind, vocab_size=500))
    documents: dict[int, list[int]] = {}
    for document, ids in zip(table["document"], tokenizer.encode_lines(table["text"]), strict=True):
        documents.setdefault(document, []).extend([2, *ids.tolist(), 3])
    assert [row.tolist() for row in stream] == list(documents.values())


@pytest.mark.long
def test_equal_bytes_whatever_the_engine(clean: Path, tmp_path: Path) -> None:
    engines = {"serial": Serial(), "two": Local(2), "four": Local(4)}
    for kind in ("bpe_bytes", "wordpiece"):
        result = {
            name: tokenised(clean / "clean", tmp_path / f"{kind}-{name}", engine, kind)
            for name, engine in engines.items()
        }
        assert result["serial"] == result["two"] == result["four"]


def test_pairs_are_those_of_each_sentence(clean: Path, tmp_path: Path) -> None:
    tokenizer = train_tokenizer(training_sides(clean / "pairs", ["source", "target"]), TokenizerConfig(vocab_size=400))
    report = encode_pairs(clean / "pairs", tokenizer, tokenizer, tmp_path)
    stream = PairStream.open(tmp_path / "train.arrow")
    table = tables.read_table(clean / "pairs" / "train.parquet").to_pydict()
    sources, targets = (tokenizer.encode_lines(table[side]) for side in ("source", "target"))
    assert [row.tolist() for row in stream.source] == [[*ids.tolist(), 3] for ids in sources]
    assert [row.tolist() for row in stream.target] == [[2, *ids.tolist(), 3] for ids in targets]
    assert report["train"]["target_tokens"] == sum(len(ids) + 1 for ids in targets)


ROWS = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5), max_size=6)


@pytest.mark.parametrize("most", [4, 1 << 31])
@given(parts=st.lists(ROWS, max_size=4))
@settings(max_examples=25)
def test_parts_are_joined_in_order(tmp_path_factory, most: int, parts: list[list[list[int]]]) -> None:
    """Beyond `most` ids offsets are 64 bits wide; read by this project and by `datasets` alike."""
    folder = tmp_path_factory.mktemp("joined")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("langladder.text.storage.token_streams.INT32_IDS", most)
        patch.setattr("langladder.text.storage.token_streams.STEP", 16)
        joiner = StreamJoiner(folder / "train.arrow", ("ids",), folder)
        for number, rows in enumerate(parts):
            with IdWriter.of(folder / f"part-{number}") as out:
                out.add(
                    np.array([item for row in rows for item in row], dtype=np.int32),
                    np.array([*map(len, rows)], dtype=np.int64),
                )
            joiner.append({"ids": folder / f"part-{number}"})
        joiner.write()
    stream = TokenStream.open(folder / "train.arrow")
    expected = [row for rows in parts for row in rows]
    assert [row.tolist() for row in stream] == expected and stream.offsets.dtype == np.int64
    assert [path.name for path in folder.iterdir()] == ["train.arrow"]
    if sum(map(len, expected)) <= most:
        TokenStream.write(folder / "other.arrow", map(np.array, expected))
        assert (folder / "train.arrow").read_bytes() == (folder / "other.arrow").read_bytes()
    elif expected:
        assert not stream.offsets.flags.owndata  # mapped, as the ids are


def test_datasets_reads_wide_offsets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("langladder.text.storage.token_streams.INT32_IDS", 3)
    from datasets import Dataset

    with IdWriter.of(tmp_path / "part") as out:
        out.add(np.array([2, 7, 3, 2, 3]), np.array([3, 2]))
    joiner = StreamJoiner(tmp_path / "train.arrow", ("ids",), tmp_path)
    joiner.append({"ids": tmp_path / "part"})
    joiner.write()
    assert Dataset.from_file(str(tmp_path / "train.arrow"))["ids"][:] == [[2, 7, 3], [2, 3]]


LARGE = (1 << 31) + 3  # ids: more than Arrow writes unasked


@pytest.mark.long
def test_more_ids_than_32_bits_count(tmp_path: Path) -> None:
    """Nine gigabytes of zeros, which the disk keeps for nothing until they are a stream."""
    if shutil.disk_usage(tmp_path).free < 5 * LARGE:
        pytest.skip(f"{5 * LARGE / 1e9:.0f} GB of disk are needed")
    joiner = StreamJoiner(tmp_path / "train.arrow", ("ids",), tmp_path)
    (tmp_path / "train-ids-whole.ids").touch()
    os.truncate(tmp_path / "train-ids-whole.ids", 4 * (LARGE - 2))
    with IdWriter.of(tmp_path / "part") as out:
        out.add(np.array([7, 8]), np.array([LARGE - 3, 1, 2]))
    joiner.append({"ids": tmp_path / "part"})
    joiner.write()
    stream = TokenStream.open(tmp_path / "train.arrow")
    assert stream.offsets.tolist() == [0, LARGE - 3, LARGE - 2, LARGE]
    assert stream.document(2).tolist() == [7, 8] and stream.document(1).tolist() == [0]
    assert [path.name for path in tmp_path.iterdir()] == ["train.arrow"]
