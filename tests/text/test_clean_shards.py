"""Shards cleaned by themselves give what the whole corpus gives line by line, wherever and in whatever order."""

from pathlib import Path
from random import Random
from typing import Any

import ftfy
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_cleaning import Row, plain

from langladder.engine.base import Engine, Local, Serial, used
from langladder.ground.sorted_runs import HASH, count_distinct, distinct, mapped, repeats, save, sorted_run
from langladder.text.clean.clean_text import CleanConfig, clean_text
from langladder.text.clean.steps import StepsConfig, build_steps
from langladder.text.storage import shards, tables

ENGLISH = [
    "the",
    "old",
    "king",
    "of",
    "a",
    "far",
    "land",
    "sells",
    "bread",
    "and",
    "honey",
    "to",
    "every",
    "quiet",
    "friend",
    ",",
    "naïve",
    "café",
    "–",
    "“",
    "so",
    "”",
    "it's",
    "84",
]
CHINESE = [*"围棋是一种策略性棋类游戏使用方形格状棋盘及黑白二色圆形棋子进行对弈。，", "GPT", " ", "Ａ"]
ARABIC = ["كان", "الملك", "العجوز", "يبيع", "الخبز", "والعسل", "لكل", "صديق", "هادئ", "في", "أرض", "بعيدة", "،", "12"]
STRANGE = [
    "a  b",
    " edge",
    "tab\there",
    "caf\u00c3\u00a9",
    "e\u0301",
    "\x07",
    "\u3000",
    "x\u00a0y",
    "<b>bold</b>",
    "a\x1cb",
]


def text(kind: str, documents: int, seed: int) -> list[Row]:
    """Documents of some lines, some of them copies, nearly copies, or strange."""
    random, rows, drawn = Random(seed), list[Row](), list[list[str]]()
    words, between = {"english": (ENGLISH, " "), "chinese": (CHINESE, ""), "arabic": (ARABIC, " ")}[kind]
    for number in range(documents):
        lines = [between.join(random.choices(words, k=random.randrange(1, 30))) for _ in range(random.randrange(1, 5))]
        if random.random() < 0.2:
            lines.append(random.choice(STRANGE))
        if drawn and random.random() < 0.2:
            lines = list(random.choice(drawn))
            if random.random() < 0.5:
                lines[-1] += between + random.choice(words)
        drawn.append(lines)
        rows += [(number, line, random.choice([None, -1.5])) for line in lines]
    return rows


def written(folder: Path, raw: dict[str, list[Row]]) -> Path:
    for split, rows in raw.items():
        columns = [[row[column] for row in rows] for column in range(3)]
        tables.write_table(folder / split, pa.table(columns, schema=shards.TEXT))
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_BYTES", 1500)
    monkeypatch.setattr(shards, "ROWS", 16)


SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "iid": {"iid": True},
    "lines": {"duplicates": {"exact": "lines", "near": "documents", "near_threshold": 0.6}},
    "near lines": {"duplicates": {"exact": "documents", "near": "lines", "permutations": 32}},
    "near": {"duplicates": {"exact": "documents", "near": "documents", "near_threshold": 0.7}, "leakage_words": 3},
    "everything": {
        "steps": {"html": True, "url": "", "contractions": "expand", "lowercase": True, "digits": "zero"}
        | {"punctuation": "isolate", "unicode": "NFKC"},
        "limits": {"min_words": 3, "max_words": 20, "min_characters": 8, "max_characters": 90},
        "split": {"by": "words"},
    },
    "nothing": {
        "steps": {
            "fix_encoding": False,
            "unicode": "none",
            "control_characters": False,
            "invisible": False,
            "whitespace": False,
        },
        "duplicates": {"exact": "keep"},
    },
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [*(("english", name) for name in SETTINGS), ("chinese", "default"), ("chinese", "near"), ("arabic", "default")],
)
def test_shards_give_what_lines_give(tmp_path: Path, kind: str, name: str) -> None:
    config = CleanConfig.model_validate(SETTINGS[name])
    raws = {
        "cut": {"all": text(kind, 70, 1)},
        "own": {"train": text(kind, 40, 2), "validation": text(kind, 9, 2), "test": text(kind, 9, 3)},
    }
    for case, raw in raws.items():
        folder = written(tmp_path / case / "raw", raw)
        assert len(shards.shard_files(folder / next(iter(raw)))) > 2
        report: dict[str, Any] = dict(clean_text(folder, tmp_path / case / "clean", config, seed=1))
        rows, expected = plain(raw, config, seed=1)
        assert set(report.pop("conventions")) == {"text"}
        assert report == expected
        for split in shards.SPLITS:
            table = tables.read_table(tmp_path / case / "clean" / split, shards.TEXT).to_pylist()
            assert [tuple(row.values()) for row in table] == rows[split]
        # workers end shards and batches where one writer of the whole table does
        result = files_of(tmp_path / case / "clean")
        assert b'"words": ' in result.pop("conventions.json")
        assert files_of(written(tmp_path / case / "whole", rows)) == result


@pytest.mark.long
def test_no_engine_and_no_number_of_workers_changes_a_byte(tmp_path: Path) -> None:
    config = CleanConfig.model_validate(SETTINGS["lines"])
    folder = written(tmp_path / "raw", {"all": [*text("english", 100, 1), *text("chinese", 40, 2)]})
    engines: list[Engine] = [Serial(), Local(2), Local(4)]
    outs = []
    for number, engine in enumerate(engines):
        with used(engine):
            report = clean_text(folder, tmp_path / str(number), config, seed=1)
        outs.append((report, files_of(tmp_path / str(number))))
    assert all(out == outs[0] for out in outs[1:])


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("aZ .,ÂÃâ€œ™Ÿ\x92é–’вЂГўВβ€ā°×²√±à¼ş¤Øط§Œœ│█我ا"), max_size=5), st.booleans())
def test_what_ftfy_repairs_is_repaired(line: str, broken: bool) -> None:
    if broken:
        line = line.encode().decode("cp1252", errors="replace")
    (step,) = (step for name, step in build_steps(StepsConfig()) if name == "fix_encoding")
    config = {"unescape_html": False, "remove_terminal_escapes": False, "fix_latin_ligatures": False}
    config |= {"fix_character_width": False, "uncurl_quotes": False, "fix_line_breaks": False}
    config |= {"remove_control_chars": False, "normalization": None}
    assert step(line) == ftfy.fix_text(line, ftfy.TextFixerConfig(**config))


@pytest.mark.parametrize("room", [10**9, 5000])
def test_hashes_on_disk_are_compared_in_any_room(tmp_path: Path, room: int) -> None:
    random = np.random.default_rng(1)
    values = [random.integers(0, 500, size).astype(np.uint64) for size in (300, 0, 900, 1)]
    files, runs, numbers = ([tmp_path / f"{kind}{part}" for part in range(4)] for kind in ("hash", "run", "number"))
    for part, some in enumerate(values):
        spread = np.stack([some * np.uint64(0x9E3779B97F4A7C15), some], axis=1).view(HASH).ravel()
        save(files[part], np.sort(spread))
        save(runs[part], sorted_run(spread))
        save(numbers[part], np.sort(some << np.uint64(50)))
    flat = np.concatenate(values).tolist()
    assert count_distinct(files, room) == len(set(flat))
    distinct(files, tmp_path / "distinct", room)
    everything = {value for file in files for value in mapped(file).tolist()}
    assert mapped(tmp_path / "distinct").tolist() == sorted(everything)
    distinct(numbers, tmp_path / "numbers", room)
    assert (mapped(tmp_path / "numbers") >> np.uint64(50)).tolist() == sorted(set(flat))
    assert repeats(runs, room).tolist() == [value in flat[:at] for at, value in enumerate(flat)]
