"""The report calls the corpora by their names."""

from pathlib import Path

import pytest
import yaml

from pipeline.settings import params, titles
from pipeline.settings.titles import file_name


@pytest.mark.parametrize(
    ("files", "path", "name"),
    [
        (["novels.txt"], "novels.txt", "novels"),
        (["zh/wiki.jsonl.gz"], "zh/wiki.jsonl.gz", "wiki"),
        (["input/text/austen/emma.txt", "input/text/austen/persuasion.txt"], "input/text", "austen"),
        (["input/text/emma.txt", "input/text/.gitkeep"], "input/text", "emma"),
        (["input/text/a.txt", "input/text/b.txt"], "input/text", "input/text"),
        (["my-corpus/a.txt", "my-corpus/b.txt"], "my-corpus", "my-corpus"),
        ([], "gone/there.txt", "there"),
    ],
)
def test_own_files_name_the_corpus(tmp_path: Path, files: list[str], path: str, name: str) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert file_name(tmp_path / path, path) == name


@pytest.mark.parametrize(
    ("choice", "source", "name"),
    [
        ("microworld", {"size": "small"}, "microworld"),
        ("wikitext2", {"path": "input/text"}, "wikitext2"),
        ("text", {"path": "books/dubliners.txt"}, "dubliners"),
        ("hub", {"name": "Salesforce/wikitext"}, "Salesforce/wikitext"),
    ],
)
def test_the_choice_or_what_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: str, source: dict[str, str], name: str
) -> None:
    monkeypatch.setattr(titles, "ROOT", tmp_path)
    (tmp_path / "resolved" / "corpus").mkdir(parents=True)
    (tmp_path / "resolved" / "corpus" / "text.yaml").write_text(yaml.safe_dump({"corpus": {"source": source}}))
    chosen = params.load().model_copy(update={"corpus": choice})
    assert titles.corpus_names(chosen)["text"] == name
