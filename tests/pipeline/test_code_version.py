"""What the files of our code say is kept by their content: never out of date, and made again when it is not there."""

import json
from pathlib import Path

import pytest

from langladder.ground.artefacts import write_text
from pipeline.tracking import code_version as module
from pipeline.tracking.code_version import code_version

CODE = '"""What it is."""\nimport json\nfrom a.b import c\n\n\ndef f():\n    """Say one."""\n    return 1  # one\n'


@pytest.fixture(autouse=True)
def cache_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A place of its own, and nothing read yet."""
    monkeypatch.setattr(module, "home", lambda: tmp_path)
    forget()
    yield tmp_path / ".dvc" / "tmp" / "parsed.json"
    forget()


def forget() -> None:
    """As in another process."""
    module.module_code.cache_clear()
    module._kept.cache_clear()


def of(file: Path, code: str) -> module.ModuleCode:
    file.write_text(code)
    module.module_code.cache_clear()
    return module.module_code(file)


def test_what_is_kept_is_what_parsing_says(cache_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, version = of(tmp_path / "a.py", CODE), code_version("train_lm", {})
    module.keep()
    forget()
    monkeypatch.setattr(module, "_parse", None)  # nothing is parsed again
    assert of(tmp_path / "b.py", CODE) == before and set(before.imports) == {"json", "a.b", "a.b.c"}
    assert code_version("train_lm", {}) == version
    text = cache_file.read_text()
    module.keep()
    assert cache_file.read_text() == text


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("# one", "# another comment", True),
        ("Say one", "Say two", True),
        ("return 1", "return  (1)", True),
        ("return 1", "return 2", False),
        ("import json", "import json as j", False),
    ],
)
def test_an_edit_is_another_hash_where_the_code_does_another_thing(
    old: str, new: str, same: bool, tmp_path: Path
) -> None:
    before = of(tmp_path / "a.py", CODE)
    module.keep()
    forget()
    assert (of(tmp_path / "a.py", CODE.replace(old, new)).hash == before.hash) == same


@pytest.mark.parametrize(
    "kept",
    ["", "[", "[1]", '{"files": {}}', '{"by": "another", "files": {"KEY": ["wrong", []]}}', '{"by": "BY", "files": 1}',
     '{"by": "BY", "files": {"KEY": 1}}', '{"by": "BY", "files": {"KEY": ["wrong"]}}'],
)  # fmt: skip
def test_of_other_code_or_damaged_it_is_not_read(kept: str, cache_file: Path, tmp_path: Path) -> None:
    before = of(tmp_path / "a.py", CODE)
    module.keep()
    key = next(key for key, value in json.loads(cache_file.read_text())["files"].items() if value[0] == before.hash)
    write_text(cache_file, kept.replace("KEY", key).replace("BY", module._by()))
    forget()
    assert of(tmp_path / "a.py", CODE) == before


def test_a_place_that_cannot_be_written_is_no_error(cache_file: Path, tmp_path: Path) -> None:
    cache_file.mkdir(parents=True)
    of(tmp_path / "a.py", CODE)
    module.keep()
    assert cache_file.is_dir()


def test_no_more_is_kept_than_a_checkout_needs(
    cache_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    for number in range(4):
        of(tmp_path / "a.py", f"x = {number}\n")
    module.keep()
    assert len(json.loads(cache_file.read_text())["files"]) == 2
