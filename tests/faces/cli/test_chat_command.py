"""`langladder chat`: answers, two models side by side, what was said before, a terminal, JSON, bad input."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from langladder.answers.chat import Assistant, Conversation
from langladder.decoding.answers import answers
from langladder.decoding.sampling import SamplingConfig
from langladder.faces.cli.main import app
from langladder.models.language.instructed import read_instructed
from langladder.text.labelled.instructions import Message
from langladder.text.labelled.templates import ChatTemplate
from tests.models.spoken import TOKENIZER, asked, saved_base, saved_instructed

Run = Callable[..., Result]
TEMPLATE = ChatTemplate(TOKENIZER)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("chat")
    for name, width in {"a/sft": 16, "a/ppo": 12, "b/sft": 8}.items():
        saved_instructed(root / name, width=width, context=24)
    saved_base(root / "gpt")
    return root


@pytest.fixture
def run(models: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(models)

    def invoke(*arguments: str, text: str = "") -> Result:
        return CliRunner().invoke(app, ["chat", *arguments], input=text)

    return invoke


def alone(folder: Path, *turns: str, system: str = "", **how: Any) -> list[str]:
    config = SamplingConfig(**{"strategy": "greedy", "max_tokens": 6} | how)
    conversation = Conversation(Assistant(read_instructed(folder)[0].eval(), TEMPLATE), config, system=system)
    return [conversation.say(turn).text for turn in turns]


def test_turns_are_answered_one_after_the_other(run: Run, models: Path) -> None:
    result = run("a/sft", "--say", "say cat", "--say", "not", "--max-tokens", "6")
    assert result.exit_code == 0, result.output
    first, second = alone(models / "a/sft", "say cat", "not")
    assert result.output.splitlines() == ["> say cat", first, "> not", second]
    assert run("a/sft", "--max-tokens", "6", text="say cat\n\nnot\n").output == result.output


def test_two_models_answer_side_by_side(run: Run, models: Path) -> None:
    content = json.loads(run("a/sft", "a/ppo", "--say", "say cat", "--max-tokens", "6", "--json").output)
    assert content["turns"] == [
        {"user": "say cat", "answers": {name: alone(models / "a" / name, "say cat")[0] for name in ("sft", "ppo")}}
    ]
    table = run("a/sft", "b/sft", "--say", "say cat", "--max-tokens", "6").output
    assert "a/sft" in table and "b/sft" in table and alone(models / "b/sft", "say cat")[0] in table


def test_turns_that_are_left_out_are_named(run: Run) -> None:
    """On stderr, so that answers and JSON stay as they are."""
    turns = [part for _ in range(4) for part in ("--say", "say cat")]
    result = run("a/sft", *turns, "--max-tokens", "12", "--json")
    assert result.exit_code == 0 and len(json.loads(result.stdout)["turns"]) == 4
    note = "sft: the oldest turn was left out of the prompt: its context of 24 tokens has no room for more"
    assert note in result.stderr.splitlines()
    for quiet in (["--forget"], ["--max-tokens", "1"]):
        assert run("a/sft", *turns[:4], *quiet).stderr == ""


def test_what_was_said_stays_as_long_as_there_is_room(models: Path) -> None:
    model = read_instructed(models / "a/sft")[0]
    config = SamplingConfig(strategy="greedy", max_tokens=6)
    conversation = Conversation(Assistant(model, TEMPLATE), config, system="please")
    system, messages = Message("system", "please"), []
    for number, turn in enumerate(["say cat", "not", "say dog", "say king"]):
        messages.append(Message("user", turn))
        while len(TEMPLATE.prompt((system, *messages))) + 6 > model.context:
            messages = messages[2:]
        expected = answers(model, TEMPLATE, [(system, *messages)], config)[0]
        assert conversation.say(turn).text == expected, number
        messages.append(Message("assistant", expected))
    assert 1 < len(messages) < 8  # some were forgotten, not all
    forgetful = Conversation(Assistant(model, TEMPLATE), config, forget=True)
    assert [forgetful.say(turn).text for turn in ("not", "say cat")][1] == answers(
        model, TEMPLATE, [asked("say cat")], config
    )[0]


def test_drawn_answers_depend_on_the_seed_and_the_turn(run: Run) -> None:
    def drawn(seed: str) -> list[str]:
        how = ("--sample", "--temperature", "50", "--seed", seed, "--forget", "--json")
        turns = [option for _ in range(3) for option in ("--say", "say cat")]
        return [turn["answers"]["sft"] for turn in json.loads(run("a/sft", *turns, *how).output)["turns"]]

    assert drawn("1") == drawn("1") != drawn("2") and len(set(drawn("1"))) > 1


def test_on_a_terminal_it_asks(run: Run, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(["say cat", "", "cat " * 30, "not"])

    def typed(_prompt: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", typed)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    result = run("a/sft", "--max-tokens", "6")
    assert result.exit_code == 0, result.output
    first, second = alone(models / "a/sft", "say cat", "not")
    assert result.stdout.splitlines()[:2] == [first, second]
    assert "leave no room for a response" in result.stderr
    assert "--json needs turns" in run("a/sft", "--json").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gpt", "--say", "say cat"], "not trained to follow instructions"),
        (["nowhere", "--say", "say cat"], "nowhere: no saved model; expected a folder with config.json"),
        (["a/sft", "a/sft", "--say", "say cat"], "a/sft: given twice"),
        (["a/sft", "--say", "cat " * 30], "leave no room for a response"),
        (["a/sft", "--say", " "], "no turns; give --say"),
        (["a/sft"], "no turns; give --say"),
        (["a/sft", "--say", "cat", "--temperature", "nan"], "not a finite number"),
        ([], "Missing argument 'MODEL...'"),
    ],
)
def test_bad_input_is_reported_in_a_sentence(run: Run, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2 and message in result.stderr and "Traceback" not in result.output, result.output
