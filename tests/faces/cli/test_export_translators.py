"""langladder export of translators: every command of docs/translation.md, what is refused, what the cards say."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result
from tokenizers import Tokenizer as Backend

from langladder.faces.cli.main import app
from langladder.ground.artefacts import write_json
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.transformer import Transformer, TransformerConfig
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "translation.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?m)^\$ langladder (export .*)$", PAGE)
WORDS = ["the", "cat", "sleeps", "la", "kato", "dormas"]
FILES = {
    "onnx": {"README.md", "encoder.onnx", "decoder_step.onnx", "source.json", "target.json"},
    "marian": {
        "README.md", "config.json", "generation_config.json", "model.safetensors", "target", "tokenizer.json",
        "tokenizer_config.json",
    },
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    torch.manual_seed(0)
    tokenizer = train_tokenizer(WORDS, TokenizerConfig(kind="word", vocab_size=None))
    sizes = tokenizer.vocab_size, tokenizer.vocab_size
    small: dict[str, Any] = {"width": 8, "layers": 1, "heads": 2}
    models: dict[str, Translator] = {
        "transformer": Transformer(TransformerConfig(**small), *sizes),
        "pre_norm": Transformer(TransformerConfig(**small, norm="pre"), *sizes),
        "attention": AttentionSeq2Seq(AttentionSeq2Seq.Config(width=8, embedding_dim=8, attention_width=8), *sizes),
    }
    for name, model in models.items():
        folder = tmp_path / "models" / "translator" / name
        model.save(folder)
        for side in ("source", "target"):
            tokenizer.save(folder / f"{side}.json")
    write_json(tmp_path / "metrics" / "evaluate_translator" / "transformer.json", {"bleu": 31.4159, "sentences": 9})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def export(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["export", *arguments])


@pytest.mark.parametrize("command", COMMANDS)
def test_export_commands_of_the_page_work(project: Path, command: str) -> None:
    for name in ("onnx", "onnxscript") if "--to onnx" in command else ():
        pytest.importorskip(name, reason=f"the library {name} is not installed")
    words = shlex.split(command)[1:]
    result = export(*words, "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert set(content["files"]) == FILES[content["format"]]
    for name in {"tokenizer.json", "source.json", "target.json"} & FILES[content["format"]]:
        path = str(project / words[1] / name)
        assert Backend.from_file(path).get_vocab_size() == len(WORDS) + 4  # as many as the model has
    card = (project / words[1] / "README.md").read_text(encoding="utf-8")
    assert "A translator, P(y_t | y_1 … y_{t-1}, x)" in card and str(project) not in card
    assert ("| BLEU | 31.42 |" in card) == ("--scores" in words)
    loader = {"marian": "MarianMTModel", "onnx": "decoder_step"}
    assert loader[content["format"]] in card


def test_page_names_every_format_of_a_transformer() -> None:
    assert {"--to" in command for command in COMMANDS} == {True, False}
    assert {f"| `{name}` |" in PAGE for name in FILES} == {True}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["models/translator/pre_norm", "new", "--to", "marian"], "norm=pre, which MarianMTModel cannot compute"),
        (
            ["models/translator/transformer", "new", "--to", "gpt2"],
            "can be exported to marian or onnx, not to gpt2",
        ),
        (["models/translator/attention", "new"], "no other format supports a AttentionSeq2Seq"),
        (["models/translator/transformer", "models"], "models: contains models/"),
    ],
)
def test_what_cannot_be_exported_is_reported(project: Path, arguments: list[str], message: str) -> None:
    result = export(*arguments)
    assert result.exit_code == 2 and message in " ".join(result.stderr.split()), result.output
    assert not (project / "new").exists()
