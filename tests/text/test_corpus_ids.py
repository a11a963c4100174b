"""Token streams: what is written comes back, mapped and not copied, for any number of record batches."""

import tracemalloc
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langladder.ground.artefacts import write_arrays
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import PairStream, TokenStream

IDS = st.lists(st.integers(0, 2**31 - 1), max_size=20)


@given(documents=st.lists(IDS, max_size=12), batch_tokens=st.sampled_from([1, 7, 1 << 20]))
def test_roundtrip_of_any_documents(tmp_path_factory, documents: list[list[int]], batch_tokens: int) -> None:
    path = tmp_path_factory.mktemp("stream") / "train.arrow"
    TokenStream.write(path, (np.array(row) for row in documents), batch_tokens=batch_tokens)
    stream = TokenStream.open(path)
    assert len(stream) == len(documents)
    assert [row.tolist() for row in stream] == documents
    assert stream.ids.dtype == np.int32 and stream.offsets.dtype == np.int64
    assert stream.ids.tolist() == [number for row in documents for number in row]
    assert stream.offsets[0] == 0 and stream.offsets[-1] == len(stream.ids)


@given(pairs=st.lists(st.tuples(IDS, IDS), max_size=8), batch_tokens=st.sampled_from([3, 1 << 20]))
def test_roundtrip_of_pairs(tmp_path_factory, pairs: list[tuple[list[int], list[int]]], batch_tokens: int) -> None:
    path = tmp_path_factory.mktemp("pairs") / "train.arrow"
    PairStream.write(path, ((np.array(a), np.array(b)) for a, b in pairs), batch_tokens=batch_tokens)
    stream = PairStream.open(path)
    assert [(a.tolist(), b.tolist()) for a, b in zip(stream.source, stream.target, strict=True)] == pairs
    if pairs:
        assert stream.pair(len(pairs) - 1)[1].tolist() == pairs[-1][1]


def test_datasets_reads_the_same_rows(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from datasets import Dataset

    TokenStream.write(tmp_path / "train.arrow", [np.array([2, 7, 3]), np.array([2, 3])])
    assert Dataset.from_file(str(tmp_path / "train.arrow"))["ids"][:] == [[2, 7, 3], [2, 3]]


def test_one_batch_is_a_view_of_the_file(tmp_path: Path) -> None:
    TokenStream.write(tmp_path / "t.arrow", [np.arange(1000)])
    stream = TokenStream.open(tmp_path / "t.arrow")
    assert not stream.ids.flags.owndata and not stream.ids.flags.writeable
    assert np.shares_memory(stream.document(0), stream.ids)


def test_same_rows_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        TokenStream.write(tmp_path / name, [np.array([1, 2]), np.array([], dtype=np.int64)])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_bad_streams_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        TokenStream.open(tmp_path / "absent.arrow")
    (tmp_path / "text.arrow").write_text("not arrow")
    with pytest.raises(InputError, match="not an Arrow stream"):
        TokenStream.open(tmp_path / "text.arrow")
    (tmp_path / "empty.arrow").touch()
    with pytest.raises(InputError, match="not an Arrow stream"):
        TokenStream.open(tmp_path / "empty.arrow")
    TokenStream.write(tmp_path / "ids.arrow", [np.array([1])])
    with pytest.raises(InputError, match="no column 'source'"):
        PairStream.open(tmp_path / "ids.arrow")


def test_counts_are_those_of_the_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langladder.text.storage.token_streams.PIECE", 2)
    TokenStream.write(tmp_path / "train.arrow", [np.array([2, 7, 3]), np.array([2, 3])])
    stream = TokenStream.open(tmp_path / "train.arrow")
    assert stream.counts(9).tolist() == [0, 0, 2, 2, 0, 0, 0, 1, 0]
    with pytest.raises(InputError, match="has id 7; the model's vocabulary is 7"):
        stream.counts(7)
    assert stream.beginning(1).counts(8).tolist() == [0, 0, 1, 1, 0, 0, 0, 1]


def test_stored_counts_are_read_and_checked(tmp_path: Path) -> None:
    TokenStream.write(tmp_path / "train.arrow", [np.array([2, 3])])
    write_arrays(tmp_path / "train_counts.safetensors", {"counts": np.array([0, 1, 0, 1])})  # not counted again
    stream = TokenStream.open(tmp_path / "train.arrow")
    assert stream.counts(5).tolist() == [0, 1, 0, 1, 0]
    assert stream.beginning(1).counts(4).tolist() == [0, 0, 1, 1]  # of a part of the file nothing is stored
    write_arrays(tmp_path / "train_counts.safetensors", {"counts": np.array([0, 1])})
    with pytest.raises(InputError, match="not the counts of this stream"):
        stream.counts(5)


def test_counting_a_mapped_stream_copies_none_of_it() -> None:
    ids = np.memmap(NamedTemporaryFile(), np.int32, "w+", shape=64 << 20)  # noqa: SIM115 - 256 MiB, sparse
    tracemalloc.start()
    try:
        counts = TokenStream(ids, np.array([0, len(ids)])).counts(3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert counts.tolist() == [64 << 20, 0, 0]
    assert peak < 64 << 20
