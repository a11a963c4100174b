"""Filtering many small shards gives the same as filtering one, on every engine."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from plain_cleaning import Seen

from langladder.engine.base import Local, used
from langladder.text.filtering.filtering import FilterConfig, filter_text
from langladder.text.storage import shards
from langladder.text.storage.tables import Document, read_documents, write_documents

GOOD_TEXT = "the king rules a quiet land where every farmer sells bread wine and honey to friends of old"
BAD_TEXT = "click buy cheap pills free bonus login casino win cash offer now subscribe deal spam ads"
GOOD, BAD = GOOD_TEXT.split(), BAD_TEXT.split()


def text(words: list[str], documents: int, seed: int) -> list[Document]:
    """Documents of some lines, some of them copies or nearly copies."""
    random, drawn = Random(seed), list[list[str]]()
    for _ in range(documents):
        lines = [" ".join(random.choices(words, k=random.randrange(3, 30))) for _ in range(random.randrange(1, 5))]
        if drawn and random.random() < 0.3:
            lines = list(random.choice(drawn))
            if random.random() < 0.5:
                lines[-1] += " " + random.choice(words)
        if random.random() < 0.1:
            lines.append("every farmer sells bread")
        drawn.append(lines)
    return [Document(lines, [random.choice([None, -1.5]) for _ in lines]) for lines in drawn]


CORPUS = [*text(GOOD, 50, 1), *text(BAD, 60, 2)]
CORPUS = Random(3).sample(CORPUS, len(CORPUS))
BESIDE = {
    "quality.good": text(GOOD, 60, 4),
    "contamination.sets.own": [*CORPUS[:4], Document(["every farmer sells bread"], [None])],
    "contamination.sets.other": text(GOOD, 5, 5),
    "mixture.others.books": [*text(GOOD, 20, 6), *CORPUS[50:53]],
    "mixture.others.notes": text(BAD, 10, 7),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "quality": {"quality": {"features": 4096, "good_weight": 5.0}},
    "lines": {"duplicates": {"exact": "lines", "near": "documents", "near_threshold": 0.6, "permutations": 64}},
    "near lines": {"duplicates": {"exact": "documents", "near": "lines", "permutations": 32}},
    "contamination": {"contamination": {"ngram_words": 5, "max_documents": 3, "max_lines": 1}},
    "mixture": {"mixture": {"weight": 1.0}},
}
SETTINGS["everything"] = {key: value for item in SETTINGS.values() for key, value in item.items()}
SETTINGS["all by lines"] = SETTINGS["everything"] | SETTINGS["lines"]


def source(folder: Path, key: str) -> dict[str, Any]:
    """One of those beside the corpus, as files."""
    path = folder / f"{key}.txt"
    path.write_text("\n\n".join(item.text for item in BESIDE[key]) + "\n")
    return {"path": str(path), "documents": "blank_line"}


def config_of(folder: Path, name: str) -> FilterConfig:
    settings = {key: dict(value) for key, value in SETTINGS[name].items()}
    if "quality" in settings:
        settings["quality"]["good"] = source(folder, "quality.good")
    if "contamination" in settings:
        settings["contamination"]["sets"] = {
            name: source(folder, f"contamination.sets.{name}") for name in ("own", "other")
        }
    if "mixture" in settings:
        weights = {"books": 2.0, "notes": 0.5}
        others = {
            name: source(folder, f"mixture.others.{name}") | {"weight": weight} for name, weight in weights.items()
        }
        settings["mixture"]["others"] = others
    return FilterConfig.model_validate(settings)


def in_shards(folder: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The corpus in shards of so many bytes."""
    monkeypatch.setattr(shards, "SHARD_BYTES", size)
    monkeypatch.setattr(shards, "ROWS", 16)
    write_documents(folder / "all", CORPUS)
    assert (len(shards.shard_files(folder / "all")) > 5) == (size < 10_000)
    return folder


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name == "all by lines" else []) for name in SETTINGS]
)
def test_parity_of_shards_of_any_size(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tmp_path, name)
    report = filter_text(in_shards(tmp_path / "raw", 10**6, monkeypatch), tmp_path / "whole", config, seed=1)
    left = list(read_documents(tmp_path / "whole" / "all"))
    assert report["went"] or name == "mixture"
    assert report["size"]["left"]["words"] == sum(item.words for item in left)
    if name == "contamination":
        assert report["contamination"]["ngrams_too_common"]
    small = in_shards(tmp_path / "small", 1500, monkeypatch)
    assert filter_text(small, tmp_path / "parts", config, seed=1) == report
    assert list(read_documents(tmp_path / "parts" / "all")) == left
    if name == "all by lines":
        kinds = {"low_quality_document", "duplicate_line", "near_duplicate_document", "contaminated_line"}
        assert kinds <= {*report["went"]}
        with used(Local(2)):
            filter_text(small, tmp_path / "processes", config, seed=1)
        assert files_of(tmp_path / "processes") == files_of(tmp_path / "parts")


def test_the_first_of_duplicates_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rule as `Seen`, which goes through the corpus text by text."""
    duplicates = config_of(tmp_path, "lines").duplicates
    assert duplicates is not None
    seen, kept = Seen(duplicates), list[Document]()
    for document in CORPUS:
        left = document.select([seen.is_duplicate(line, "lines") is None for line in document.lines])
        if left.lines and seen.is_duplicate(left.text, "documents") is None:
            kept.append(left)
    small = in_shards(tmp_path / "small", 1500, monkeypatch)
    filter_text(small, tmp_path / "out", config_of(tmp_path, "lines"), seed=1)
    assert list(read_documents(tmp_path / "out" / "all")) == kept != CORPUS


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
