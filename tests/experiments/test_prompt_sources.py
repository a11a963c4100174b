"""Items of prompted tasks: drawn items, files, options, verdicts by hand."""

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import ValidationError

from langladder.evaluation.prompting import Item, PromptFormat, Shots
from langladder.experiments.experiment import Data
from langladder.experiments.prompt_sources import FileSource, LabelsSource, TextSource, WorldSource, read_items
from langladder.experiments.prompting import Asked, PromptTask, findings, items_of
from langladder.ground.errors import InputError

TASKS = get_args(WorldSource.model_fields["task"].annotation)
FORM = PromptFormat(template="{word} {answer}")


def world_source(task: str, **more: Any) -> WorldSource:
    return WorldSource.model_validate({"kind": "microworld", "task": task} | more)


@pytest.mark.parametrize("task", TASKS)
def test_microworld_draws_items_and_other_examples(task: str) -> None:
    items, pool = world_source(task).draw(Data(), 12, 1)
    assert 6 <= len(items) <= 12 and len(pool) >= 6
    assert world_source(task).draw(Data(), 12, 1) == (items, pool) != world_source(task).draw(Data(), 12, 2)
    seen = [tuple(item.fields.values()) for item in (*items, *pool)]
    assert len(set(seen)) == len(seen)


def test_golden_tasks_of_microworld() -> None:
    """The answers are right by the tables and the rules."""
    known = [*world_source("knowledge").draw(Data(), 500, 1)[0], *world_source("knowledge").draw(Data(), 500, 1)[1]]
    assert {entry.fields["text"]: entry.answer for entry in known}["he lives in paris ,"] == "france"
    item = world_source("agreement", clauses=0).draw(Data(), 1, 1)[0][0]
    assert len(item.options) == 2 and item.answer in item.options and "that" not in item.fields["text"]
    assert world_source("agreement", clauses=2).draw(Data(), 1, 1)[0][0].fields["text"].split().count("that") == 2
    assert all(entry.ceiling == 1.0 for entry in world_source("entailment").draw(Data(), 20, 1)[0])
    unsure = world_source("entailment", ambiguity=0.9).draw(Data(), 40, 1)[0]
    assert any(entry.ceiling is not None and entry.ceiling < 1 for entry in unsure)


def test_labels_and_last_words(data: Data) -> None:
    items, pool = LabelsSource(kind="labels").draw(data, 10, 1)
    assert len(items) == len(pool) == 10 and {item.answer for item in items} <= set("01234")
    items, pool = TextSource(kind="text", least=4).draw(data, 10, 1)
    assert all(item.answer.isalnum() and len(item.fields["text"].split()) >= 4 for item in (*items, *pool))


def test_options_are_the_answers_of_others(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("word\tanswer\n" + "".join(f"w{n}\ta{n}\n" for n in range(9)))
    source = FileSource(kind="file", folder=str(tmp_path), file="a.tsv")
    items, pool = items_of(FORM, source, Data(), count=100, options=4, seed=1)
    assert (len(items), len(pool)) == (5, 4)
    for item in items:
        assert len(set(item.options)) == 4 and item.options[item.right][1:] == item.fields["word"][1:]
        assert list(item.options) == sorted(item.options)
    few, _ = items_of(FORM, source, Data(), count=2, options=99, seed=1)
    assert len(few) == 2 and len(few[0].options) == 9


def test_files_bring_their_own_options(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("word\tanswer\toptions\nhot\tcold\tcold|warm\nbig\tsmall\tlarge | small\n")
    (tmp_path / "a.jsonl").write_text(
        '{"word": "hot", "answer": "cold", "options": ["cold", "warm"]}\n\n'
        '{"word": "big", "answer": "small", "options": ["large", "small"]}\n'
    )
    assert read_items(tmp_path / "a.tsv") == read_items(tmp_path / "a.jsonl")
    assert read_items(tmp_path / "a.tsv")[1].options == ("large", "small")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "x", "neither .tsv nor .jsonl"),
        ("a.tsv", "word\tlabel\nx\ty\n", "a.tsv:1: .*`answer` among them"),
        ("a.tsv", "answer\tanswer\nx\ty\n", "each once"),
        ("a.tsv", "word\tanswer\nx\ty\nz\n", "a.tsv:3: has 1 columns, the first line names 2"),
        ("a.tsv", "word\tanswer\nx\t \nz\ty\n", "a.tsv:2: the answer '' is empty"),
        ("a.tsv", "word\tanswer\toptions\nx\ty\ta|b\n", "a.tsv:2: the answer 'y' is .*none of the options"),
        ("a.tsv", "word\tanswer\nx\ty\n", "has 1 items"),
        ("a.jsonl", "{}\n", "a.jsonl:1: not"),
        ("a.jsonl", "[1]\n", "a.jsonl:1: not"),
        ("a.jsonl", "{x\n", "a.jsonl:1: not JSON"),
        ("a.jsonl", '{"answer": "a", "word": 3}\n', "a.jsonl:1: fields are texts"),
        ("a.jsonl", '{"answer": "a", "options": "ab"}\n', "a.jsonl:1: fields are texts, `options` is a list"),
    ],
)
def test_bad_files_name_the_line(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_items(tmp_path / name)


def test_labels_without_words_and_fields_that_are_not_there(data: Data) -> None:
    source = LabelsSource(kind="labels")
    some = PromptFormat(template="{text} {answer}", verbalisers={"3": "good", "2": "so so"})
    with pytest.raises(InputError, match=r"no words for '[014]'.*there are words for 3, 2"):
        items_of(some, source, data, count=30, options=2, seed=1)
    with pytest.raises(InputError, match=r"\{word\} is not a field of the example; allowed: text, answer"):
        items_of(FORM, source, data, count=3, options=2, seed=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shots": [4, 0]}, "increasing numbers"),
        ({"shots": [0]}, "0 and another number are needed"),
        ({"source": {"kind": "web"}}, "web"),
        ({"source": {"kind": "microworld", "task": "chess"}}, "task"),
        ({"scoring": "sum"}, "scoring"),
    ],
)
def test_bad_tasks_are_refused(wrong: dict[str, Any], message: str) -> None:
    good = {"template": "{text} {answer}", "source": {"kind": "microworld", "task": "questions"}}
    with pytest.raises(ValidationError, match=message):
        PromptTask.model_validate(good | wrong)


ITEMS = [Item({"text": "a"}, ("x", "y"), number % 2) for number in range(40)]


def outcome(none: float, most: float, **more: Any) -> Any:
    """Findings of one network that gets such shares right without and with 4 examples, and an n-gram at chance."""
    task = PromptTask.model_validate(
        {"template": "{text} {answer}", "source": {"kind": "microworld", "task": "questions"}, "shots": [0, 4]} | more
    )

    def right(share: float, rows: int) -> np.ndarray:
        return np.tile(np.arange(40) < 40 * share, (rows, 1)).astype(float)

    def scores(network: bool, low: float, high: float) -> Asked:
        by = {0: Shots(0, 0.0, {"sum": right(low, 1)}, 0), 4: Shots(4, 3.5, {"sum": right(high, 3)}, 0)}
        return Asked(1000, network, by)

    result = {"gpt": scores(True, none, most), "kneser_ney": scores(False, 0.5, 0.5)}
    return findings(task, result, ITEMS, {"gpt": "GPT", "kneser_ney": "Kneser–Ney"})


def test_golden_verdicts() -> None:
    """60 % → 90 % over 40 items is a gain beyond doubt, 60 % → 62.5 % is not; 90 % is above a guess of 50 %."""
    helped, same = outcome(0.6, 0.9), outcome(0.6, 0.625)
    assert helped.holds is True and same.holds is None
    assert "GPT's context holds 3.5 of 4" in helped.verdict
    assert "GPT 90% (+30 points" in helped.verdict and "a blind guess gets 50%" in helped.verdict
    assert helped.figures == {
        "gpt_0_shots": 0.6,
        "gpt_4_shots": 0.9,
        "kneser_ney_0_shots": 0.5,
        "kneser_ney_4_shots": 0.5,
    }
    assert helped.rows[1][:5] == ["GPT", 1000.0, 4.0, 3.5, 0.9] and len(helped.rows) == 4
    assert outcome(0.9, 0.9, expects="above chance").holds is True
    assert outcome(0.5, 0.5, expects="above chance").holds is None
    assert outcome(0.5, 0.2, expects="above chance").holds is False
    assert helped.plots[0].levels == {"chance": 0.5, "most frequent": 0.5}


def test_a_world_is_needed_only_where_it_is_named() -> None:
    with pytest.raises(ValidationError, match="clauses"):
        world_source("agreement", clauses=9)
