"""`langladder classify`: texts, pairs and trees in, labels out; why; a conversation; what is refused."""

import builtins
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

import langladder as ll
from langladder.answers.classify import classify, example_of
from langladder.answers.requests import ClassifyRequest
from langladder.faces.cli import readers
from langladder.faces.cli.main import app
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.classification.linear_classifier import LinearClassifier
from langladder.models.classification.majority import Majority
from langladder.models.classification.recurrent_classifier import RecurrentClassifier
from langladder.models.classification.tree_lstm import TreeLSTM
from langladder.models.units import WordUnits
from langladder.text.labelled.labelled import Example

TRAIN = [Example(f"{word} film .", label=label) for word, label in (("good", "yes"), ("bad", "no"), ("fine", "yes"))]
UNITS = WordUnits(["good", "bad", "film", "not", "."], "whitespace")
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    for kind, name in ((LinearClassifier, "logistic"), (Majority, "majority")):
        counted = kind(kind.Config(), ["no", "yes"])
        counted.fit(TRAIN, TRAIN)
        counted.save(root / name)
    torch.manual_seed(0)
    small: dict[str, Any] = {"embedding_dim": 8, "width": 8}
    for network, name, more in ((TreeLSTM, "trees", {}), (RecurrentClassifier, "attentive", {"pooling": "attentive"})):
        model: Any = network(network.Config(**small, **more), UNITS.full_vocab_size, 2)
        model.equip(UNITS, ["no", "yes"]).save(root / name)
    return root


@pytest.fixture
def run(folders: Path) -> Run:
    def invoke(model: str, *arguments: object, text: str | None = None) -> Result:
        return CliRunner().invoke(app, ["classify", str(folders / model), *map(str, arguments)], input=text)

    return invoke


def test_a_text_that_is_read_in_part_is_reported_once(folders: Path, run: Run) -> None:
    config = RecurrentClassifier.Config(embedding_dim=8, width=8, max_length=3)
    RecurrentClassifier(config, UNITS.full_vocab_size, 2).equip(UNITS, ["no", "yes"]).save(folders / "short")
    note = "note: a text is longer than the 3 tokens that this classifier reads: the rest of it was not read\n"
    assert run("short", "good film .").stderr == ""
    assert run("short", text="good film .\nnot good film .\nnot\tbad film .\n").stderr == note
    assert json.loads(run("short", "good good good bad", "--json").stdout)["texts"][0]["note"] in note


def test_a_pipe_gives_lines_with_tabs(run: Run) -> None:
    result = run("logistic", "--top", 2, text="good film .\n\nbad film .\n \n")
    assert result.exit_code == 0, result.output
    first, blank, second, last = (line.split("\t") for line in result.stdout.splitlines())
    assert blank == last == [""]
    assert (first[0], first[2], first[4]) == ("yes", "no", "good film .")
    assert second[0] == "no" and second[4] == "bad film ."
    assert float(first[1]) + float(first[3]) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("model", ["logistic", "majority", "trees"])
def test_a_blank_line_is_answered_by_one_without_a_label(run: Run, model: str) -> None:
    texts = json.loads(run(model, "--json", text="\n((not) (good))\n\n").stdout)["texts"]
    assert [len(item["labels"]) for item in texts] == [0, 1, 0] and texts[0] == {"text": "", "labels": []}
    assert run(model, text="\n\n").stdout == "\n\n"


def test_blank_lines_explained_and_in_a_table(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("\ngood film .\n")
    lines = run("logistic", "--explain", text="\nbad film .\n").stdout.splitlines()
    assert lines[0].startswith("Words: ") and lines[1] == "" and lines[2].startswith("no 0.")
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr("langladder.faces.cli.readers.sys", SimpleNamespace(stdin=terminal, stdout=terminal))
    result = run("logistic", tmp_path / "lines", "--top", 2)
    assert result.exit_code == 0 and "good film ." in result.stdout


def test_a_file_may_be_gzipped_and_hold_pairs(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress(b"good film .\tbad film .\r\n"))
    result = run("logistic", path)
    assert result.exit_code == 0 and result.stdout.endswith("\tgood film .\tbad film .\n")
    text = json.loads(run("logistic", path, "--json", "--explain").stdout)["texts"][0]
    assert (text["text"], text["second"]) == ("good film .", "bad film .")
    assert [word["piece"] for word in text["words"]] == ["good", "film", ".", "<sep>", "bad", "film", "."]


def test_texts_may_stand_on_the_command_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("fine film .\n")
    result = run("logistic", "bad film .", tmp_path / "texts", "good", "-", text="film .")
    assert [line.split("\t")[2] for line in result.stdout.splitlines()] == [
        "bad film .",
        "fine film .",
        "good",
        "film .",
    ]
    for name in ("reviews.txt", "input/reviews", "a.tsv.gz"):
        result = run("logistic", name)
        assert result.exit_code == 2 and f"{name}: no such file" in result.stderr
    assert run("logistic", "x" * 5000).exit_code == 0


@pytest.mark.parametrize("text", ["", " ", ".", "..", ". ."])
def test_a_text_without_letters_is_no_folder(run: Run, text: str) -> None:
    """Python takes an empty path for the current folder."""
    result = run("logistic", text, "good film .")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].endswith("\tgood film .")


@pytest.mark.parametrize(
    "words",
    [
        ["x" * 8000],
        ["logistic", "a/" * 100 + "b" * 200],
        ["logistic", "--" + "y" * 8000],
        ["logistic", "--top", "z" * 8000],
    ],
)
def test_a_message_is_short_whatever_was_given(run: Run, words: list[str]) -> None:
    result = run(*words, *(["x"] if len(words) == 1 else []))
    assert result.exit_code == 2 and 10 < len(result.stderr) < 1400


def test_json_has_labels_words_and_nodes(run: Run) -> None:
    content = json.loads(run("trees", "--json", "--explain", "--top", 5, text="((not) (good))").stdout)
    assert content["labels"] == ["no", "yes"]
    (item,) = content["texts"]
    assert item["text"] == "not good" and len(item["labels"]) == 2
    assert sum(label["probability"] for label in item["labels"]) == pytest.approx(1, abs=1e-5)
    assert [word["piece"] for word in item["words"]] == ["not", "good"]
    assert [(node["children"], node["word"]) for node in item["nodes"]] == [([], 0), ([], 1), ([0, 1], None)]
    plain = json.loads(run("majority", "--json", text="anything").stdout)["texts"]
    assert plain == [{"text": "anything", "labels": [{"label": "yes", "probability": 0.666667}]}]
    assert json.loads(run("majority", "--json", text="").stdout)["texts"] == []


def test_words_are_explained_by_signs_where_there_are_no_colours(run: Run) -> None:
    legend, label_line, words = run("logistic", "--explain", text="bad film .").stdout.splitlines()
    assert legend == "Words: speaks for the label[++++], against it[----]; the stronger, the more."
    assert label_line.startswith("no 0.") and "bad[++++]" in words and "\x1b" not in words


def test_attention_and_every_node_are_reported(run: Run) -> None:
    lines = run("attentive", "--explain", text="not good .").stdout.splitlines()
    shares = [int(part[:-1]) for part in lines[3].replace("[", " ").split(" ") if part.endswith("]")]
    assert lines[3].startswith("  attention: not[") and sum(shares) == pytest.approx(100, abs=2)
    lines = run("trees", "--explain", text="((not) ((good) (film)))").stdout.splitlines()
    assert [line.partition("  ")[2].split("  ")[-1] for line in lines[3:]] == [
        "not good film", "not", "good film", "good", "film",
    ]  # fmt: skip
    assert [len(line) - len(line.lstrip()) for line in lines[3:]] == [2, 4, 4, 6, 6]


def test_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch, folders: Path) -> None:
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    model = Classifier.load(folders / "logistic")
    (result,) = classify(model, [Example("bad film .")], ClassifyRequest(explain=True))
    printed = readers.explanation(result)
    assert click.style("bad", fg=readers.BLACK, bg=readers.FOR[-1]) in printed
    assert click.unstyle(printed).splitlines()[1] == "  bad film ." and "fuller" in readers.legend_line()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "bad[++++]" in readers.explanation(result)


def test_a_conversation_goes_on_after_a_mistake(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter(["good film .", "", "a\tb\tc", "bad film ."])

    def typing(prompt: str) -> str:
        assert prompt == "> "
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr(builtins, "input", typing)
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr("langladder.faces.cli.readers.sys", SimpleNamespace(stdin=terminal, stdout=terminal))
    result = run("logistic", "--explain")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("Words:") == 1 and "3 texts with tabs" in result.stderr
    assert click.unstyle(result.stdout).count("film") == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "a\tb\tc",
            "texts.tsv:2: 3 texts with tabs between them; write one text on a line, or two with a tab between them",
        ),
        ("a\t ", "texts.tsv:2: a tab beside an empty text; write one text on a line"),
    ],
)
def test_a_line_that_is_no_text_is_refused_with_its_line(run: Run, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "texts.tsv").write_text(f"good film .\n{line}\n")
    result = run("logistic", tmp_path / "texts.tsv")
    assert result.exit_code == 2 and message in result.stderr and result.stdout == ""


def test_a_classifier_of_trees_wants_trees(run: Run) -> None:
    result = run("trees", text="((not) (good))\n((not) (good)\n")
    assert result.exit_code == 2
    assert "standard input:2: character 13: 1 brackets are not closed; this classifier reads bracketed" in result.stderr
    assert run("logistic", text="((not) (good)\n").exit_code == 0  # to another it is a text like any other


def test_a_text_without_brackets_is_a_tree_that_branches_to_the_right(run: Run, folders: Path) -> None:
    plain, tree = run("trees", text="not good film\n\ngood\n"), run("trees", text="((not) ((good) (film)))\n\n(good)\n")
    assert plain.stdout == tree.stdout and "branches" not in tree.stderr
    assert plain.stderr == "note: no brackets were given: read as a tree that branches to the right\n"
    assert "read as" in json.loads(run("trees", "--json", text="not good").stdout)["texts"][0]["note"]
    result = ll.load(folders / "trees").classify(["not good film", "((not) ((good) (film)))", ""])
    assert result[0].labels == result[1].labels and [bool(item.details.note) for item in result] == [True, False, False]
    assert "standard input:2: this classifier reads trees" in run("trees", text="a\nb (c)\n").stderr


def test_what_cannot_be_asked_is_refused(run: Run, tmp_path: Path) -> None:
    assert "Majority does not look at words" in run("majority", "--explain", text="a\n").stderr
    for model, arguments in (("nowhere", []), ("../models", []), ("logistic", [tmp_path / "no.txt"])):
        result = run(model, *arguments, text="a\n")
        assert result.exit_code == 2 and result.stderr.startswith("Error: ") and "Traceback" not in result.output
    for bad in ("0", "-1", "x", "1001"):
        assert run("logistic", "--top", bad, text="a\n").exit_code == 2
    assert run("logistic", text="").stdout == ""


def test_ties_stand_in_the_order_of_the_labels(folders: Path) -> None:
    model = Classifier.load(folders / "majority")
    model.log_probs = lambda examples: np.log(np.full((len(examples), 2), 0.5))  # type: ignore[method-assign]
    assert classify(model, [Example("a")], ClassifyRequest(top=2))[0].top == [("no", 0.5), ("yes", 0.5)]
    with pytest.raises(InputError, match="3 texts with tabs"):
        example_of(model, "a\tb\tc")
