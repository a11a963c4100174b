"""Folds: every example is tested once, equal texts together, labels in equal shares, the same folds for all."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from langladder.families.folds import Part
from langladder.ground.errors import InputError
from langladder.text.labelled.folds import Folds, training_splits
from langladder.text.labelled.labelled import LABELLED, Example, read_labelled
from langladder.text.storage.tables import write_table

import pyarrow as pa  # isort: skip


def corpus(folder: Path, rows: dict[str, list[tuple[str, str]]]) -> Path:
    folder.mkdir(exist_ok=True)
    for split in ("train", "validation", "test"):
        results = [Example(text, label=label)._asdict() for text, label in rows.get(split, [])]
        write_table(folder / f"{split}.parquet", pa.Table.from_pylist(results, LABELLED))
    return folder


def rows(count: int, start: int = 0) -> list[tuple[str, str]]:
    """A fifth of them bad."""
    return [(f"text {number}", "bad" if number % 5 == 0 else "good") for number in range(start, start + count)]


@pytest.mark.parametrize("count", [3, 7, 10])
def test_every_example_is_the_test_once(tmp_path: Path, count: int) -> None:
    whole = {"train": rows(60), "validation": rows(11, 60), "test": [*rows(30, 71), ("text 3", "good")]}
    folder = corpus(tmp_path, whole)
    dealt = Folds.read(folder, read_labelled, Example.dealt_by, count)
    assert [(row.text, row.label) for row in dealt.rows] == [*whole["train"], *whole["validation"], *whole["test"]]
    tested = []
    for number in range(1, count + 1):
        train, validation = training_splits(folder, read_labelled, Example.dealt_by, Part(number=number, of=count))
        test = [row for row, fold in zip(dealt.rows, dealt.fold, strict=True) if fold == number]
        parts = [{item.text for item in part} for part in (train, validation, test)]
        assert not (parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2])  # "text 3" is there twice
        assert len(train) + len(validation) + len(test) == 102
        assert {item.label for item in train} == {"bad", "good"}
        tested += test
        bad = sum(item.label == "bad" for item in test)
        assert abs(bad - 21 / count) < 1 and abs(len(test) - 102 / count) <= 2
    assert Counter(tested) == Counter(dealt.rows)


def test_folds_follow_from_the_texts_alone(tmp_path: Path) -> None:
    """Not from their order, nor from the split that they were in."""
    first = Folds.read(corpus(tmp_path / "a", {"train": rows(50)}), read_labelled, Example.dealt_by, 5)
    other = corpus(tmp_path / "b", {"train": rows(20, 30)[::-1], "test": rows(30)})
    second = Folds.read(other, read_labelled, Example.dealt_by, 5)
    of = [{row.text: fold for row, fold in zip(item.rows, item.fold.tolist(), strict=True)} for item in (first, second)]
    assert of[0] == of[1] and np.unique(first.fold).tolist() == [1, 2, 3, 4, 5]


def test_parts_of_the_training_texts_are_equal_and_share_nothing(tmp_path: Path) -> None:
    folder = corpus(tmp_path, {"train": rows(80), "validation": rows(20, 80), "test": rows(10, 100)})
    parts = [
        training_splits(folder, read_labelled, Example.dealt_by, None, Part(number=number, of=4))
        for number in (1, 2, 3, 4)
    ]
    for index, (split, bad) in enumerate((("train", 4), ("validation", 1))):
        whole = read_labelled(folder / f"{split}.parquet")
        assert Counter(row for part in parts for row in part[index]) == Counter(whole)
        assert all(len(part[index]) == len(whole) / 4 for part in parts)
        assert all(sum(row.label == "bad" for row in part[index]) == bad for part in parts)
    assert training_splits(folder, read_labelled, Example.dealt_by, None)[0] == read_labelled(folder / "train.parquet")


def test_too_few_texts_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"folds: 10, but .* has 4 different texts; set fewer folds"):
        Folds.read(corpus(tmp_path, {"train": rows(4)}), read_labelled, Example.dealt_by, 10)
    folder = corpus(tmp_path, {"train": [*rows(40), ("one", "odd")], "test": [("two", "odd"), ("two", "odd")]})
    with pytest.raises(InputError, match=r"the label 'odd' has 2 different texts.*needs 3.*rename: \{'odd': null\}"):
        Folds.read(folder, read_labelled, Example.dealt_by, 10)
    folder = corpus(tmp_path, {"train": [*rows(40), ("one", "odd")], "test": [("two", "odd"), ("three", "odd")]})
    for number in range(1, 11):
        train, _ = training_splits(folder, read_labelled, Example.dealt_by, Part(number=number, of=10))
        assert "odd" in {item.label for item in train}
