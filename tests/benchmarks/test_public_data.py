"""The public sets of the benchmarks: found plain or compressed, fetched whole or not at all, never replaced."""

import gzip
import importlib
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from pipeline import ROOT

ROWS: dict[str, list[dict[str, str]]] = {
    "Salesforce/wikitext": [{"text": " = A = \n"}, {"text": ""}, {"text": " one \n"}],
    "karpathy/tiny_shakespeare": [{"text": "First\n\nSecond\n"}],
    "wikimedia/wikipedia": [{"title": f"T{n}", "text": f"x{n}\ny{n}"} for n in range(3)],
    "sentence-transformers/parallel-sentences-tatoeba": [{"english": "Go.\tNow", "non_english": "Va !"}],
}


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.delenv("LANGLADDER_DATA", raising=False)
    return importlib.import_module


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What was asked of the Hub, which answers from ROWS."""
    calls: list[tuple[object, ...]] = []

    def load_dataset(name: str, config: str | None, **rest: object) -> list[dict[str, str]]:
        calls.append((name, config, rest["split"]))
        return ROWS[name]

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    return calls


def content(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def test_every_set_becomes_plain_text_that_benchmarks_find(tmp_path: Path, benchmarks: Any, asked: list) -> None:
    fetch, public = benchmarks("fetch"), benchmarks("public_data")
    result = CliRunner().invoke(fetch.main, ["--data", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert content(tmp_path / "wikitext-2" / "valid.txt.gz") == " = A = \n\n one \n"
    assert content(tmp_path / "tinyshakespeare" / "input.txt.gz") == "First\n\nSecond\n"
    assert content(tmp_path / "tatoeba-en-fr" / "fra.txt.gz") == "Go. Now\tVa !\n"
    assert content(tmp_path / "wiki-zh" / "wiki_zh.txt.gz").startswith("= T0 =\nx0\ny0\n= T1 =\n")
    assert "CC BY-SA" in (tmp_path / "wikitext-2" / "SOURCE.txt").read_text()
    assert {split for name, _, split in asked if name == "Salesforce/wikitext"} == {"train", "validation", "test"}
    assert public.read(public.find(tmp_path, "wikitext-2/valid.txt")).decode() == " = A = \n\n one \n"


def test_what_is_there_is_left_alone(tmp_path: Path, benchmarks: Any, asked: list) -> None:
    (tmp_path / "wikitext-2").mkdir()
    (tmp_path / "wikitext-2" / "mine.txt").write_text("mine")
    result = CliRunner().invoke(benchmarks("fetch").main, ["--data", str(tmp_path), "wikitext-2"])
    assert result.exit_code == 0 and "left alone" in result.output
    assert [file.name for file in (tmp_path / "wikitext-2").iterdir()] == ["mine.txt"] and not asked


def test_without_a_network_nothing_is_half_there(
    tmp_path: Path, benchmarks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr("datasets.load_dataset", unreachable)
    result = CliRunner().invoke(benchmarks("fetch").main, ["--data", str(tmp_path), "wiki-en"])
    assert result.exit_code == 1 and "network" in result.output and "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_missing_set_is_said_in_a_sentence(tmp_path: Path, benchmarks: Any) -> None:
    with pytest.raises(click.ClickException, match=r"docs/data\.md"):
        benchmarks("public_data").find(tmp_path, "wordsim")
