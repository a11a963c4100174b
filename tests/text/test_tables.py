"""Tables: same rows, same bytes; broken files are named."""

from pathlib import Path

import pyarrow as pa
import pytest

from langladder.ground.errors import InputError
from langladder.text.storage import shards, tables


def lines(*texts: str) -> pa.Table:
    rows = {"document": list(range(len(texts))), "text": list(texts), "log_prob": [None] * len(texts)}
    return pa.table(rows, schema=shards.TEXT)


def test_roundtrip_keeps_every_row(tmp_path: Path) -> None:
    table = lines("the cat", "猫 が", "")
    for name in ("train.parquet", "train"):
        tables.write_table(tmp_path / name, table)
        assert tables.read_table(tmp_path / name, shards.TEXT).equals(table)


def test_same_rows_same_bytes(tmp_path: Path) -> None:
    for name in ("one.parquet", "two.parquet"):
        tables.write_table(tmp_path / name, lines("a", "b"))
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_batches_read_back_in_order(tmp_path: Path) -> None:
    rows = tables.write_batches(tmp_path / "t.parquet", shards.TEXT, (lines(str(i), str(-i)) for i in range(5)))
    texts = [text for piece in tables.read_column(tmp_path / "t.parquet", "text") for text in piece]
    assert rows == 10 and texts[:4] == ["0", "0", "1", "-1"]


def test_failure_while_writing_leaves_nothing(tmp_path: Path) -> None:
    def failing():
        yield lines("a")
        raise RuntimeError

    for name in ("t", "t.parquet"):
        with pytest.raises(RuntimeError):
            tables.write_batches(tmp_path / name, shards.TEXT, failing())
        assert list(tmp_path.iterdir()) == []


def test_bad_tables_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        tables.read_table(tmp_path / "absent.parquet")
    (tmp_path / "text.parquet").write_text("not parquet")
    with pytest.raises(InputError, match="not a Parquet file"):
        tables.read_table(tmp_path / "text.parquet")
    tables.write_table(tmp_path / "pairs.parquet", pa.table({"source": ["a"], "target": ["b"]}))
    with pytest.raises(InputError, match="no column"):
        tables.read_table(tmp_path / "pairs.parquet", shards.TEXT)
    with pytest.raises(InputError, match="no table train or all"):
        shards.present_splits(tmp_path)
