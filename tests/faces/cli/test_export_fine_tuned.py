"""langladder export of fine-tuned models: to Hugging Face, to ONNX; nothing is half-written."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from click.testing import CliRunner

from langladder.faces.cli.export import _choose
from langladder.faces.cli.main import app
from langladder.families import families
from langladder.ground.artefacts import FORMAT_VERSION, write_json
from langladder.ground.errors import InputError
from langladder.ground.schema import locate
from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.classification.gpt_classifier import GPTClassifier
from langladder.models.encoders.bert_features import framed
from langladder.models.encoders.encoder import Encoder
from langladder.models.reading.bert_span import BERTSpan
from langladder.models.tagging.bert_tagger import BERTTagger
from langladder.text.labelled.labelled import Example
from tests.formats.test_bert_heads_folder import made
from tests.models.fine_tuned_rungs import LABELS, saved_bert
from tests.models.spoken import saved_instructed

CONF = Path(__file__).resolve().parents[3] / "conf"

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "fine-tuning.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?m)^\$ langladder (export .*)$", PAGE)
RUNGS = {"bert_fine_tuned": BERTClassifier, "bert_tagger": BERTTagger, "gpt_fine_tuned": GPTClassifier}


@pytest.mark.parametrize("command", COMMANDS)
def test_export_commands_of_the_page_work(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("onnx", "onnxscript") if "--to onnx" in command else ():
        pytest.importorskip(name, reason=f"the library {name} is not installed")
    words = shlex.split(command, comments=True)
    made(RUNGS[Path(words[1]).name], tmp_path).save(tmp_path / words[1])
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert (tmp_path / words[2] / "README.md").is_file()


def test_the_page_shows_every_family_and_format() -> None:
    assert {Path(command.split()[1]).name for command in COMMANDS} == {*RUNGS}
    assert any("--to onnx" in command for command in COMMANDS)


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
    base = {"rung": "encoder/bert_mini", "title": "BERT-mini", "fingerprint": "ab", "inputs": {"tokens": "cd"}}
    about = {"fingerprint": "ef", "inputs": {"labels": "01", "base": "23"}, "settings": {"seed": 1}, "lineage": [base]}
    write_json(tmp_path / "model" / "provenance.json", about)
    result = CliRunner().invoke(app, ["export", str(tmp_path / "model"), str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["format"] == "bert"
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["architectures"] == [f"BertFor{head}"]
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f"BertFor{head}.from_pretrained" in card
    assert "It starts from encoder/bert_mini (BERT-mini, `ab`, made of tokens `cd`)." in card  # down to its corpus
    assert "| input `labels` | 01 |" in card


def test_another_format_and_another_head_are_refused(tmp_path: Path) -> None:
    made(BERTClassifier, tmp_path, pooling="mean").save(tmp_path / "model")
    for extra, message in (
        (["--to", "gpt2"], "to bert or onnx, not to gpt2"),
        ([], "pooling=mean"),
        (["--words"], "--words"),
    ):
        result = CliRunner().invoke(app, ["export", str(tmp_path / "model"), str(tmp_path / "out"), *extra])
        assert result.exit_code != 0 and message in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()


def test_a_gpt_for_multiple_choice_has_no_other_format(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    write_json(
        tmp_path / "model" / "config.json",
        {"_target_": "langladder.models.reading.gpt_choice.GPTChoice"},
    )
    result = CliRunner().invoke(app, ["export", str(tmp_path / "model"), str(tmp_path / "out")])
    assert result.exit_code != 0 and "no other format supports a GPTChoice" in " ".join(result.output.split())


def test_every_rung_has_another_format_or_a_sentence_says_that_it_has_none(tmp_path: Path) -> None:
    files = [file for name, family in families().items() if family.trained for file in (CONF / name).glob("*.yaml")]
    targets = {str(yaml.safe_load(file.read_text(encoding="utf-8")).get("_target_")) for file in files}
    targets |= {"langladder.models.language.instructed.InstructedGPT", "langladder.models.reward.RewardModel"}
    result: dict[str, str] = {}
    for target in sorted(target for target in targets if target.startswith("langladder.models.")):
        sizes = dict.fromkeys(getattr(locate(target), "SIZES", ()), 9)
        write_json(tmp_path / "config.json", {"format": FORMAT_VERSION, "_target_": target, **sizes, "config": {}})
        kind = target.rpartition(".")[2]
        try:
            result[kind] = _choose(tmp_path, None)
        except InputError as error:
            message = str(error)
            assert f"no other format supports a {kind}; its weights are in model.safetensors" in message
            assert "\n" not in message and len(message) < 600
    assert {"GPT", "InstructedGPT", "BERT", "RecurrentLM", "KneserNey", "Transformer", "BERTSpan"} <= result.keys()
    assert {"TextCNN", "NNLM", "RewardModel", "CTCRecognizer", "FeatureCRF"}.isdisjoint(result)
    write_json(tmp_path / "vectors" / "words.json", {"words": ["a"]})
    with pytest.raises(InputError, match="word vectors; use `langladder convert`"):
        _choose(tmp_path / "vectors", None)


def test_what_follows_instructions_is_exported_with_its_template(tmp_path: Path) -> None:
    saved_instructed(tmp_path / "sft")
    result = CliRunner().invoke(app, ["export", str(tmp_path / "sft"), str(tmp_path / "out"), "--to", "gpt2"])
    assert result.exit_code == 0, result.output
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "apply_chat_template" in card and "follows the kinds of instructions that it was trained on" in card
    back = CliRunner().invoke(app, ["import", str(tmp_path / "out"), str(tmp_path / "back")])
    assert back.exit_code == 2 and "an exported model that follows instructions" in " ".join(back.stderr.split())


@pytest.mark.parametrize("kind", [BERTClassifier, BERTTagger, GPTClassifier])
def test_parity_of_the_cards_example_in_onnx(kind: type, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands in README.md runs as it stands there, and says what the model says."""
    for name in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(name, reason=f"the library {name} is not installed")
    model = made(kind, tmp_path)
    model.save(tmp_path / "model")
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["export", str(tmp_path / "model"), str(out), "--to", "onnx", "--json"])
    assert result.exit_code == 0, result.output
    files = ["README.md", "labels.json", "model.onnx", "tokenizer.json", "tokenizer_config.json"]
    assert json.loads(result.stdout)["files"] == files
    (example,) = re.findall(r"(?s)```python\n(.*?)\n```", (out / "README.md").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    monkey = example.replace("./", f"{out}/").replace("the cat sleeps .", "a dog sleeps")
    exec(monkey, names)
    assert capsys.readouterr().out
    if kind is BERTTagger:
        pieces = model.tokenizer.encode("a dog sleeps").tolist()
        assert names["encoding"].ids == framed(pieces, model.vocab_size)
        with torch.no_grad():
            array = torch.log_softmax(model.head(model.features(torch.tensor([names["encoding"].ids]))), dim=-1)
    else:
        array = torch.from_numpy(model.log_probs([Example("a dog sleeps", None, LABELS[0])])).float()
    np.testing.assert_allclose(names["log_probs"], array.numpy(), atol=1e-5)


def test_parity_of_an_encoders_example_in_onnx(tmp_path: Path) -> None:
    for name in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(name, reason=f"the library {name} is not installed")
    out, folder = tmp_path / "out", saved_bert(tmp_path / "model")
    assert CliRunner().invoke(app, ["export", str(folder), str(out), "--to", "onnx"]).exit_code == 0
    (example,) = re.findall(r"(?s)```python\n(.*?)\n```", (out / "README.md").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    exec(example.replace("./", f"{out}/").replace("the cat < mask > .", "the < mask > sees"), names)
    encoder = Encoder.load(folder)
    assert encoder.mask in names["encoding"].ids
    with torch.no_grad():
        (last,) = encoder.hidden(torch.tensor([names["encoding"].ids]), layers=(-1,))
    np.testing.assert_allclose(names["states"][-1], last.numpy(), atol=1e-5)
