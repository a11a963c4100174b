"""Fuzz: folders of BERT and GPT-2 that were valid once are read, or refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langladder.formats.imported import read_imported
from langladder.text.tokenize.specials import UNK
from tests.formats import test_given_bert, test_given_gpt2
from tests.hostile import fuzzed, read, strange_bytes, strange_json

MADE = {"bert": test_given_bert, "gpt2": test_given_gpt2}
JSON = ("config.json", "tokenizer.json", "tokenizer_config.json")
SAID = {"do_lower_case": True, "strip_accents": None}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("given")
    for name, module in MADE.items():
        module.folder_of(root / name)
        (root / name / "tokenizer.json").write_text(json.dumps(module.tokenizer_json()))
        (root / name / "tokenizer_config.json").write_text(json.dumps(SAID))
    return {name: root / name for name in MADE}


def use(folder: Path) -> None:
    """Read a folder, and cut a text as it says."""
    model, tokenizer = read_imported(folder)
    ids = tokenizer.encode("the Café ##s \u4e2d")
    assert all(UNK <= token < model.vocab_size for token in ids)
    tokenizer.decode(ids)


def check(folder: Path, file: str, data: bytes) -> None:
    before = (folder / file).read_bytes()
    try:
        (folder / file).write_bytes(data)
        read(use, folder)
    finally:
        (folder / file).write_bytes(before)


@pytest.mark.parametrize("kind", MADE)
@given(data=st.data())
@fuzzed
def test_fuzz_given_json(folders: dict[str, Path], kind: str, data: st.DataObject) -> None:
    file = data.draw(st.sampled_from(JSON))
    check(folders[kind], file, data.draw(strange_json(json.loads((folders[kind] / file).read_bytes()))))


@pytest.mark.parametrize(("kind", "files"), [("bert", ["vocab.txt"]), ("gpt2", ["vocab.json", "merges.txt"])])
@given(data=st.data())
@fuzzed
def test_fuzz_given_vocabulary(folders: dict[str, Path], kind: str, files: list[str], data: st.DataObject) -> None:
    """Where there is no tokenizer.json."""
    folder, file = folders[kind], data.draw(st.sampled_from([*files, "model.safetensors"]))
    (folder / "tokenizer.json").rename(folder / "aside")
    try:
        check(folder, file, data.draw(strange_bytes((folder / file).read_bytes())))
    finally:
        (folder / "aside").rename(folder / "tokenizer.json")
