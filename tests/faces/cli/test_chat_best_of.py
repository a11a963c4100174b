"""`langladder chat` where a reward model chooses among several answers: by options, and of a rung that is best-of-n."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from langladder.answers.chat import Chooser, chosen_answer
from langladder.decoding.answers import answers
from langladder.decoding.sampling import SamplingConfig
from langladder.faces.cli.main import app
from langladder.models.language.instructed import read_instructed
from langladder.models.reward import RewardModel, begin_reward
from langladder.text.labelled.instructions import Message
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from tests.models.spoken import TOKENIZER, asked, saved_instructed

Run = Callable[..., Result]
TEMPLATE = ChatTemplate(TOKENIZER)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with SFT, a reward model and a best-of-n of both."""
    root = tmp_path_factory.mktemp("best_of")
    sft = saved_instructed(root / "models/instruct/sft", context=24)
    rung = SimpleNamespace(name="reward", model=RewardModel.Config())
    begin_reward(rung, sft, seed=1).save(root / "models/reward/reward")
    shutil.copytree(sft, root / "models/align/best_of_n")
    write_provenance(root / "models/align/best_of_n", n=5, reads="models/reward/reward")
    return root


def write_provenance(folder: Path, **align: Any) -> None:
    """The provenance of a rung."""
    align = {"method": "best_of_n"} | align
    (folder / "provenance.json").write_text(json.dumps({"settings": {"align": align}}))


@pytest.fixture
def run(root: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(root)
    return lambda *arguments: CliRunner().invoke(app, ["chat", *arguments, "--say", "say cat", "--max-tokens", "6"])


def expected(root: Path, n: int) -> str:
    """The best by the reward model of n answers that are drawn as `answers` draws them."""
    model, judge = read_instructed(root / "models/instruct/sft")[0], RewardModel.load(root / "models/reward/reward")
    config = SamplingConfig(strategy="sample", max_tokens=6)
    drawn = [text for text in answers(model, TEMPLATE, [asked("say cat")] * n, config) if text]
    return max(drawn, key=lambda text: judge.rewards([(*asked("say cat"), Message("assistant", text))])[0])


def test_the_reward_model_chooses_by_options_or_by_what_the_rung_is(run: Run, root: Path) -> None:
    by = ("--judge", "models/reward/reward", "--best-of")
    result = run("models/instruct/sft", *by, "5")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == ["> say cat", expected(root, 5)]
    assert run("models/align/best_of_n").output == result.output
    assert run("models/align/best_of_n", "--best-of", "9").output == run("models/instruct/sft", *by, "9").output
    beside = json.loads(run("models/instruct/sft", "models/align/best_of_n", "--json").output)["turns"][0]["answers"]
    assert beside["best_of_n"] == expected(root, 5) and set(beside) == {"sft", "best_of_n"}


def test_it_is_found_from_outside(root: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reward model lies in its own project."""
    here = run("models/align/best_of_n").output
    monkeypatch.chdir(tmp_path)
    assert run(str(root / "models/align/best_of_n")).output == here


def test_of_more_answers_the_chosen_one_is_no_worse(root: Path) -> None:
    """And the first of equal ones is taken; in a context that is nearly full there is room for its EOS."""
    model, judge = read_instructed(root / "models/instruct/sft")[0], RewardModel.load(root / "models/reward/reward")
    config = SamplingConfig(strategy="greedy", max_tokens=6)
    prompt = asked("say cat")

    def reward(text: str) -> float:
        return float(judge.rewards([(*prompt, Message("assistant", text))])[0])

    rewards = [reward(chosen_answer(model, TEMPLATE, prompt, config, Chooser(n, judge))) for n in (1, 4, 16)]
    assert rewards == sorted(rewards) and rewards[0] < rewards[-1]
    room = model.context - len(TEMPLATE.prompt(asked("")))
    full = asked(" ".join(["cat"] * (room - 2)))
    long = SamplingConfig(strategy="sample", max_tokens=40)
    assert len(chosen_answer(model, TEMPLATE, full, long, Chooser(8, judge)).split()) <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["models/instruct/sft", "--best-of", "4"], "--best-of: no reward model; give --judge FOLDER"),
        (["models/instruct/sft", "--judge", "models/reward/reward"], "--judge: nothing to choose from"),
        (["models/instruct/sft", "--best-of", "4", "--judge", "gone"], "gone: no saved reward model"),
        (["models/instruct/sft", "--best-of", "4", "--judge", "models/instruct/sft"], "not a RewardModel"),
        (["models/instruct/sft", "--best-of", "0", "--judge", "gone"], "0 is not in the range"),
        (["models/instruct/sft", "--best-of", "4", "--judge", "models/reward/other"], "not that of the reward model"),
    ],
)
def test_who_cannot_choose_is_refused(run: Run, root: Path, arguments: list[str], message: str) -> None:
    other = root / "models/reward/other"
    if not other.exists():
        shutil.copytree(root / "models/reward/reward", other)
        words = "king queen cat dog say twice please not"  # as many, in another order
        train_tokenizer([words, "king"], TokenizerConfig(kind="word", vocab_size=None)).save(other / "tokenizer.json")
    result = run(*arguments)
    assert result.exit_code == 2 and message in result.stderr and "Traceback" not in result.output, result.output


@pytest.mark.parametrize(
    ("align", "message"),
    [
        ({"n": 0, "reads": "models/reward/reward"}, "settings.align.n is 0; expected a whole number from 1 to 4096"),
        ({"n": True, "reads": "models/reward/reward"}, "settings.align.n is True"),
        ({"n": 4, "reads": "data/clean/instructions"}, "which is not a reward model; give --best-of N and --judge"),
        ({"n": 4, "reads": "/etc/reward/x"}, "which is not a reward model"),
        ({"n": 4, "reads": "models/reward/.."}, "which is not a reward model"),
        ({"n": 4, "reads": "models/reward/gone"}, "gone: no saved reward model"),
        ({"n": 4}, "which is not a reward model"),
    ],
)
def test_a_strangers_provenance_is_checked(run: Run, root: Path, tmp_path: Path, align: Any, message: str) -> None:
    folder = tmp_path / "models/align/best"
    shutil.copytree(root / "models/instruct/sft", folder)
    write_provenance(folder, **align)
    result = run(str(folder))
    assert result.exit_code == 2 and message in result.stderr and "Traceback" not in result.output, result.output
    for other in ("[]", '{"settings": 3}', '{"settings": {"align": {"method": "ppo"}}}'):
        (folder / "provenance.json").write_text(other)
        assert run(str(folder)).exit_code == 0  # of another rung: its one answer
