"""The public sets of the benchmarks: found plain or compressed, fetched whole or not at all, never replaced."""

import gzip
import hashlib
import importlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from pipeline import ROOT

ROWS: dict[str, list[dict[str, str]]] = {
    "Salesforce/wikitext": [{"text": " = A = \n"}, {"text": ""}, {"text": " one \n"}],
    "karpathy/tiny_shakespeare": [{"text": "First\n\nSec"}, {"text": "ond\n"}],
    "wikimedia/wikipedia": [{"title": f"T{n}", "text": f"x{n}\ny{n}"} for n in range(3)],
    "sentence-transformers/parallel-sentences-tatoeba": [{"english": "Go.\tNow", "non_english": "Va !"}],
}


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.delenv("LANGLADDER_DATA", raising=False)
    return importlib.import_module


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What was asked of the Hub, which answers from ROWS."""
    calls: list[tuple[object, ...]] = []

    def load_dataset(name: str, *_: object, **rest: object) -> list[dict[str, str]]:
        calls.append((name, rest["revision"], rest["split"]))
        return ROWS[name]

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    return calls


def content(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def with_checksum(fetch: Any, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Tiny Shakespeare, whose checksum is known, is this text."""
    known, digest = fetch.SETS["tinyshakespeare"], hashlib.sha256(text.encode()).hexdigest()
    parts = tuple(replace(part, sha256=digest) for part in known.parts)
    monkeypatch.setitem(fetch.SETS, "tinyshakespeare", replace(known, parts=parts))


def test_every_set_becomes_plain_text_that_benchmarks_find(
    tmp_path: Path, benchmarks: Any, requests: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, public = benchmarks("fetch"), benchmarks("public_data")
    with_checksum(fetch, monkeypatch, "First\n\nSecond\n")
    result = CliRunner().invoke(fetch.main, ["--data", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert content(tmp_path / "wikitext-2" / "valid.txt.gz") == " = A = \n\n one \n"
    assert content(tmp_path / "tinyshakespeare" / "input.txt.gz") == "First\n\nSecond\n"
    assert content(tmp_path / "tatoeba-en-fr" / "fra.txt.gz") == "Go. Now\tVa !\n"
    assert content(tmp_path / "wiki-zh" / "wiki_zh.txt.gz").startswith("= T0 =\nx0\ny0\n= T1 =\n")
    assert "CC BY-SA" in (tmp_path / "wikitext-2" / "SOURCE.txt").read_text()
    assert {split for name, _, split in requests if name == "Salesforce/wikitext"} == {"train", "validation", "test"}
    commits = {revision for name, revision, _ in requests if name != "karpathy/tiny_shakespeare" and revision}
    assert len(commits) == 2 and all(re.fullmatch(r"[0-9a-f]{40}", commit) for commit in commits)
    digest = hashlib.sha256(content(tmp_path / "tatoeba-en-fr" / "fra.txt.gz").encode()).hexdigest()
    assert digest in "".join(result.output.split()), "not known: to be written down"
    assert digest in (tmp_path / "tatoeba-en-fr" / "SOURCE.txt").read_text()
    assert public.read(public.find(tmp_path, "wikitext-2/valid.txt")).decode() == " = A = \n\n one \n"


def test_existing_files_are_kept(tmp_path: Path, benchmarks: Any, requests: list) -> None:
    (tmp_path / "wikitext-2").mkdir()
    (tmp_path / "wikitext-2" / "mine.txt").write_text("mine")
    result = CliRunner().invoke(benchmarks("fetch").main, ["--data", str(tmp_path), "wikitext-2"])
    assert result.exit_code == 0 and "left alone" in result.output
    assert [file.name for file in (tmp_path / "wikitext-2").iterdir()] == ["mine.txt"] and not requests


def test_a_text_of_another_checksum_is_not_kept(
    tmp_path: Path, benchmarks: Any, requests: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = benchmarks("fetch")
    with_checksum(fetch, monkeypatch, "another text")
    result = CliRunner().invoke(fetch.main, ["--data", str(tmp_path), "tinyshakespeare"])
    assert result.exit_code == 1 and "SHA-256" in result.output and requests
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_nothing_is_half_there(
    tmp_path: Path, benchmarks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr("datasets.load_dataset", unreachable)
    result = CliRunner().invoke(benchmarks("fetch").main, ["--data", str(tmp_path), "wiki-en"])
    assert result.exit_code == 1 and "network" in result.output and "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_missing_set_is_a_one_sentence_error(tmp_path: Path, benchmarks: Any) -> None:
    with pytest.raises(click.ClickException, match=r"docs/data\.md"):
        benchmarks("public_data").find(tmp_path, "wordsim")
