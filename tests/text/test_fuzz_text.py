"""Fuzz: corpora, vocabularies and token files that were valid once are read, or refused in a sentence."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langladder.ground.errors import InputError
from langladder.text.labelled.label_files import LabelledSource, read_labels
from langladder.text.labelled.tag_files import TagColumns, TaggedSource, read_tags
from langladder.text.read.files import TextSource, read_text
from langladder.text.read.pairs import ParallelSource, read_parallel
from langladder.text.storage.shards import TEXT
from langladder.text.storage.tables import read_table
from langladder.text.storage.token_streams import PairStream, TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus
from tests.hostile import fuzzed, read, strange_bytes, strange_json, swelling

ROW = {"text": "the cat sleeps", "source": "a", "target": "b", "id": 7}


def files(folder: Path) -> dict[str, bytes]:
    """One valid file of each format, by name."""
    table = pa.table({"text": ["the cat", "sleeps"], "source": ["a", "b"], "target": ["c", "d"]})
    pq.write_table(table, folder / "valid.parquet")
    text = b"the cat\tla kato\nsleeps\tdormas\r\n"
    row = json.dumps(ROW).encode() + b"\n"
    return {
        "x.txt": text,
        "x.txt.gz": gzip.compress(text, 1),
        "x.jsonl": row * 2,
        "x.parquet": (folder / "valid.parquet").read_bytes(),
    }


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz", "x.jsonl", "x.parquet"])
@given(data=st.data())
@fuzzed
def test_fuzz_corpus_files(tmp_path: Path, name: str, data: st.DataObject) -> None:
    raw = files(tmp_path)[name]
    path = tmp_path / name
    strange = strange_json(ROW) if name == "x.jsonl" and data.draw(st.booleans()) else strange_bytes(raw)
    path.write_bytes(data.draw(strange))
    read(read_text, TextSource(path=str(path)), tmp_path / "raw")
    layout = "fields" if name in ("x.jsonl", "x.parquet") else "columns"
    read(read_parallel, ParallelSource(path=str(path), layout=layout), tmp_path / "pairs")


@pytest.mark.parametrize(
    "line",
    [
        '{"text": "a", "id": ' + "9" * 10_000 + "}",
        '{"text": "\\ud800"}',
        '{"text": ' + "[" * 100_000,
        '{"text": NaN}',
        '{"text": "a\\u0000b"}',
        '{"text": null}',
        '"text"',
    ],
)
def test_rows_that_are_no_text_are_reported_by_their_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "good"}\n' + line + "\n")
    if "u0000" in line:
        read(read_text, TextSource(path=str(path)), tmp_path / "raw")
        return
    with pytest.raises(InputError, match=r"x\.jsonl:2: "):
        read_text(TextSource(path=str(path)), tmp_path / "raw")


def test_a_gzip_that_swells_takes_no_more_than_a_line(tmp_path: Path) -> None:
    path = tmp_path / "x.txt.gz"
    path.write_bytes(swelling(b"good\n", b"a"))
    assert read(read_text, TextSource(path=str(path)), tmp_path / "raw") is None


@given(data=st.data())
@fuzzed
def test_fuzz_token_stream(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "t.arrow"
    if not path.exists():
        TokenStream.write(tmp_path / "valid.arrow", [np.array([2, 4, 3]), np.array([2, 5, 6, 3])])
        PairStream.write(tmp_path / "pairs.arrow", [(np.array([4, 3]), np.array([2, 5, 3]))] * 2)
    for kind, valid in ((TokenStream, "valid.arrow"), (PairStream, "pairs.arrow")):
        path.write_bytes(data.draw(strange_bytes((tmp_path / valid).read_bytes())))
        read(whole, kind, path)


def whole(kind: Any, path: Path) -> None:
    stream = kind.open(path)
    for rows in [stream] if kind is TokenStream else [stream.source, stream.target]:
        assert 0 <= rows.offsets[0] <= rows.offsets[-1] == len(rows.ids) and (np.diff(rows.offsets) >= 0).all()
        assert sum(len(row) for row in rows) == len(rows.ids)


@given(data=st.data())
@fuzzed
def test_fuzz_tables(tmp_path: Path, data: st.DataObject) -> None:
    table = pa.table([[0, 1], ["a", "b"], pa.array([None, None], pa.float64())], schema=TEXT)
    pq.write_table(table, tmp_path / "valid.parquet")
    path = tmp_path / "x.parquet"
    path.write_bytes(data.draw(strange_bytes((tmp_path / "valid.parquet").read_bytes())))
    read(read_table, path, TEXT)


@given(data=st.data())
@fuzzed
def test_fuzz_vocabulary(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "vocabulary.json"
    path.write_bytes(data.draw(strange_json({"words": ["a", "b"], "counts": [3, 1]})))
    read(Vocabulary.load, path)


@pytest.mark.parametrize("bounds", [[0, 9], [1, 3], [0, 2, 1, 3], [], None])
def test_documents_that_are_not_the_streams_are_refused(tmp_path: Path, bounds: list[int] | None) -> None:
    from langladder.ground.artefacts import write_arrays

    Vocabulary(["a", "b"], np.array([2, 1])).save(tmp_path / "vocabulary.json")
    TokenStream.write(tmp_path / "train.arrow", [np.array([0, 1, 0])])
    other = {"other": np.array([0, 3])} if bounds is None else {"bounds": np.array(bounds, dtype=np.int64)}
    write_arrays(tmp_path / "documents.safetensors", other)
    with pytest.raises(InputError, match=r"documents\.safetensors"):
        WordCorpus.open(tmp_path)


LABELLED = {
    "x.tsv": (b"text\tlabel\ngood\t1\nbad\t0\n", {}),
    "x.csv": (b'text,label\n"good, ""so""",1\nbad,0\n', {}),
    "x.jsonl": (b'{"text": "good", "label": 1}\n{"text": "bad", "label": "0"}\n', {}),
    "x.txt": (b"(4 (2 a) (4 (3 lovely) (2 film)))\n(0 (2 so)\n  (0 dull))\n", {"layout": "trees"}),
    "x.conllu": (b"# label = a\n1\tgo\t_\tVERB\t_\t_\t0\troot\t_\t_\n2\ton\t_\tADV\t_\t_\t1\tx\t_\t_\n", {}),
}
TAGGED = b"Peter B-PER 2\nBlackburn I-PER 3\nsings O 0\n\nhe O 0\n"


@pytest.mark.parametrize("name", LABELLED)
@given(data=st.data())
@fuzzed
def test_fuzz_labelled_files(tmp_path: Path, name: str, data: st.DataObject) -> None:
    raw, settings = LABELLED[name]
    path = tmp_path / name
    row = {"text": "good", "label": 1}
    strange = strange_json(row) if name == "x.jsonl" and data.draw(st.booleans()) else strange_bytes(raw)
    path.write_bytes(data.draw(strange))
    read(read_labels, LabelledSource.model_validate({"path": str(path), **settings}), tmp_path / "raw")


@given(data=st.data())
@fuzzed
def test_fuzz_tagged_files(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(data.draw(strange_bytes(TAGGED)))
    columns = TagColumns(head=data.draw(st.sampled_from([None, 2])))
    read(read_tags, TaggedSource(path=str(path), columns=columns), tmp_path / "raw")
