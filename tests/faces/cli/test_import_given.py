"""langladder import of folders that others made: the commands of docs/transfer.md, as they stand there."""

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from langladder.faces.cli.main import app
from tests.formats.test_given_bert import folder_of as bert_folder
from tests.formats.test_given_gpt2 import folder_of as gpt2_folder

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "transfer.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## A network that was trained elsewhere") :]
COMMANDS = re.findall(r"(?m)^\$ langladder (.*)$", SECTION)


def test_the_commands_of_the_page_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bert_folder(tmp_path / "input" / "encoders" / "mine")
    monkeypatch.chdir(tmp_path)
    assert [command.split()[0] for command in COMMANDS] == ["import", "fill"]
    for command in COMMANDS:
        result = CliRunner().invoke(app, shlex.split(command))
        assert result.exit_code == 0, (command, result.output)
    assert "the <mask> sleeps ." in result.output
    files = {"README.md", "config.json", "model.safetensors", "tokenizer.json"}
    assert {file.name for file in (tmp_path / "imported" / "mine").iterdir()} == files
    card = (tmp_path / "imported" / "mine" / "README.md").read_text(encoding="utf-8")
    assert "An encoder, P(w_t | all other words)" in card and "Tokenizer `bert`" in card


def test_a_gpt_of_others_is_a_language_model_here(tmp_path: Path) -> None:
    gpt2_folder(tmp_path / "theirs")
    result = CliRunner().invoke(app, ["import", str(tmp_path / "theirs"), str(tmp_path / "mine"), "--json"])
    assert result.exit_code == 0 and json.loads(result.stdout)["model"] == "GPT"
    assert CliRunner().invoke(app, ["score", str(tmp_path / "mine"), "the cat"]).exit_code == 0


def test_what_is_no_folder_of_theirs_leaves_nothing(tmp_path: Path) -> None:
    bert_folder(tmp_path / "theirs")
    (tmp_path / "theirs" / "vocab.txt").write_text("the\ncat\n")
    result = CliRunner().invoke(app, ["import", str(tmp_path / "theirs"), str(tmp_path / "mine")])
    assert result.exit_code == 2 and "lacks [PAD], [UNK], [SEP], [CLS], [MASK]" in " ".join(result.stderr.split())
    assert not (tmp_path / "mine").exists()
