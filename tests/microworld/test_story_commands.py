"""python -m microworld: draws, scores, errors; imports of the package."""

import ast
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.parquet as pq
import pytest

from microworld import corpora
from microworld.__main__ import main
from microworld.corpora import SIZES, draw_text, shards
from microworld.engine import World, world
from microworld.floors import check
from microworld.lexicon import HERE, MOODS, SUBJECTS
from microworld.notation import RuleError
from microworld.translation import Translation
from microworld.truth import agreement

FIRST = "john is a farmer from london who likes books ."


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a command says where it fails."""
    try:
        assert main(arguments) == 1
    except SystemExit as stopped:  # a wrong argument
        assert stopped.code == 1
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    return printed


def test_text_is_printed_story_by_story(capsys: pytest.CaptureFixture[str]) -> None:
    stories = run(capsys, "draw", "--size", "tiny", "--seed", "3", "--split", "test").rstrip("\n").split("\n\n")
    rows = draw_text(3, "test", 0, SIZES["tiny"].stories[2]).to_pylist()
    assert len(stories) == SIZES["tiny"].stories[2]
    assert [line for story in stories for line in story.split("\n")] == [row["text"] for row in rows]


@pytest.mark.parametrize("kind", ["text", "parquet"])
def test_more_processes_draw_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    monkeypatch.setattr(corpora, "SHARD", 60)
    assert len(shards(SIZES["tiny"].stories[0])) == 5
    for jobs in ("1", "3"):
        run(capsys, "draw", "--format", kind, "--out", str(tmp_path / jobs), "--jobs", jobs)
    item, three = (next((tmp_path / jobs).iterdir()) for jobs in ("1", "3"))
    assert item.read_bytes() == three.read_bytes()
    if kind == "parquet":
        assert pq.read_table(item)["document"].to_pylist()[-1] == SIZES["tiny"].stories[0] - 1


def test_shards_do_not_depend_on_the_order_in_which_they_are_drawn() -> None:
    in_order = [draw_text(1, "train", shard, 5) for shard in (0, 1, 2)]
    assert [draw_text(1, "train", shard, 5) for shard in (2, 1, 0)] == in_order[::-1]
    assert in_order[0] != in_order[1]


def test_seeds_and_splits_draw_other_text() -> None:
    drawn = [draw_text(*arguments, 0, 5)["text"].to_pylist() for arguments in ((1, "train"), (2, "train"), (1, "test"))]
    assert drawn[0] != drawn[1] != drawn[2] != drawn[0]


def test_pairs_labels_and_tags(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pairs = run(capsys, "draw", "--pairs", "--split", "test").splitlines()
    assert len(pairs) == SIZES["tiny"].pairs[2]
    assert all(line.count("\t") == 1 for line in pairs)
    labels = run(capsys, "draw", "--labels", "mood", "--split", "test").splitlines()
    assert {line.split("\t")[0] for line in labels} == {"happy", "sad", "angry", "afraid"}
    lines = run(capsys, "draw", "--tags", "entities", "--split", "test").rstrip("\n").split("\n\n")
    assert len(lines) == SIZES["tiny"].tagged[2]
    tags = [word.split("\t")[1] for line in lines for word in line.split("\n")]
    assert set(tags) == {"O", "B-PER", "B-LOC"}
    run(capsys, "draw", "--labels", "subject", "--format", "parquet", "--out", str(tmp_path))
    table = pq.read_table(tmp_path / "train.parquet")
    assert table.column_names == ["text", "label", "log_prob", "ceiling"]
    assert table.num_rows == SIZES["tiny"].labelled[0]


@pytest.mark.parametrize("task", ["subject", "mood"])
def test_labels_are_as_frequent_as_the_beliefs_of_their_reader(task: str) -> None:
    """The sum over texts of [label = k] − P(k | text), for each k; and log_prob and ceiling are those of P."""
    here = World(curves={"turns": (corpora.TURNS,)})
    names = SUBJECTS if task == "subject" else MOODS
    differences = []
    for row in corpora.draw_labels(5, "test", 300, task):
        reading = here.read([line.split() for line in re.findall(r"[^.?]+[.?]", row["text"])])
        assert reading is not None
        chances = reading.belief.reshape(len(SUBJECTS), len(MOODS)).sum(axis=1 if task == "subject" else 0)
        assert row["log_prob"] == pytest.approx(math.log(chances[names.index(row["label"])]), abs=1e-8)
        assert row["ceiling"] == pytest.approx(chances.max(), abs=1e-8)
        differences.append([(name == row["label"]) - p for name, p in zip(names, chances, strict=True)])
    result = np.array(differences)  # (texts, labels)
    assert (abs(result.sum(axis=0)) < 5 * np.sqrt((result**2).sum(axis=0)) + 1).all()


def test_a_word_without_a_part_of_speech_is_named() -> None:
    with pytest.raises(RuleError, match=r"function_words\.tsv: expected a row with the part of speech of today"):
        corpora.part_of_speech(["today"], ["word"], 0)


def test_a_file_that_exists_is_not_replaced(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text("mine")
    assert "test.txt exists already" in error(capsys, "draw", "--split", "test", "--out", str(tmp_path))
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("test.txt", "mine")]


def test_scores_are_the_stored_log_probs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "stories.txt"
    file.write_text(run(capsys, "draw", "--seed", "4", "--split", "validation"))
    printed = run(capsys, "score", str(file)).splitlines()
    rows = draw_text(4, "validation", 0, SIZES["tiny"].stories[1]).to_pylist()
    scored = [line.split("\t") for line in printed if line]
    assert [text for _, text in scored] == [row["text"] for row in rows]
    assert [float(p) for p, _ in scored] == pytest.approx([row["log_prob"] for row in rows], abs=1e-6)
    assert printed.count("") == SIZES["tiny"].stories[1] - 1


@pytest.mark.parametrize(("text", "message"), [
    (f"{FIRST}\n\n\n{FIRST}\nhe lived .\n", '5: "lived" (word 2) cannot stand here; expected '),
    (f"{FIRST}\nhe likes tea .\n", '2: "tea" (word 3) cannot stand here; expected books'),
    (f"{FIRST}\nhe likes books\n", '2: the line cannot end after "books"; expected .'),
    (f"{FIRST}\nhe likes books . .\n", '2: "." (word 5) cannot stand here; expected the end of the line'),
    ("\nhe likes books .\n", '2: "he" (word 1) cannot stand here; expected john, mary, '),
])  # fmt: skip
def test_an_impossible_story_is_named_by_line_and_word(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "stories.txt"
    file.write_text(text)
    for command in ("score", "floors"):
        assert f"{file}:{message}" in error(capsys, command, str(file))


def test_floors_are_printed_with_their_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "stories.txt"
    rng = Random("floors")
    file.write_text("\n\n".join("\n".join(line.text for line in world().draw(rng)) for _ in range(4)))
    head, *rows = run(capsys, "floors", str(file), "--seen", "1", "0", "--lines", "10").splitlines()
    assert head.split("\t") == ["lines seen", "nats per word", "standard error", "perplexity per word"]
    splits = [row.split("\t") for row in rows]
    assert [row[0] for row in splits] == ["0", "1", "all"]
    assert all(math.exp(float(nats)) == pytest.approx(float(perplexity), abs=0.01) for _, nats, _, perplexity in splits)
    assert float(splits[0][2]) > 0


def test_next_words(capsys: pytest.CaptureFixture[str]) -> None:
    first = run(capsys, "next", "--top", "100", "").splitlines()
    assert sum(float(line.split("\t")[0]) for line in first) == pytest.approx(1, abs=1e-4)
    # the line ends by itself; his town is known
    assert run(capsys, "next", f"{FIRST} where does he live ? in") == "1.000000\tlondon\n"
    assert len(run(capsys, "next", f"{FIRST} he").splitlines()) == 10


@pytest.mark.parametrize(("arguments", "message"), [
    (("draw", "--size", "huge"), "invalid choice: 'huge' (choose from"),
    (("draw", "--format", "parquet"), "--format parquet needs --out"),
    (("draw", "--jobs", "0"), "--jobs 0: expected at least 1"),
    (("draw", "--pairs", "--labels", "mood"), "not allowed with"),
    (("score", "no/such/file"), "No such file or directory"),
    (("floors", "/dev/null"), "/dev/null: there is no story"),
    (("next", "john is a fish"), '"fish" cannot stand here; expected '),
    (("check", "no/such.rules"), "No such file or directory"),
    ((), "required: command"),
])  # fmt: skip
def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    assert message in error(capsys, *arguments)


@pytest.mark.parametrize("command", ["score", "check"])
def test_a_file_that_is_no_text_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes("ŝafo café".encode("iso-8859-3", "replace"))
    assert "latin.txt: no text in UTF-8" in error(capsys, command, str(file))


def test_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert [line.split(":")[0] for line in run(capsys, "check").splitlines()] == ["english.rules", "esperanto.rules"]
    file = tmp_path / "mine.rules"
    file.write_text((HERE / "english.rules").read_text().replace("$town.p . !mention", "$twon.p . !mention"))
    assert "mine.rules:" in error(capsys, "check", str(file))
    file.write_text((HERE / "esperanto.rules").read_text().replace("PLACE+noun.s.nom", "PLACE+noun.s"))
    assert "mine.rules:" in error(capsys, "check", str(file))


@pytest.mark.long
def test_of_two_texts_of_agreement_the_good_one_is_possible_and_the_bad_one_is_not() -> None:
    for line in agreement(world(), Random("agreement"))[::20]:
        probe = json.loads(line)
        good, bad = ([text.split() for text in probe[kind].split("\n")] for kind in ("good", "bad"))
        assert world().read(good) is not None, good
        assert world().read(bad) is None, bad


def test_the_package_imports_numpy_and_pyarrow_alone() -> None:
    allowed = set(sys.stdlib_module_names) | {"microworld", "numpy", "pyarrow"}
    for file in HERE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            assert {name.split(".")[0] for name in names} <= allowed, file
    loaded = "import sys, microworld.__main__; print({'langladder', 'torch', 'dvc', 'hydra'} & sys.modules.keys())"
    assert (
        subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout == "set()\n"
    )


README = (HERE / "README.md").read_text(encoding="utf-8")


def test_the_stories_of_the_readme_are_the_first_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "draw", "--seed", "2026", "--split", "test") in README, "draw them again, and the floors"


def test_the_rule_of_the_readme_fits_in(tmp_path: Path) -> None:
    english, esperanto = tmp_path / "english.rules", tmp_path / "esperanto.rules"
    for file, word, below in ((english, "today", "then"), (esperanto, "hodiaŭ", "tiam")):
        new = next(line for line in README.splitlines() if line.startswith("    ") and f"{word} <sentence" in line)
        rules = (HERE / file.name).read_text(encoding="utf-8").splitlines()
        rules.insert(1 + next(at for at, line in enumerate(rules) if f"{below} <sentence" in line), new)
        file.write_text("\n".join(rules), encoding="utf-8")
    here = World(path=english)
    check(here)
    with pytest.raises(RuleError) as caught:
        Translation(here)
    assert f"microworld: {caught.value}\n" in README
    story = [line.split() for line in (FIRST, "today he likes books .")]
    assert here.read(story) is None  # a fact, which is no event
    story[1] = ["today", "he", "loved", "the", "cow", "."]
    reading = here.read(story)
    assert reading is not None
    assert Translation(here, esperanto).translate(story[1], reading.lines[1])[0] == "hodiaŭ"


def test_the_floors_of_the_readme_are_in_order() -> None:
    rows = [line.split(" | ") for line in README.split("perplexity per word |")[1].split("\n\n")[0].splitlines()[2:]]
    perplexities = [float(row[3].rstrip(" |")) for row in rows]
    assert len(perplexities) == 5
    assert perplexities == sorted(perplexities, reverse=True)
