"""What a stranger's model says is shown on a terminal, not obeyed: no escape sequence reaches it."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from langladder.answers.classify import classify
from langladder.answers.requests import ClassifyRequest
from langladder.embeddings.base import WordVectors
from langladder.faces.cli.main import app
from langladder.faces.cli.output import echo, print_json
from langladder.faces.cli.readers import explanation
from langladder.ground.errors import InputError, printable
from langladder.models.classification.linear_classifier import LinearClassifier
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.hmm import HMM
from langladder.text.labelled.labelled import Example, Tagged
from tests.models.spoken import saved_instructed

TITLE, COLOUR, CSI = "\x1b]0;owned\x07", "\x1b[31mred", "\x9b2J\u202e\u2067"
OBEYED = re.compile(
    r"\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)  # all but our own colours


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("strange")
    examples = [Example(f"{word} film", label=label) for word, label in (("good", f"no{TITLE}"), ("bad", f"yes{CSI}"))]
    labels = sorted(example.label for example in examples)
    counted = LinearClassifier(LinearClassifier.Config(), labels)
    counted.fit(examples, examples)
    counted.save(root / "classifier")
    sentences = [Tagged(("the", "dog"), (f"DET{COLOUR}", f"NOUN{TITLE}"))]
    names = sorted(sentences[0].tags)
    tagger = HMM(HMM.Config(), names)
    tagger.fit(sentences, tag_ids(sentences, names))
    tagger.save(root / "tagger")
    WordVectors(["king", f"cat{TITLE}", f"dog{CSI}"], np.eye(3, dtype=np.float32) + 1).save(root / "vectors")
    saved_instructed(root / f"sft{TITLE}", context=24)
    shutil.copytree(root / f"sft{TITLE}", root / "sft")
    return root


@pytest.mark.parametrize(
    ("command", "visible"),
    [
        ("classify classifier", r"no\x1b]0;owned\x07"),
        ("classify classifier --explain", r"no\x1b]0;owned\x07"),
        ("classify classifier --json", r"\u009b2J\u202e\u2067"),
        ("tag tagger", r"NOUN\x1b]0;owned\x07"),
        ("tag tagger --explain", r"DET\x1b[31mred"),
        ("neighbours vectors king", r"cat\x1b]0;owned\x07"),
        ("neighbours vectors king", r"dog\x9b2J\u202e\u2067"),
        (f"chat sft sft{TITLE} --say cat --max-tokens 2", r"sft\x1b]0;owned\x07"),
        (f"neighbours none{TITLE} king", r"none\x1b]0;owned\x07"),
    ],
)
def test_no_escape_sequence_of_a_model_s_reaches_a_terminal(
    models: Path, monkeypatch: pytest.MonkeyPatch, command: str, visible: str
) -> None:
    monkeypatch.chdir(models)
    words = command.split(" ")
    if words[0] in ("classify", "tag"):
        words.insert(2, "the dog")
    for terminal in (True, False):
        with monkeypatch.context() as patch:
            patch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _, is_one=terminal: is_one, raising=False)
            patch.setenv("COLUMNS", "200")
            result = CliRunner().invoke(app, words, color=terminal)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        text = result.output
        assert not OBEYED.search(result.stderr)
        if terminal:
            assert not OBEYED.search(text) and "\x1b[31m" not in text.replace("\x1b[31mDET", "")
            assert visible in text
        elif "--json" in words:
            json.loads(result.stdout)


def test_a_pipe_gets_the_text_as_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    echo(f"a{TITLE}\tb")
    assert capsys.readouterr().out == f"a{TITLE}\tb\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    echo(f"a{TITLE}\tb\r")
    print_json({"a": f"{CSI}{TITLE}\x7f"})
    out = capsys.readouterr().out
    assert out.startswith("a\\x1b]0;owned\\x07\tb\\x0d\n") and not OBEYED.search(out)
    assert json.loads(out[out.index("{") :]) == {"a": f"{CSI}{TITLE}\x7f"}


def test_messages_and_explanations_hold_no_control_characters(models: Path) -> None:
    assert str(InputError(f"{TITLE}: no\n字\té")) == "\\x1b]0;owned\\x07: no\n字\té"
    assert printable("\x85\u2028é\u202e字\u2069😀\x00") == "\\x85\u2028é\\u202e字\\u2069😀\\x00"
    model = LinearClassifier.load(models / "classifier")
    (result,) = classify(model, [Example(f"good film{COLOUR}")], ClassifyRequest(top=2, explain=True))
    assert not OBEYED.search(explanation(result)) and "\x1b[31m" not in explanation(result)
