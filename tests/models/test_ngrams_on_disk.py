"""n-gram models estimated piece by piece through files: the bytes of the way in memory; and the memory is kept."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from faults import largest_file
from measured_memory import measured, write_words

from langladder.counts.ngram_pieces import BYTES_IN_A_PIECE, Pieces, pieces_of
from langladder.counts.ngrams import count_ngrams
from langladder.engine.base import Serial
from langladder.ground.errors import InputError
from langladder.models.ngrams.absolute_discounting import AbsoluteDiscounting
from langladder.models.ngrams.add_k import AddK
from langladder.models.ngrams.katz import Katz
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.ngrams.maximum_likelihood import MaximumLikelihood
from langladder.models.ngrams.ngram import NgramModel
from langladder.models.ngrams.stupid_backoff import StupidBackoff
from langladder.models.ngrams.witten_bell import WittenBell
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS

V = 60
ROOM = 102 * BYTES_IN_A_PIECE  # pieces of 102 n-grams, parts of 408
METHODS: list[tuple[type[NgramModel], dict[str, object]]] = [
    (KneserNey, {}),
    (KneserNey, {"modified": False}),
    (AbsoluteDiscounting, {}),
    (WittenBell, {}),
    (Katz, {}),
    (StupidBackoff, {}),
    (AddK, {"k": 0.1}),
    (MaximumLikelihood, {}),
]
PRUNED: list[dict[str, object]] = [
    {},
    {"prune": [0, 1]},
    {"prune_entropy": 1e-4},
    {"prune": [1], "prune_entropy": 1e-5},
]
CASES = [
    pytest.param(
        cls,
        settings | extra,
        id=f"{cls.__name__}-{settings | extra}",
        marks=[] if cls is KneserNey and not settings | extra else [pytest.mark.long],
    )
    for cls, settings in METHODS
    for extra in (PRUNED if "prune" in cls.Config.model_fields else [{}])
]


def text(lines: int = 500) -> TokenStream:
    """Zipf's words in lines of 0 … 12 words."""
    rng, ids = np.random.default_rng(0), []
    for length in rng.integers(0, 13, lines):
        ids += [BOS, *np.minimum(rng.zipf(1.3, length) + 3, V - 1).tolist(), EOS]
    return TokenStream(np.array(ids, dtype=np.int32), np.array([0, len(ids)]))


def saved(folder: Path, cls: type[NgramModel], settings: dict[str, object]) -> bytes:
    model = cls(cls.Config.model_validate({"order": 4} | settings), V)
    model.fit(text())
    model.save(folder)
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize(("cls", "settings"), CASES)
def test_pieces_give_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cls: type[NgramModel], settings: dict[str, object]
) -> None:
    in_memory = saved(tmp_path / "memory", cls, settings)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(Serial, "whole", ROOM)
    assert saved(tmp_path / "disk", cls, settings) == in_memory
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "memory"]  # nothing else is left


def test_pieces_keep_to_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    ngrams = count_ngrams(text().ids, 4, V)
    with pieces_of(ngrams) as pieces:
        assert pieces.folder is None and len(pieces.cuts(4)) == 1
    monkeypatch.setattr(Serial, "whole", ROOM)
    with pieces_of(ngrams) as pieces:
        assert pieces.folder is not None and pieces.at_once == 102
        for order in (2, 3, 4):
            cuts, level = pieces.cuts(order), ngrams.level(order)
            assert len(cuts) > 3
            assert [cut.ngrams.start for cut in cuts] == [level.start, *(cut.ngrams.stop for cut in cuts[:-1])]
            assert [cut.histories.stop for cut in cuts][-1] == level.start and cuts[-1].ngrams.stop == level.stop
            sizes = [(cut.histories.stop - cut.histories.start, cut.ngrams.stop - cut.ngrams.start) for cut in cuts]
            assert all(histories == 1 or result <= 102 for histories, result in sizes)


@pytest.mark.parametrize("size", [1, 407, 408, 409, 5_000])
def test_lookups_and_counts_in_parts_equal_those_in_memory(tmp_path: Path, size: int) -> None:
    """Look-ups and counts, in pieces of their own and in parts of another size."""
    rng = np.random.default_rng(size)
    numbers, values = rng.integers(0, size, 3_000), rng.random(size)
    pieces = Pieces(count_ngrams(text(1).ids, 1, V), 102, tmp_path)
    rows = [numbers[first : first + 90] for first in range(0, 3_000, 90)]
    assert np.array_equal(np.concatenate(list(pieces.take(values, iter(rows)))), values[numbers])
    assert np.array_equal(pieces.count(size, iter(rows)), np.bincount(numbers, minlength=size))
    assert not list(tmp_path.iterdir())


MEASURED = """
import hashlib, sys
from pathlib import Path
from langladder.engine.base import Serial, used
from langladder.models.ngrams.kneser_ney import KneserNey, KneserNeyConfig
from langladder.text.storage.token_streams import TokenStream
with used(Serial(memory=int(sys.argv[2]) or None)) as engine:
    model = KneserNey(KneserNeyConfig(order=3, prune=[0, 1]), 30_000)
    model.fit(TokenStream.open(Path(sys.argv[1]) / "train.arrow"))
    model.save(Path(sys.argv[1]) / "model")
    peak = engine.peak()
print(peak, hashlib.sha256((Path(sys.argv[1]) / "model" / "model.safetensors").read_bytes()).hexdigest())
"""


@pytest.mark.long
def test_memory_is_kept(tmp_path: Path) -> None:
    write_words(tmp_path / "train.arrow")
    (little, in_pieces), (much, in_memory) = (measured(MEASURED, tmp_path, memory) for memory in (600 << 20, 0))
    assert little < 600 << 20 < much
    assert in_pieces == in_memory


def test_a_full_disk_raises_a_named_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Serial, "whole", ROOM)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with largest_file(10_000), pytest.raises(InputError, match=r"larger than the file system or the limit .* TMPDIR"):
        count_ngrams(text().ids, 3, V)
    assert not list(tmp_path.iterdir())
