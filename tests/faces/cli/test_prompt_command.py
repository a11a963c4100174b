"""prompt and perplexity on tiny models made here: scores as the library's, tables, JSON, errors in a sentence."""

import json
import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

from langladder.faces.cli.main import app
from langladder.models.language.gpt import GPT
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from langladder.text.words.segmentation import Conventions, write_conventions
from pipeline import ROOT

PAGE = (ROOT / "docs" / "prompting.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?m)^\$ langladder (.*)$", PAGE)
LINES = ["the cat is small .", "the dog is big .", "the king is tall .", "the queen is tall ."] * 3
TASK = """
settings:
  effort: ${size.effort}
  source: {kind: file, folder: "${paths.prompts}", file: none.tsv}
  template: "the {word} is {answer} ."
  scorings: [sum, calibrated, generated]
  shots: [0, 1]
"""
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    words = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    ids = np.concatenate([[BOS, *words.encode(line), EOS] for line in LINES]).astype(np.int32)
    torch.manual_seed(0)
    counted = KneserNey(KneserNey.Config(order=3), words.vocab_size)
    counted.fit(TokenStream(ids, np.array([0, len(ids)])))
    network = GPT(GPT.Config(context=16, width=8, layers=1, heads=2), words.vocab_size)
    recurrent = RecurrentLM(RecurrentLM.Config(width=8, embedding_dim=8), words.vocab_size)
    for name, model in {"kneser_ney": counted, "lstm": recurrent, "gpt": network}.items():
        model.save(root / "models" / "lm" / name)
        words.save(root / "models" / "lm" / name / "tokenizer.json")
    (root / "task.yaml").write_text(TASK)
    (root / "mine.tsv").write_text("word\tanswer\ncat\tsmall\ndog\tbig\nking\ttall\nqueen\ttall\n")
    (root / "text.txt").write_text("the cat is small .\n\n\nthe dog is tall .\n")
    for name in ("micro.txt", "shakespeare.txt"):
        (root / name).write_text("the cat is small .\n")
    for part in ("conf", "input"):
        (root / part).symlink_to(ROOT / part)
    return root


@pytest.fixture
def run(project: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(project)

    def invoke(*arguments: str, **more: Any) -> Result:
        return CliRunner().invoke(app, arguments, **more)

    return invoke


def answer(run: Run, *arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_options_are_ranked_by_their_probability(run: Run) -> None:
    options = answer(run, "prompt", "models/lm/kneser_ney", "the cat is", "--option", "big", "--option", "small")[
        "options"
    ]
    assert [row["option"] for row in options] == ["small", "big"]
    assert sum(row["share"] for row in options) == pytest.approx(1, abs=1e-5)
    assert options[0]["log_prob"] == options[0]["per_token"] > options[1]["log_prob"]
    after = answer(
        run, "prompt", "models/lm/kneser_ney", "the cat is", "--option", "big", "--option", "small", "--after", " ."
    )
    assert [row["tokens"] for row in after["options"]] == [2, 2]


def test_calibration_takes_off_what_words_announce(run: Run) -> None:
    options = ("--option", "small", "--option", "tall")
    plain = {row["option"]: row for row in answer(run, "prompt", "models/lm/gpt", "the cat is", *options)["options"]}
    alone = {row["option"]: row for row in answer(run, "prompt", "models/lm/gpt", "is", *options)["options"]}
    result = answer(run, "prompt", "models/lm/gpt", "the cat is", *options, "--calibrate", "is")["options"]
    for row in result:
        expected = plain[row["option"]]["log_prob"] - alone[row["option"]]["log_prob"]
        assert row["calibrated"] == pytest.approx(expected, abs=1e-5)
    assert result[0]["calibrated"] >= result[1]["calibrated"]
    assert "calibrated" in run("prompt", "models/lm/gpt", "the cat is", *options, "--calibrate", "is").output


def test_texts_come_through_a_pipe(run: Run) -> None:
    result = run("prompt", "models/lm/gpt", "--option", "small", "--option", "big", input="the cat is\n\nthe dog is\n")
    assert result.exit_code == 0 and "the cat is" in result.output and "the dog is" in result.output


def test_a_task_of_ones_own(run: Run) -> None:
    arguments = ("prompt", "models/lm/kneser_ney", "--task", "task.yaml", "--data", "mine.tsv")
    result = answer(run, *arguments, "--show", "1")
    assert result["items"] == 2 and [row["examples"] for row in result["by"]] == [0, 1]
    assert result["by"][0]["sum"] == 1.0  # the text says it
    assert result["shown"][0]["prompt"].count("\n") == 1 and len(result["shown"][0]["options"]) == 3
    item = answer(run, *arguments, "--shots", "1", "--items", "1")
    assert [row["examples"] for row in item["by"]] == [1] and item["items"] == 1
    table = run(*arguments, "--show", "1").output
    assert "in the prompt" in table and "right" in table and max(map(len, table.splitlines())) <= 100


def test_a_task_by_its_name(run: Run) -> None:
    """Items of microworld, whatever the ladder's size says."""
    result = answer(run, "prompt", "models/lm/kneser_ney", "--task", "knowledge", "--items", "6")
    assert result["items"] == 6 and result["chance"] == 0.25


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_document_work(command: str, run: Run) -> None:
    result = run(*shlex.split(command))
    assert result.exit_code == 0, result.output


def test_perplexity_is_that_of_score(run: Run) -> None:
    """Two documents of one line: the sum of `score`'s bits over words, ends of lines among them."""
    rows = answer(run, "perplexity", "models/lm/kneser_ney", "models/lm/gpt", "text.txt", "task.yaml")
    assert [(row["model"], row["text"]) for row in rows[:2]] == [
        ("models/lm/kneser_ney", "text.txt"),
        ("models/lm/gpt", "text.txt"),
    ]
    lines = ["the cat is small .", "the dog is tall ."]
    for row in rows[:2]:
        scored = answer(run, "score", row["model"], *lines)["models"][0]["sentences"]
        bits = sum(item["bits"] for item in scored)
        assert row["per word"] == pytest.approx(2 ** (bits / 12), rel=1e-5) and row["tokens"] == 12
        assert row["bits per byte"] == pytest.approx(bits / sum(len(line) + 1 for line in lines), rel=1e-4)
    assert rows[0]["unknown"] == 0 and rows[2]["unknown"] > 0
    assert math.isfinite(rows[3]["per word"])
    assert "bits per byte" in run("perplexity", "models/lm/gpt", "text.txt").output


def test_words_of_another_text_are_counted_as_in_the_training_text(run: Run, project: Path) -> None:
    folder = project / "models" / "lm" / "gpt"
    (project / "thai.txt").write_text("แมวนอน\n", encoding="utf-8")  # five graphemes
    try:
        write_conventions(folder, {"text": Conventions(writing="unspaced")})
        (row,) = answer(run, "perplexity", "models/lm/gpt", "thai.txt")
        assert row["word"] == "graphemes" and row["per word"] == pytest.approx(row["per token"] ** (2 / 6), rel=1e-4)
        assert "per grapheme" in run("perplexity", "models/lm/gpt", "thai.txt").output
    finally:
        (folder / "conventions.json").unlink()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prompt", "models/lm/gpt", "the cat is", "--option", "a"], "1 options: give --option two or more times"),
        (["prompt", "models/lm/gpt", "x", "--option", "a", "--option", "a"], "a different answer"),
        (["prompt", "models/lm/gpt", "x", "--option", "a", "--option", ""], "one of them is empty"),
        (["prompt", "nowhere", "x", "--option", "a", "--option", "b"], "no saved language model"),
        (["prompt", "models/lm/gpt", "--task", "chess"], "neither a file nor a task in conf/prompt/ (agreement"),
        (["prompt", "models/lm/gpt", "x", "--task", "knowledge"], "either --task, or TEXT"),
        (["prompt", "models/lm/gpt", "x", "--shots", "1"], "work with --task only"),
        (["prompt", "models/lm/gpt", "--task", "mine.tsv"], "mine.tsv: not YAML"),
        (["prompt", "models/lm/gpt", "--task", "text.txt"], "has no `settings`"),
        (["prompt", "models/lm/gpt", "--task", "task.yaml", "--data", "no.tsv"], "no.tsv: no such file"),
        (["prompt", "models/lm/gpt", "--task", "task.yaml", "--data", "text.txt"], "neither .tsv nor .jsonl"),
        (["perplexity", "models/lm/gpt"], "1 models and 0 files"),
        (["perplexity", "text.txt"], "0 models and 1 files"),
        (["perplexity", "models/lm/gpt", "none.txt"], "none.txt: no such file"),
    ],
)
def test_mistakes_are_reported_in_a_sentence(arguments: list[str], message: str, run: Run) -> None:
    result = run(*arguments)
    assert result.exit_code == 2 and message in " ".join(result.output.split()), result.output
    assert "Traceback" not in result.output
