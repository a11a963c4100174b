"""Shards: whole documents, bytes that depend on the rows alone, readable by `datasets`; damage is named."""

from itertools import pairwise
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.text.storage import shards, tables
from langladder.text.storage.shards import SHARDED, ShardWriter, shard_files
from tests.hostile import fuzzed, read, strange_bytes

Rows = list[tuple[int, str, float | None]]


def table(rows: Rows) -> pa.Table:
    return pa.table([[row[column] for row in rows] for column in range(3)], schema=shards.TEXT)


def rows_of(path: Path) -> Rows:
    return [tuple(row.values()) for row in tables.read_table(path, shards.TEXT).to_pylist()]


def written(folder: Path, rows: Rows, pieces: list[int]) -> dict[str, bytes]:
    """Write rows in pieces of these sizes, the last with what is left; the files by name."""
    with ShardWriter(folder) as writer:
        for size in [*pieces, len(rows)]:
            for batch in table(rows[:size]).to_batches():
                writer.add(batch)
            rows = rows[size:]
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def corpus(count: int, seed: int = 1) -> Rows:
    random, rows, document = Random(seed), Rows(), 0
    for _ in range(count):
        document += random.random() < 0.3
        rows.append((document, "é " * random.randrange(6), random.choice([None, -1.5])))
    return rows


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_BYTES", 50)
    monkeypatch.setattr(shards, "ROWS", 4)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 99), pieces=st.lists(st.integers(0, 30), max_size=6))
def test_bytes_depend_on_the_rows_alone(tmp_path_factory: pytest.TempPathFactory, seed: int, pieces: list[int]) -> None:
    folder, rows = tmp_path_factory.mktemp("shards"), corpus(60, seed)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(shards, "SHARD_BYTES", 50)
        patched.setattr(shards, "ROWS", 4)
        assert written(folder / "one", rows, []) == written(folder / "two", rows, pieces)
    assert rows_of(folder / "two") == rows


@pytest.mark.usefixtures("small")
def test_a_shard_holds_whole_documents_and_closes_when_it_is_full(tmp_path: Path) -> None:
    rows = corpus(200)
    tables.write_table(tmp_path / "train", table(rows))
    files = shard_files(tmp_path / "train")
    assert [file.name for file in files] == [f"data-{n:05d}-of-{len(files):05d}.parquet" for n in range(len(files))]
    results = [rows_of(file) for file in files]
    assert [row for shard in results for row in shard] == rows == rows_of(tmp_path / "train")
    sizes = [sum(len(text.encode()) for _, text, _ in shard) for shard in results]
    assert len(files) > 5 and min(sizes[:-1]) >= 50
    for item, two in pairwise(results):
        assert item[-1][0] != two[0][0]
        assert sum(len(text.encode()) for document, text, _ in item if document != item[-1][0]) < 50
    assert all(rows <= 4 for file in files for rows in shards.group_rows(file))
    assert [len(piece) for piece in tables.read_batches(tmp_path / "train", shards.TEXT, 1)] == [1] * 200


@pytest.mark.usefixtures("small")
def test_datasets_and_pandas_load_it(tmp_path: Path) -> None:
    import datasets
    import pandas

    rows = {split: corpus(40, seed) for seed, split in enumerate(shards.SPLITS)}
    for split in shards.SPLITS:
        tables.write_table(tmp_path / split, table(rows[split]))
    (tmp_path / "conventions.json").write_text("{}")
    loaded = datasets.load_dataset(str(tmp_path), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == list(shards.SPLITS)
    for split in shards.SPLITS:
        assert [tuple(row.values()) for row in loaded[split]] == rows[split]
    assert loaded["train"].features == datasets.Features(
        {"document": datasets.Value("int64"), "text": datasets.Value("string"), "log_prob": datasets.Value("float64")}
    )
    streamed = datasets.load_dataset("parquet", data_files=str(tmp_path / "test" / "*.parquet"), streaming=True)
    assert [tuple(row.values()) for row in streamed["train"]] == rows["test"]
    assert pandas.read_parquet(tmp_path / "test")["text"].tolist() == [text for _, text, _ in rows["test"]]


def test_a_table_without_rows_is_a_table(tmp_path: Path) -> None:
    tables.write_table(tmp_path / "train", table([]))
    assert rows_of(tmp_path / "train") == [] and len(shard_files(tmp_path / "train")) == 1


def test_only_a_folder_of_ours_is_replaced(tmp_path: Path) -> None:
    def replace() -> None:
        with atomic_folder(tmp_path / "clean", SHARDED) as folder:
            tables.write_table(folder / "train", table(corpus(5)))

    replace()
    replace()
    for name in ("notes.txt", "train/notes.txt", "train/data.parquet", "train.parquet", "other/state.json"):
        (path := tmp_path / "clean" / name).parent.mkdir(exist_ok=True)
        path.write_text("mine")
        with pytest.raises(InputError, match=f"it holds {name}, which does not belong"):
            replace()
        path.unlink()
    (tmp_path / "clean" / "other").rmdir()
    tables.write_table(tmp_path / "clean" / "train" / "data-00000-of-00001.parquet", pa.table({"theirs": [1]}))
    with pytest.raises(InputError, match="it is not tables of text that langladder wrote"):
        replace()


@pytest.mark.usefixtures("small")
def test_missing_shards_and_columns_are_reported(tmp_path: Path) -> None:
    tables.write_table(tmp_path / "train", table(corpus(200)))
    files = shard_files(tmp_path / "train")
    with pytest.raises(InputError, match="has no column 'other'"):
        list(tables.read_column(tmp_path / "train", "other"))
    with pytest.raises(InputError, match="column 'text' is not of type int64"):
        list(tables.read_batches(tmp_path / "train", pa.schema([("text", pa.int64())])))
    for gone in (files[-1], files[0]):
        gone.rename(tmp_path / "aside")
        with pytest.raises(InputError, match="shards are missing or left over"):
            shard_files(tmp_path / "train")
        (tmp_path / "aside").rename(gone)
    with pytest.raises(InputError, match="nor a folder of shards"):
        shard_files(tmp_path / "absent")


def test_a_line_that_is_missing_is_reported(tmp_path: Path) -> None:
    rows = pa.record_batch([[0], pa.array([None], pa.string()), [None]], schema=shards.TEXT)
    with shards.file_writer(tmp_path / "x.parquet", shards.TEXT) as writer:
        writer.write_batch(rows)
    with pytest.raises(InputError, match="a line or its document is missing"):
        tables.read_table(tmp_path / "x.parquet", shards.TEXT)


@given(data=st.data())
@fuzzed
def test_fuzz_shards(tmp_path: Path, data: st.DataObject) -> None:
    if not (tmp_path / "train").exists():
        tables.write_table(tmp_path / "train", table(corpus(9)))
    (file,) = shard_files(tmp_path / "train")
    path = tmp_path / "x.parquet"
    path.write_bytes(data.draw(strange_bytes(file.read_bytes())))
    result = read(tables.read_table, path, shards.TEXT)
    if result is not None:
        result.to_pylist()
