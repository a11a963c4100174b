"""From text files to counts on every engine: the same bytes, also where a worker is killed in the middle."""

import hashlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from langladder.counts.cooccurrence import CooccurrenceConfig, DocumentCounting, store_counts
from langladder.engine.base import Engine, Local, Serial, used
from langladder.engine.settings import DaskConfig, open_engine
from langladder.text.clean.clean_text import CleanConfig, clean_text
from langladder.text.read import files
from langladder.text.read.files import TextSource, read_text
from langladder.text.storage import shards
from langladder.text.tokenize.encoding import encode_corpus, training_text
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from langladder.text.words.vocabulary import VocabularyConfig, WordCorpus, encode_words

LINES = [
    "The old king of a far land sells bread.",
    "她喜欢看书。《红楼梦》是名著",
    "يبيع الملك العجوز الخبز والعسل",
    "เธออ่านหนังสือ ที่นี่",
]


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shards, "SHARD_BYTES", 3_000)
    monkeypatch.setattr(files, "PART_BYTES", 5_000)
    lines = [f"{LINES[row % 4]}  {row % 97} {'word' * (row % 5)}{row}" for row in range(400)] + LINES * 5
    blank = "\n\n"  # between documents of three lines
    (tmp_path / "raw").mkdir()
    text = "".join(f"{line}{blank[row % 3 < 2 :]}" for row, line in enumerate(lines))
    (tmp_path / "raw" / "large.txt").write_text(text)
    (tmp_path / "raw" / "small.txt").write_text("\n".join(LINES))
    return tmp_path / "raw"


def chain(raw: Path, out: Path, engine: Engine) -> dict[str, str]:
    """Read, clean, tokenize, number the words and count; the hash of every file."""
    config = CleanConfig.model_validate({"duplicates": {"exact": "lines", "near": "documents"}})
    with used(engine):
        read_text(TextSource(path=str(raw), documents="blank_line"), out / "raw")
        assert len(shards.shard_files(out / "raw" / "all")) > 8
        clean_text(out / "raw", out / "clean", config, seed=1)
        for folder in ("tokens", "words", "counts"):
            (out / folder).mkdir()
        tokens = out / "tokens"
        tokenizer = train_tokenizer(training_text(out / "clean"), TokenizerConfig(vocab_size=400))
        encode_corpus(out / "clean", tokenizer, tokens)
        encode_words(out / "clean", VocabularyConfig(min_count=1), out / "words")
        countings = [
            CooccurrenceConfig(window=4),
            CooccurrenceConfig(window=3, weighting="inverse_distance", sides="left"),
            DocumentCounting(),
        ]
        store_counts(out / "counts", WordCorpus.open(out / "words"), countings)
    files = sorted(path for path in out.rglob("*") if path.is_file())
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def deadly(engine: Engine) -> list[int]:
    """Let the engine kill its first worker that has a result; the list says whom."""
    killed: list[int] = []
    note = engine.note

    def kill(process: int, peak: int) -> None:
        note(process, peak)
        if not killed:
            killed.append(process)
            os.kill(process, signal.SIGKILL)

    engine.note = kill  # type: ignore[method-assign]
    return killed


def dask(workers: int) -> Engine:
    pytest.importorskip("distributed", reason="pip install 'langladder[cluster]'")
    return open_engine(DaskConfig(kind="dask", workers=workers), None, 1)


@pytest.mark.parametrize(
    ("engine", "kills"),
    [
        pytest.param(lambda: Local(2), True, id="two processes, one killed"),
        pytest.param(lambda: dask(2), True, id="Dask with two workers, one killed", marks=pytest.mark.long),
        pytest.param(lambda: Local(2), False, id="two processes", marks=pytest.mark.long),
        pytest.param(lambda: Local(4), False, id="four processes", marks=pytest.mark.long),
        pytest.param(lambda: dask(1), False, id="Dask with one worker", marks=pytest.mark.long),
        pytest.param(lambda: dask(4), False, id="Dask with four workers", marks=pytest.mark.long),
    ],
)
def test_every_engine_gives_the_same_bytes(
    raw: Path, tmp_path: Path, engine: Callable[[], Engine], kills: bool
) -> None:
    alone = chain(raw, tmp_path / "alone", Serial())
    assert len(alone) > 15
    many = engine()
    killed = deadly(many) if kills else []
    assert chain(raw, tmp_path / "many", many) == alone
    assert len(killed) == kills


@pytest.mark.long
def test_a_cluster_by_its_address_whose_workers_join_late_gives_the_same_bytes(raw: Path, tmp_path: Path) -> None:
    alone = chain(raw, tmp_path / "alone", Serial())
    with used(dask(2)) as started:
        client = started.client  # type: ignore[attr-defined]
        engine = open_engine(DaskConfig(kind="dask", address=client.scheduler.address), None, 1)
        note = engine.note

        def grow(process: int, peak: int) -> None:
            """Two more workers after the first result."""
            engine.note = note  # type: ignore[method-assign]
            client.cluster.scale(4)
            client.wait_for_workers(4, timeout=60)
            note(process, peak)

        engine.note = grow  # type: ignore[method-assign]
        assert chain(raw, tmp_path / "many", engine) == alone
        assert engine.workers == 4
