"""Cleaning dialogues: steps, drops, splits, and what a judge reads left as it is."""

from pathlib import Path
from typing import Any

import pytest

from langladder.corpora.instructions.demonstrations import InstructionsConfig, write_instructions
from langladder.ground.errors import InputError
from langladder.text.clean.steps import LimitsConfig, StepsConfig
from langladder.text.labelled.clean_instructions import CleanInstructionsConfig, InstructionsReport, clean_instructions
from langladder.text.labelled.instructions import INSTRUCTION_SPLITS, Dialogue, Message, read_dialogues, write_dialogues


def dialogue(prompt: str, response: str, request: str | None = None) -> Dialogue:
    return Dialogue((Message("user", prompt), Message("assistant", response)), "mine", request)


def cleaned(folder: Path, tables: dict[str, list[Dialogue]], **more: Any) -> tuple[InstructionsReport, dict[str, Any]]:
    (folder / "raw").mkdir(exist_ok=True)
    for name, dialogues in tables.items():
        write_dialogues(folder / "raw" / f"{name}.parquet", dialogues)
    report = clean_instructions(folder / "raw", folder / "clean", CleanInstructionsConfig(**more), 1)
    return report, {split: read_dialogues(folder / "clean" / f"{split}.parquet") for split in INSTRUCTION_SPLITS}


def test_own_splits_are_kept_and_held_out_prompts_leave_train(tmp_path: Path) -> None:
    report, splits = cleaned(
        tmp_path,
        {
            "train": [
                dialogue("a", "1"),
                dialogue("b", "2"),
                dialogue("a", "1"),
                dialogue("c", "3"),
                dialogue("u", "9"),
            ],
            "validation": [dialogue("b", "other")],
            "test": [dialogue("t", "4")],
            "unseen": [dialogue("u", "5")],
        },
    )
    assert [item.prompt[0].text for item in splits["train"]] == ["a", "c"]
    dropped = {reason: result["count"] for reason, result in report["cleaning"]["dropped"].items()}
    assert dropped == {"duplicate": 1, "prompt_is_held_out": 2}
    assert {split: result["dialogues"] for split, result in report["splits"].items()} == {
        "train": 2,
        "validation": 1,
        "test": 1,
        "unseen": 1,
    }
    assert report["cut_by_hash"] == []
    assert report["kinds"]["train"] == {"mine": 2}
    assert report["leakage"]["validation"] == {"dialogues": 1, "prompts_in_train": 0.0}


def test_one_table_is_cut_by_prompt(tmp_path: Path) -> None:
    both = [dialogue(f"p{number % 30}", f"r{number}") for number in range(60)]
    report, splits = cleaned(tmp_path, {"all": both}, split={"validation": 0.2, "test": 0.2})
    prompts = {split: {item.prompt for item in result} for split, result in splits.items()}
    assert all(prompts[split] for split in ("train", "validation", "test"))
    assert not prompts["train"] & (prompts["validation"] | prompts["test"])
    assert sum(map(len, splits.values())) == 60 and splits["unseen"] == []
    assert report["cut_by_hash"] == ["train", "validation", "test"]
    assert report["splits"]["unseen"]["dialogues"] == 0
    _, again = cleaned(tmp_path, {"all": both[::-1]}, split={"validation": 0.2, "test": 0.2})
    assert {split: {item.prompt for item in result} for split, result in again.items()} == prompts


def test_steps_and_limits(tmp_path: Path) -> None:
    tables = {
        "train": [dialogue("  Name   a fruit", "A pear"), dialogue("long", "a b c d e"), dialogue("gone", "...")],
        "validation": [dialogue("v", "1")],
        "test": [dialogue("t", "1")],
    }
    steps = StepsConfig(lowercase=True, punctuation="remove", whitespace=True)
    report, splits = cleaned(tmp_path, tables, steps=steps, limits=LimitsConfig(max_words=5))
    assert [item.messages for item in splits["train"]] == [dialogue("name a fruit", "a pear").messages]
    assert {reason: result["count"] for reason, result in report["cleaning"]["dropped"].items()} == {
        "empty": 1,
        "too_long": 1,
    }


def test_a_worse_response_is_cleaned_and_stays_beside_the_better_one(tmp_path: Path) -> None:
    good = dialogue("a", "Yes")._replace(rejected=" No  way")
    tables = {
        "train": [good, good, good._replace(rejected="no"), good._replace(rejected="yes"), good._replace(rejected="?")],
        "validation": [dialogue("v", "1")],
        "test": [dialogue("t", "1")],
    }
    steps = StepsConfig(lowercase=True, punctuation="remove", whitespace=True)
    report, splits = cleaned(tmp_path, tables, steps=steps)
    assert [(item.response, item.rejected) for item in splits["train"]] == [("yes", "no way"), ("yes", "no")]
    dropped = {reason: result["count"] for reason, result in report["cleaning"]["dropped"].items()}
    assert dropped == {"duplicate": 1, "equal_answers": 1, "empty": 1}


def test_what_a_judge_reads_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    write_instructions(InstructionsConfig(size="tiny", examples=150), tmp_path / "raw")
    before = {split: read_dialogues(tmp_path / "raw" / f"{split}.parquet") for split in INSTRUCTION_SPLITS}
    report, splits = cleaned(tmp_path, {}, steps=StepsConfig(punctuation="remove"), iid=True)
    assert splits == before
    assert report["cleaning"]["dropped"] == {} == report["cleaning"]["changed_by_step"]
    assert all(result["prompts_in_train"] == 0 for result in report["leakage"].values())


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "no table train"),
        ({"all": [dialogue("a", "1")]}, "too few to cut"),
        ({"train": [dialogue("a", "1")], "validation": [dialogue("a", "2")], "test": [dialogue("b", "2")]}, "held out"),
        ({"train": [dialogue("a", "...")], "validation": [dialogue("a", "2")]}, "cleaning leaves nothing"),
        ({"train": [dialogue("a", "1")._replace(messages=(Message("user", "a"),))]}, "cleaning leaves nothing"),
    ],
)
def test_what_cannot_be_cut_is_refused(tmp_path: Path, tables: dict[str, list[Dialogue]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cleaned(tmp_path, tables, steps=StepsConfig(punctuation="remove"))
    assert not (tmp_path / "clean").exists()
