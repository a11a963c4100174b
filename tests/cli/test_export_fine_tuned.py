"""langladder export of fine-tuned models: heads of BERT go out, those of GPT are refused, nothing is half-written."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from langladder.artefacts import write_json
from langladder.cli.main import app
from langladder.models.bert_classifier import BERTClassifier
from langladder.models.bert_span import BERTSpan
from langladder.models.bert_tagger import BERTTagger
from tests.export.test_bert_heads_folder import made


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        (BERTClassifier, "SequenceClassification"),
        (BERTTagger, "TokenClassification"),
        (BERTSpan, "QuestionAnswering"),
    ],
)
def test_a_fine_tuned_bert_goes_out_by_the_command(kind: type, head: str, tmp_path: Path) -> None:
    made(kind, tmp_path).save(tmp_path / "model")
    result = CliRunner().invoke(app, ["export", str(tmp_path / "model"), str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["format"] == "bert"
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["architectures"] == [f"BertFor{head}"]
    assert f"BertFor{head}.from_pretrained" in (tmp_path / "out" / "README.md").read_text()


def test_another_format_and_another_head_are_refused(tmp_path: Path) -> None:
    made(BERTClassifier, tmp_path, pooling="mean").save(tmp_path / "model")
    for extra, said in (["--to", "onnx"], "not to onnx"), ([], "pooling=mean"), (["--words"], "--words goes with"):
        result = CliRunner().invoke(app, ["export", str(tmp_path / "model"), str(tmp_path / "out"), *extra])
        assert result.exit_code != 0 and said in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["gpt_classifier.GPTClassifier", "gpt_choice.GPTChoice"])
def test_a_fine_tuned_gpt_has_no_other_format(tmp_path: Path, name: str) -> None:
    (tmp_path / "model").mkdir()
    write_json(tmp_path / "model" / "config.json", {"_target_": f"langladder.models.{name}"})
    result = CliRunner().invoke(app, ["export", str(tmp_path / "model"), str(tmp_path / "out")])
    assert result.exit_code != 0 and f"no other format holds a {name.rpartition('.')[2]}" in " ".join(
        result.output.split()
    )
