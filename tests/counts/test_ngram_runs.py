"""n-grams counted in parts on disk: the same bytes as in memory, the same model; and the memory is kept."""

import os
import signal
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from measured_memory import measured, write_words

from langladder.counts import ngrams
from langladder.counts.ngrams import NgramCounts, count_ngrams, count_on_disk
from langladder.engine.base import Local, Serial, used
from langladder.models.ngrams.kneser_ney import KneserNey, KneserNeyConfig
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS


def lines(seed: int, number: int, vocab_size: int, longest: int = 12) -> np.ndarray:
    """Zipf's words in lines of 0 … `longest` words."""
    rng = np.random.default_rng(seed)
    text: list[int] = []
    for length in rng.integers(0, longest + 1, number):
        text += [BOS, *np.minimum(rng.zipf(1.3, length) + 3, vocab_size - 1).tolist(), EOS]
    return np.array(text, dtype=np.int32)


TEXTS = {
    "random": lines(0, 40, 20),
    "many words": lines(1, 20, 300, 30),
    "without words": np.array([BOS, EOS] * 40, dtype=np.int32),
    "nothing but BOS": np.array([BOS] * 30, dtype=np.int32),
    "one token": np.array([BOS], dtype=np.int32),
    "one word": np.array([BOS, *[4] * 100, EOS], dtype=np.int32),
    "one line, again and again": np.array([BOS, 4, 5, 6, EOS] * 40, dtype=np.int64),
}


def bytes_of(counts: NgramCounts) -> dict[str, tuple[str, bytes]]:
    arrays = {field.name: getattr(counts, field.name) for field in fields(counts)}
    return {name: (str(array.dtype), array.tobytes()) for name, array in arrays.items()}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_parts_give_the_same_bytes(tmp_path: Path, text: str, order: int) -> None:
    ids = TEXTS[text]
    vocab_size = int(ids.max()) + 3
    whole = bytes_of(count_ngrams(ids, order, vocab_size))
    for at_once in (20, 90, 1_000):
        parts = count_on_disk(ids, order, vocab_size, at_once, Serial(), tmp_path)
        assert bytes_of(parts) == whole
    assert not list(tmp_path.iterdir())  # nothing is left


def test_several_processes_give_the_same_bytes(tmp_path: Path) -> None:
    """Also where one of them is killed in the middle."""
    ids, killed = lines(4, 150, 60), []
    whole = bytes_of(count_ngrams(ids, 3, 62))
    with used(Local(2)) as engine:

        def kill(process: int, peak: int) -> None:  # noqa: ARG001
            if not killed:
                killed.append(process)
                os.kill(process, signal.SIGKILL)

        engine.note = kill  # type: ignore[method-assign]
        parts = count_on_disk(ids, 3, 62, 300, engine, tmp_path)
    assert bytes_of(parts) == whole and len(killed) == 1
    assert not list(tmp_path.iterdir())


def test_remote_workers_do_not_share_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = []

    class Elsewhere(Serial):
        is_local = False

    def watched(*arguments: Any) -> NgramCounts:
        engines.append(type(arguments[4]))
        return count_on_disk(*arguments)

    monkeypatch.setattr(ngrams, "count_on_disk", watched)
    monkeypatch.setattr(Serial, "whole", 1 << 14)
    for engine in (Serial(), Elsewhere()):
        with used(engine):
            count_ngrams(lines(4, 150, 60), 3, 62)
    assert engines == [Serial, Serial]


def test_granted_memory_decides_between_memory_and_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = lines(2, 100, 60)
    train, test = TokenStream(ids, np.array([0, len(ids)])), torch.from_numpy(lines(3, 50, 60).astype(np.int64))[None]

    def model() -> KneserNey:
        fitted = KneserNey(KneserNeyConfig(order=4), 60)
        fitted.fit(train)
        return fitted

    in_memory, memory = model(), []

    def watched(*arguments: object) -> NgramCounts:
        memory.append(arguments[3])
        return count_on_disk(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ngrams, "count_on_disk", watched)
    monkeypatch.setattr(Serial, "whole", 1 << 14)
    in_parts = model()
    assert memory == [128]
    for name, array in in_memory.arrays().items():
        assert in_parts.arrays()[name].tobytes() == array.tobytes()
    assert torch.equal(in_parts.log_probs(test), in_memory.log_probs(test))


def test_keys_beyond_32_bits_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    ids, sizes = lines(5, 100, 60), []
    in_memory = count_ngrams(ids, 3, 60)

    def watched(*arguments: Any) -> NgramCounts:
        sizes.append(arguments[3])
        return count_on_disk(*arguments)

    monkeypatch.setattr(ngrams, "count_on_disk", watched)
    monkeypatch.setattr(ngrams, "MOST_NUMBERS", 60 + 2 * len(ids) - 1)  # one fewer than there may be
    in_parts = count_ngrams(ids, 3, 60)
    assert len(sizes) == 1 and sizes[0] <= ngrams.MOST_NUMBERS
    for name, array in vars(in_memory).items():
        assert np.array_equal(getattr(in_parts, name), array)


MEASURED = """
import hashlib, sys
from pathlib import Path
from langladder.counts.ngrams import count_ngrams
from langladder.engine.base import Serial, used
from langladder.text.storage.token_streams import TokenStream
with used(Serial(memory=int(sys.argv[2]) or None)) as engine:
    counts = count_ngrams(TokenStream.open(Path(sys.argv[1])).ids, 3, 30_000)
    peak = engine.peak()
digest = hashlib.sha256()
for array in (counts.levels, counts.words, counts.starts, counts.suffixes, counts.counts):
    digest.update(array)
print(peak, digest.hexdigest())
"""


@pytest.mark.long
def test_memory_is_kept(tmp_path: Path) -> None:
    write_words(words := tmp_path / "train.arrow")
    (little, in_parts), (much, in_memory) = (measured(MEASURED, words, memory) for memory in (400 << 20, 0))
    assert little < 400 << 20 < much
    assert in_parts == in_memory
