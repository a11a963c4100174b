"""Fuzz: question, similarity, WEAT and group files that were valid once are read, or refused in a sentence."""

import json
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from claims.language.agreement import read_pairs
from langladder.evaluation.analogy import read_analogies
from langladder.evaluation.bias import read_weat
from langladder.evaluation.similarity import read_similarity
from langladder.faces.cli.vectors import read_groups
from tests.hostile import fuzzed, read, strange_bytes, strange_json

VALID = b": gram1\na b c d\n# note\nking\tqueen\t7.5\nX: a b\nY: c d\nA: e f\nB: g h\n"
PAIR = b'{"good": "a b", "bad": "a c", "clauses": 1}\n'


@given(data=st.data())
@fuzzed
def test_fuzz_question_files(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / data.draw(st.sampled_from(["q.txt", "q.txt.gz"]))
    path.write_bytes(data.draw(strange_bytes(data.draw(st.sampled_from([VALID, VALID[8:], VALID[16:], VALID[30:]])))))
    for reader in (read_analogies, read_similarity, read_weat, read_groups):
        read(reader, path)


@given(data=st.data())
@fuzzed
def test_fuzz_weat_json(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(data.draw(strange_json({"flowers": ["rose"], "insects": ["ant"], "pleasant_5": ["good"]})))
    read(read_weat, path)


@given(data=st.data())
@example(data=None)
@fuzzed
def test_fuzz_agreement_pairs(tmp_path: Path, data: st.DataObject | None) -> None:
    path = tmp_path / "pairs.jsonl"
    first = b"" if data is None else data.draw(strange_json(json.loads(PAIR))) + b"\n"
    path.write_bytes(first + PAIR)
    result = read(read_pairs, path, 10)
    assert data is not None or result == {1: [("a b", "a c")]}
