"""`langladder answer`: questions in, answers out; paragraphs from files; options; what is no reader."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from langladder.faces.cli.main import app
from langladder.models.reading.sliding_window import SlidingWindow

TEXT = "anna ate the apple . peter saw the pear ."


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("models")
    for name, options in (("spans", False), ("options", True)):
        model = SlidingWindow(SlidingWindow.Config(options=options))
        model.threshold = None if options else 0.5
        model.save(folder / name)
    return folder


def run(model, *arguments, text=""):
    return CliRunner().invoke(app, ["answer", str(model), *arguments], input=text)


def test_a_pipe_gives_a_line_a_question(models):
    result = run(models / "spans", "--context", TEXT, text="who ate the apple ?\n\nwhere is rome ?\n")
    assert result.exit_code == 0
    assert result.stdout == "anna\t0\t0.7143\twho ate the apple ?\n\n\t\t0.5000\twhere is rome ?\n"
    questions = json.loads(run(models / "spans", "--context", TEXT, "--json", text="\nwho ?\n").stdout)["questions"]
    assert questions[0] == {"question": "", "answers": []} and questions[1]["answers"]


def test_a_paragraph_may_be_a_file_of_several_lines(models, tmp_path):
    (tmp_path / "text.txt").write_text("anna ate the apple .\n\npeter saw the pear .\n")
    result = run(
        models / "spans", "who saw the pear ?", "--context", str(tmp_path / "text.txt"), "--best", "2", "--json"
    )
    content = json.loads(result.stdout)
    assert content["context"] == TEXT
    (question,) = content["questions"]
    first, second = question["answers"]
    assert first["text"] == "peter" and TEXT[first["start"] :].startswith("peter")
    assert second["text"] == "" and second["start"] is None


def test_options_go_to_those_that_choose(models):
    options = ("--option", "apple", "--option", "pear")
    result = run(models / "options", "what did anna eat ?", "--context", TEXT, *options)
    assert result.stdout.split("\t")[:2] == ["apple", ""]
    refused = run(models / "spans", "what ?", "--context", TEXT, *options)
    assert refused.exit_code == 2 and "does not choose among options" in refused.stderr
    refused = run(models / "options", "what ?", "--context", TEXT)
    assert refused.exit_code == 2 and "no options to choose from" in refused.stderr
    refused = run(models / "options", "what ?", "--context", TEXT, "--option", "pear")
    assert refused.exit_code == 2 and "two or more" in refused.stderr


def test_what_is_no_reader_or_no_paragraph_is_refused(models, tmp_path):
    for arguments in (
        [tmp_path, "who ?", "--context", TEXT],
        [models / "spans", "who ?", "--context", str(tmp_path / "no.txt")],
        [models / "spans", "who ?", "--context", " "],
        [models / "spans", str(tmp_path / "no.txt"), "--context", TEXT],
    ):
        result = run(*arguments)
        assert result.exit_code == 2 and "Traceback" not in result.output and "Error" in result.stderr
    assert run(models / "spans", "who ?").exit_code == 2  # no paragraph
