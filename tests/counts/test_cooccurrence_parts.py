"""Counting with little memory: parts on disk, the same bytes, whoever counts them; and the memory is kept."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from langladder.counts import cooccurrence
from langladder.counts.cooccurrence import (
    AnyCounting,
    CooccurrenceConfig,
    DocumentCounting,
    Part,
    Rows,
    Text,
    count_in_parts,
    store_counts,
)
from langladder.counts.stored import file_name
from langladder.engine.base import Engine, Local, Serial, used
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus

COUNTINGS: list[AnyCounting] = [
    CooccurrenceConfig(window=3),
    CooccurrenceConfig(window=10, weighting="inverse_distance"),
    CooccurrenceConfig(window=20, weighting="inverse_distance", sides="left"),
    DocumentCounting(),
    DocumentCounting(documents="lines"),
]
V = 300


def words(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Zipf's words in lines of twenty."""
    ids = np.minimum(np.random.default_rng(0).zipf(1.3, number) - 1, V - 1).astype(np.int32)
    return ids, np.arange(0, number + 1, 20)


def corpus(folder: Path) -> WordCorpus:
    ids, offsets = words(20_000)
    TokenStream.write(folder / "train.arrow", [ids[i : i + 20] for i in offsets[:-1]])
    stream = TokenStream.open(folder / "train.arrow")
    vocabulary = Vocabulary([f"w{word}" for word in range(V)], np.bincount(ids, minlength=V))
    return WordCorpus(stream, vocabulary, np.arange(0, 20_001, 400), path=folder / "train.arrow")


def stored(folder: Path, text: WordCorpus) -> list[bytes]:
    folder.mkdir()
    store_counts(folder, text, COUNTINGS)
    assert len(list(folder.iterdir())) == len(COUNTINGS)  # nothing else is left
    return [(folder / file_name(counting)).read_bytes() for counting in COUNTINGS]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_parts_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    text = corpus(tmp_path)
    whole = stored(tmp_path / "whole", text)
    monkeypatch.setattr(cooccurrence, "PAIRS_AT_ONCE", 30_000)
    monkeypatch.setattr(cooccurrence, "BYTES_A_DOCUMENT_WORD", 1 << 13)
    monkeypatch.setattr(cooccurrence, "BYTES_AN_ENTRY", 1 << 12)
    engine: Engine = Serial(memory=1 << 20) if workers == 1 else Local(workers)
    if workers > 1:
        monkeypatch.setattr(Local, "share", 1 << 25)
    with used(engine):
        assert stored(tmp_path / "parts", text) == whole


def test_a_word_more_often_than_32_bits_hold(tmp_path: Path) -> None:
    text = Text(np.zeros(2, np.int32), np.array([0, 2]))
    result = {0: 1 << 40, 1: 3}  # in the first and in the second part

    def count(_: Text, part: Part) -> Rows:
        return Rows(np.array([0, 1]), np.zeros(1, np.int32), np.array([result[part.number]]))

    assert count_in_parts(text, count, (1, 5), 1, 1, Serial(), tmp_path).toarray()[0].tolist() == [
        (1 << 40) + 3,
        0,
        0,
        0,
        0,
    ]


def test_distances_have_whole_units() -> None:
    config = CooccurrenceConfig(window=10, weighting="inverse_distance")
    assert config.scale == 2520 and config.units().tolist() == [2520, 1260, 840, 630, 504, 420, 360, 315, 280, 252]
    long = CooccurrenceConfig(window=1000, weighting="inverse_distance")
    np.testing.assert_allclose(long.units() / long.scale, 1 / np.arange(1, 1001), rtol=2e-7)


def test_documents_without_words_have_empty_columns() -> None:
    stream = TokenStream(np.array([1, 1, 0], np.int32), np.array([0, 0, 2, 2, 3, 3]))
    counts = DocumentCounting(documents="lines").count(WordCorpus(stream, Vocabulary(["a", "b"], np.array([1, 2]))))
    assert counts.toarray().tolist() == [[0, 0, 0, 1, 0], [0, 2, 0, 0, 0]]


MEASURED = """
import sys
from pathlib import Path
import numpy as np
from langladder.counts.cooccurrence import CooccurrenceConfig
from langladder.counts.cooccurrence import store_counts
from langladder.engine.base import Serial, process_peak, used
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary
from langladder.text.words.vocabulary import WordCorpus
folder, memory = Path(sys.argv[1]), int(sys.argv[2])
stream = TokenStream.open(folder / "train.arrow")
names = Vocabulary([f"w{i}" for i in range(30_000)], np.ones(30_000, np.int64))
with used(Serial(memory=memory or None)) as engine:
    text = WordCorpus(stream, names, path=folder / "train.arrow")
    (folder / sys.argv[2]).mkdir()
    store_counts(folder / sys.argv[2], text, [CooccurrenceConfig(window=10)])
    print(engine.peak())
"""


@pytest.mark.long
def test_memory_is_kept(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ids = (30_000 * rng.random(5_000_000) ** 3).astype(np.int32)
    TokenStream.write(tmp_path / "train.arrow", [ids[i : i + 50] for i in range(0, len(ids), 50)])

    def peak(memory: int) -> int:
        command = [sys.executable, "-c", MEASURED, str(tmp_path), str(memory)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    little, much = peak(500 << 20), peak(0)
    assert little < 500 << 20 < much
    name = file_name(CooccurrenceConfig(window=10))
    assert (tmp_path / str(500 << 20) / name).read_bytes() == (tmp_path / "0" / name).read_bytes()
