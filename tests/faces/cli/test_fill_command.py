"""`langladder fill`, and encoders taken away and brought in again: a table, JSON, what is no encoder."""

import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

from langladder.faces.cli.main import app
from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

LINES = ["the cat sleeps .", "the dog barks .", "a bird sings ."]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    tokenizer = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    folder = tmp_path_factory.mktemp("models") / "bert"
    BERT(BERTConfig(context=12, width=8, layers=1, heads=2), tokenizer.full_vocab_size).save(folder)
    tokenizer.save(folder / "tokenizer.json")
    return folder


def run(*arguments: str | Path, text: str = "") -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=text)


def test_a_table_for_each_sentence(model: Path) -> None:
    result = run("fill", model, "the <mask> sleeps .", "--best", "3")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("the <mask> sleeps .\n") and len(result.stdout.splitlines()) >= 5


def test_json_through_a_pipe(model: Path) -> None:
    result = run("fill", model, "--json", "--best", "2", text="<mask> cat <mask> .\n\na bird <mask> .\n")
    first, blank, second = json.loads(result.stdout)["sentences"]
    assert (
        blank == {"sentence": "", "gaps": []}
        and [len(gap) for gap in first["gaps"]] == [2, 2]
        and len(second["gaps"]) == 1
    )
    words = {word for line in LINES for word in line.split()}
    item, other = first["gaps"][0]
    assert item["text"] in words and item["probability"] >= other["probability"] > 0


def test_what_cannot_be_filled_is_refused(model: Path, tmp_path: Path) -> None:
    for arguments in ([tmp_path], [tmp_path / "nowhere"], [model], [model, "a <mask> " * 20]):
        result = run("fill", *arguments, text="no gap\n")
        assert result.exit_code == 2 and result.stderr.startswith("Error: ") and "Traceback" not in result.output


def test_taken_away_and_brought_in_it_is_the_same(model: Path, tmp_path: Path) -> None:
    result = run("export", model, tmp_path / "out", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["format"] == "bert"
    assert "BertForMaskedLM" in (tmp_path / "out" / "README.md").read_text()
    result = run("import", tmp_path / "out", tmp_path / "back")
    assert result.exit_code == 0, result.output
    item, back = BERT.load(model), BERT.load(tmp_path / "back")
    for name, parameter in item.named_parameters():
        assert torch.equal(parameter, back.get_parameter(name))
    refused = run("export", model, tmp_path / "other", "--to", "gpt2")
    assert refused.exit_code == 2 and "a BERT can be exported to bert or onnx, not to gpt2" in refused.stderr
