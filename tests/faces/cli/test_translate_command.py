"""`langladder translate` with a tiny model that has learned four sentences by heart."""

import builtins
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

from langladder.data.translation import pad
from langladder.faces.cli.input import input_lines
from langladder.faces.cli.main import app
from langladder.faces.cli.translate import attention_lines
from langladder.ground.errors import InputError
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.translator import State
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig

PAIRS = {
    "the cat sleeps": "la kato dormas",
    "the dog sleeps": "la hundo dormas",
    "the cat runs": "la kato kuras",
    "a dog": "hundo",
}
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = TokenizerConfig(kind="word", vocab_size=None)
    source, target = train_tokenizer(PAIRS, words), train_tokenizer(PAIRS.values(), words)
    torch.manual_seed(0)
    settings: dict[str, Any] = {"width": 24, "embedding_dim": 16, "attention_width": 8, "dropout": 0.0}
    config = AttentionSeq2Seq.Config(**settings)
    model = AttentionSeq2Seq(config, source.vocab_size, target.vocab_size).train()
    sources = pad([np.append(ids, EOS) for ids in source.encode_lines([*PAIRS])])
    targets = pad([np.array([BOS, *ids, EOS]) for ids in target.encode_lines([*PAIRS.values()])])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(80):
        optimizer.zero_grad()
        loss = model.loss(sources, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert float(loss.detach()) < 1.0
    path = tmp_path_factory.mktemp("models") / "learned"
    model.save(path)
    source.save(path / "source.json")
    target.save(path / "target.json")
    return path


@pytest.fixture
def run() -> Run:
    def invoke(*arguments: object, text: str | None = None) -> Result:
        return CliRunner().invoke(app, ["translate", *map(str, arguments)], input=text)

    return invoke


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["sentences"]


def test_sentences_answer_in_lines(run: Run, folder: Path) -> None:
    result = run(folder, *PAIRS)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [*PAIRS.values()]


def test_files_and_pipes_keep_line_for_line(run: Run, folder: Path, tmp_path: Path) -> None:
    lines = ["the cat runs", "", "a dog", "   "]
    expected = "la kato kuras\n\nhundo\n\n"
    file = tmp_path / "in.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run(folder, "--file", file).stdout == expected
    assert run(folder, text=file.read_text(encoding="utf-8")).stdout == expected
    result = run(folder, "-f", file, "-o", tmp_path / "out.txt", "--progress")
    assert result.stdout == "" and "4 of 4 sentences" in result.stderr
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == expected
    assert "4/4" not in run(folder, "-f", file).stderr
    assert run(folder, text="").stdout == ""
    run(folder, "-f", file, "-o", tmp_path / "out.json", "--n-best", 2, "--json")
    sentences = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["sentences"]
    assert [sentence["source"] for sentence in sentences] == lines
    assert [len(sentence["translations"][0]["candidates"]) for sentence in sentences] == [2, 0, 2, 0]


def test_the_best_of_several(run: Run, folder: Path) -> None:
    (result,) = answer(run(folder, "the dog sleeps", "--n-best", 3, "--alpha", 1, "--json"))
    candidates = result["translations"][0]["candidates"]
    assert candidates[0]["text"] == "la hundo dormas"
    assert [c["score"] for c in candidates] == sorted((c["score"] for c in candidates), reverse=True)
    assert len({c["text"] for c in candidates}) == 3
    assert set(candidates[0]) == {"text", "score", "log_prob"}
    table = run(folder, "the dog sleeps", "--n-best", 3).stdout
    assert "the dog sleeps" in table and "log P" in table and "\x1b" not in table
    assert candidates[0]["score"] == pytest.approx(candidates[0]["log_prob"] / 4, abs=1e-5)


def test_a_text_of_two_segmentations_stands_there_once(run: Run, tmp_path: Path) -> None:
    """a|bc, ab|c, a|b|c: with the figures of the best of them; the best one is that of a search for one."""
    parts = TokenizerConfig(kind="bpe_words", vocab_size=9)
    tokenizer = train_tokenizer(["aab abb ab", "ab aab"], parts)
    torch.manual_seed(4)
    settings: dict[str, Any] = {"width": 8, "embedding_dim": 8, "attention_width": 8}
    model = AttentionSeq2Seq(AttentionSeq2Seq.Config(**settings), tokenizer.vocab_size, tokenizer.vocab_size)
    model.save(tmp_path / "M")
    for side in ("source", "target"):
        tokenizer.save(tmp_path / "M" / f"{side}.json")
    how = ("ab aab", "--beam", 200, "--max-length", 3, "--json")
    (result,) = answer(run(tmp_path / "M", *how, "--n-best", 30))
    candidates = result["translations"][0]["candidates"]
    texts = [candidate["text"] for candidate in candidates]
    assert len(texts) > 15 and len({*texts}) == len(texts)
    assert [c["score"] for c in candidates] == sorted((c["score"] for c in candidates), reverse=True)
    (best,) = answer(run(tmp_path / "M", *how))[0]["translations"][0]["candidates"]
    assert best == candidates[0]


def test_models_side_by_side(run: Run, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "other")
    (result,) = answer(run(folder, "a dog", "-m", tmp_path / "other", "--json"))
    assert [column["model"] for column in result["translations"]] == ["learned", "other"]
    table = run(folder, "a dog", "-m", tmp_path / "other").stdout
    assert table.count("hundo") == 2 and "other" in table
    shutil.copytree(folder, tmp_path / "twin" / "learned")
    (result,) = answer(run(folder, "a dog", "-m", tmp_path / "twin" / "learned", "--json"))
    assert [column["model"] for column in result["translations"]] == [str(folder), str(tmp_path / "twin" / "learned")]


def test_attention_as_numbers_characters_and_picture(run: Run, folder: Path, tmp_path: Path) -> None:
    (results,) = answer(run(folder, "the cat runs", "--attention", "--json"))
    best = results["translations"][0]["candidates"][0]
    assert best["source_tokens"] == ["the", "cat", "runs", "<eos>"]
    assert best["output_tokens"] == ["la", "kato", "kuras", "<eos>"]
    assert np.array(best["attention"]).shape == (4, 4)
    np.testing.assert_allclose(np.sum(best["attention"], axis=1), 1, atol=1e-3)
    output = run(folder, "the cat runs", "--attention").stdout
    assert "attention of learned" in output
    assert all(
        line in output for line in attention_lines(best["source_tokens"], best["output_tokens"], best["attention"])
    )
    result = run(folder, "the cat runs", "--attention-svg", tmp_path / "map.svg")
    assert result.stdout == "la kato kuras\n"
    assert (tmp_path / "map.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_golden_attention_map() -> None:
    lines = attention_lines(["ab", "c", "国"], ["x", "国王"], [[1.0, 0.0, 0.0], [0.1, 0.3, 0.6]])
    assert lines == [
        "     a",
        "     b c 国",
        "   x ██",
        "国王 ░░▒▒▓▓",
    ]


def test_an_attention_map_keeps_letters_with_their_marks_in_columns_two_cells_wide() -> None:
    lines = attention_lines(["हिन्दी", "के", "본", "e\u0301t"], ["ดี", "x"], [[1.0, 0.0, 0.3, 0.6], [0.0, 0.1, 0.3, 1.0]])
    assert lines == [
        "  हि     e\u0301",
        "  न्दीके 본t",
        "ดี ██  ▒▒▓▓",
        "x   ░░▒▒██",
    ]
    assert attention_lines(["သားများ"], ["x"], [[1.0]]) == ["  သား", "  များ", "x ██"]


def test_an_attention_map_shows_a_torn_byte_as_its_two_digits() -> None:
    assert attention_lines([r"\xe1\x9e", "a"], ["x"], [[1.0, 0.0]]) == ["  e1", "  9ea", "x ██"]


def test_an_attention_map_of_a_text_from_the_right_begins_there() -> None:
    lines = attention_lines(["كتب", "هو"], ["he", "wrote"], [[0.0, 1.0], [0.6, 0.0]])
    mark = "\u200e"  # keeps each letter in its column where the terminal turns the line
    assert lines == [
        f"        {mark}ك",
        f"      ه {mark}ت",
        f"      و {mark}ب",
        "   he ██",
        "wrote   ▓▓",
    ]


def test_samples_follow_the_seed(run: Run, folder: Path) -> None:
    def drawn(seed: int) -> list[str]:
        options = ("--sample", "--n-best", 6, "--temperature", 20, "--seed", seed, "--json")
        (result,) = answer(run(folder, "the cat sleeps", *options))
        return [candidate["text"] for candidate in result["translations"][0]["candidates"]]

    assert len(drawn(1)) == 6
    assert drawn(1) == drawn(1) != drawn(2)


def test_a_conversation(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs: Iterator[str] = iter(["a dog", "", "the cat sleeps"])

    def listen(_: str = "") -> str:
        try:
            return next(inputs)
        except StopIteration:
            raise EOFError from None

    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(
        "langladder.faces.cli.translate.sys", SimpleNamespace(stdin=terminal, stdout=terminal, stderr=terminal)
    )
    monkeypatch.setattr(builtins, "input", listen)
    result = run(folder)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == ["hundo", "", "la kato dormas", ""]
    assert "Ctrl-D" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing", "a dog"], "missing: not a translator"),
        (["M", "a dog", "--n-best", "8"], "n_best=8 exceeds width=5"),
        (["M", "a dog", "--groups", "2"], "groups=2 does not divide width=5"),
        (["M", "a dog", "--file", "x"], "give either"),
        (["M", "--file", "no-such-file"], "no-such-file"),
        (["M", "a dog", "a dog", "--attention-svg", "x.svg"], "needs one sentence and one model"),
        (["M", " ", "--attention-svg", "x.svg"], "the sentence is empty"),
        (["M", "a dog", "--n-best", "2", "-o", "x.txt"], "add --json"),
        (["M", "a dog", "--beam", "0"], "--beam"),
    ],
)
def test_bad_input_is_reported(run: Run, folder: Path, arguments: list[str], message: str) -> None:
    result = run(*(folder if argument == "M" else argument for argument in arguments))
    assert result.exit_code == 2 and message in result.stderr, result.output
    assert result.stdout == "" and "Traceback" not in result.output


def test_a_line_that_is_no_sentence_is_refused_before_it_is_tokenized(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tokenizer would take 150 bytes of memory for each byte of the line."""
    text = "a dog\n" + "a dog " * 100_000
    (tmp_path / "in.txt").write_text(text)
    monkeypatch.setattr(Tokenizer, "encode_lines", lambda *_: pytest.fail("the line was tokenized"))
    message = "a line longer than 400,000 bytes; each line is one text: split it"
    for result, where in (
        (run(folder, "-f", tmp_path / "in.txt", "-o", tmp_path / "out.txt"), f"{tmp_path}/in.txt:2: {message}"),
        (run(folder, text=text), f"standard input:2: {message}"),
        (
            run(folder, "a dog " * 20_000),
            "'a dog a dog a dog a dog a dog a dog a do' … has 120,000 characters; a sentence can",
        ),
    ):
        assert result.exit_code == 2 and where in result.stderr and len(result.stderr) < 300, result.output
    assert not (tmp_path / "out.txt").exists()
    with pytest.raises(InputError, match=r"in\.txt:2: a line longer than 400,000 bytes"):
        list(input_lines([str(tmp_path / "in.txt")]))


def test_a_pipe_that_is_not_utf8_is_reported(folder: Path) -> None:
    result = CliRunner().invoke(app, ["translate", str(folder)], input=b"caf\xe9\n")
    assert result.exit_code == 2 and "standard input: not UTF-8" in result.stderr


def test_a_model_without_attention_says_so(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = AttentionSeq2Seq.step

    def blind(self: AttentionSeq2Seq, prefix: torch.Tensor, state: State) -> tuple[torch.Tensor, State, None]:
        return *step(self, prefix, state)[:2], None

    monkeypatch.setattr(AttentionSeq2Seq, "step", blind)
    assert run(folder, "a dog").stdout == "hundo\n"
    for option in (["--attention"], ["--coverage", "0.2"], ["--attention-svg", "x.svg"]):
        result = run(folder, "a dog", *option)
        assert result.exit_code == 2 and "no attention" in result.stderr, result.output


DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "translation.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?m)^\$ langladder translate (.*)$", PAGE)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_page_work(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name in ("attention", "transformer"):
        shutil.copytree(folder, tmp_path / "models" / "translator" / name)
    (tmp_path / "test.en").write_text("the cat runs\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = run(*shlex.split(command))
    assert result.exit_code == 0, result.output


def test_options_of_the_page_are_the_commands(run: Run) -> None:
    help_text = run("--help").stdout
    searching = (DOCS / "settings.md").read_text(encoding="utf-8").partition("## Translators: search\n")[2]
    commands = "\n".join(command for command in COMMANDS if "export" not in command)
    options = set(re.findall(r"--[a-z][a-z-]+", commands + searching.partition("\n## ")[0]))
    assert len(COMMANDS) >= 7 and len(options) > 12
    assert {option for option in options if option not in help_text} == set()
