"""`langladder tag`: lines in, tags out; JSON; what is no tagger."""

import json

import pytest
from click import Choice, Context
from click.testing import CliRunner

from langladder.faces.cli.main import app
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.hmm import HMM
from langladder.text.labelled.labelled import Tagged
from langladder.text.words.segmentation import CHOICES

TRAIN = [Tagged(("the", "dog", "sleeps", "."), ("D", "N", "V", "P")), Tagged(("a", "cat", "."), ("D", "N", "P"))]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    tags = ["D", "N", "P", "V"]
    tagger = HMM(HMM.Config(), tags)
    tagger.fit(TRAIN, tag_ids(TRAIN, tags))
    folder = tmp_path_factory.mktemp("models") / "hmm"
    tagger.save(folder)
    return str(folder)


def run(*arguments, text=""):
    return CliRunner().invoke(app, ["tag", *arguments], input=text)


def test_a_pipe_gives_a_line_a_sentence(model):
    result = run(model, text="\nthe cat sleeps .\n\n \u3000\na dog .\n\n")
    assert result.exit_code == 0
    assert result.stdout == "\nthe/D cat/N sleeps/V ./P\n\n\na/D dog/N ./P\n\n"
    sentences = json.loads(run(model, "--json", "--explain", text="\na dog .\n").stdout)["sentences"]
    assert [item["tags"] for item in sentences] == [[], ["D", "N", "P"]] and sentences[0]["second"] == []
    assert run(model, text="\n\n").stdout == "\n\n"


def test_a_file_with_punctuation_at_its_words(model, tmp_path):
    (tmp_path / "lines.txt").write_text("the cat sleeps.\n")
    assert run(model, str(tmp_path / "lines.txt"), "--words", "apart").stdout == "the/D cat/N sleeps/V ./P\n"


def test_sentences_may_stand_on_the_command_line(model):
    assert run(model, "the cat sleeps .", "a dog .").stdout == "the/D cat/N sleeps/V ./P\na/D dog/N ./P\n"


def test_explained_in_json(model):
    (answer,) = json.loads(run(model, "-", "--json", "--explain", text="the cat").stdout)["sentences"]
    assert answer["words"] == ["the", "cat"] and answer["tags"] == ["D", "N"]
    for first, second, other in zip(
        answer["probabilities"], answer["second_probabilities"], answer["second"], strict=True
    ):
        assert 1 >= first > second >= 0 and other in ("D", "N", "P", "V")


def test_explained_in_a_table(model):
    output = run(model, "--explain", text="the cat\n").stdout
    assert output.startswith("the/D cat/N\n") and "second best" in output


def test_what_is_no_tagger_is_refused(model, tmp_path):
    for arguments in ([str(tmp_path)], [str(tmp_path / "nowhere")], [model, str(tmp_path / "no.txt")]):
        result = run(*arguments, text="x\n")
        assert result.exit_code == 2 and result.stderr.startswith("Error: ") and "Traceback" not in result.output
    assert run(model, text="").stdout == ""


def test_words_of_the_option_are_those_of_the_settings() -> None:
    (option,) = (param for param in app.get_command(Context(app), "tag").params if param.name == "words")
    assert isinstance(option.type, Choice) and set(option.type.choices) == set(CHOICES)
