"""Parallel text cleaned in parts: what a plain pass over all pairs gives, whatever the parts and the processes."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from langladder.engine.base import Engine, Serial, used
from langladder.engine.local import Local
from langladder.text import pair_parts, tables
from langladder.text.clean_pairs import clean_parallel
from langladder.text.pair_parts import CleanPairsConfig

WORDS = ["a", "bb", "éc", "她", "จบ", "dd"]
Pairs = list[tuple[str, str]]


def drawn(seed: int, count: int) -> Pairs:
    random = Random(seed)

    def side() -> str:
        return " ".join(random.choices(WORDS, k=random.randrange(5)))

    pairs = [(side(), side()) for _ in range(count)]
    return [*pairs, *random.choices(pairs, k=count // 4)]


def write(folder: Path, splits: dict[str, Pairs], rows: int) -> Path:
    """Tables whose row groups have so many rows."""
    for name, pairs in splits.items():
        pieces = (pairs[start : start + rows] for start in range(0, len(pairs), rows))
        made = (pa.table([list(side) for side in zip(*piece, strict=True)], schema=tables.PAIRS) for piece in pieces)
        tables.write_batches(folder / f"{name}.parquet", tables.PAIRS, made)
    return folder


def plain(splits: dict[str, Pairs]) -> dict[str, Pairs]:
    """Held-out pairs first, no pair twice, no sentence of theirs in train."""
    seen: set[tuple[str, str]] = set()
    left: dict[str, Pairs] = {}
    for name in ("test", "validation", "train"):
        left[name] = []
        for pair in splits[name]:
            if all(pair) and pair not in seen:
                left[name].append(pair)
            seen.add(pair)
    sources, targets = ({pair[side] for name in ("test", "validation") for pair in left[name]} for side in (0, 1))
    left["train"] = [pair for pair in left["train"] if pair[0] not in sources and pair[1] not in targets]
    return left


def read(folder: Path, name: str) -> Pairs:
    table = tables.read_table(folder / f"{name}.parquet", tables.PAIRS)
    return list(zip(*(table.column(side).to_pylist() for side in range(2)), strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_parity_with_a_plain_pass_over_all_pairs(seed: int, tmp_path: Path) -> None:
    splits = {"train": drawn(seed, 900), "validation": drawn(seed + 10, 40), "test": drawn(seed + 20, 30)}
    raw = write(tmp_path / "raw", splits, 150)
    report = clean_parallel(raw, tmp_path / "clean", CleanPairsConfig(), seed=1)
    wanted = plain(splits)
    assert {name: read(tmp_path / "clean", name) for name in splits} == wanted
    dropped = {reason: found["count"] for reason, found in report["cleaning"]["dropped"].items()}
    assert sum(dropped.values()) == sum(map(len, splits.values())) - sum(map(len, wanted.values()))
    assert set(dropped) == {"empty", "duplicate_pair", "source_is_held_out", "target_is_held_out"}


SETTINGS: list[dict[str, Any]] = [{}, {"iid": True}, {"max_length_ratio": 2, "limits": {"min_words": 2}}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("engine", [Serial, lambda: Local(2)], ids=["one process", "two processes"])
def test_parity_of_parts_of_any_size(
    engine: Any, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, config = drawn(7, 1500), CleanPairsConfig.model_validate(settings)
    whole = clean_parallel(write(tmp_path / "raw", {"all": pairs}, 5000), tmp_path / "whole", config, seed=3)
    monkeypatch.setattr(pair_parts, "ROWS", 64)
    made: Engine = engine()
    with used(made):
        raw = write(tmp_path / "cut", {"all": pairs}, 400)
        assert clean_parallel(raw, tmp_path / "parts", config, seed=3) == whole
    for split in tables.SPLITS:
        name = f"{split}.parquet"
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
