"""Cleaning labelled text: nothing is lost in silence, splits are stratified, words keep their places."""

from collections import Counter
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.text.clean.splitting import SplitConfig, hash_fraction
from langladder.text.clean.steps import StepsConfig
from langladder.text.labelled.clean_labelled import CleanLabelledConfig, clean_labels, clean_tags, cut_by_label
from langladder.text.labelled.labelled import (
    ID,
    LABELLED,
    TAGGED,
    bayes_accuracy,
    ordered,
    read_labelled,
    read_labels,
    read_tagged,
    write_labels,
)
from langladder.text.storage.shards import SPLITS
from langladder.text.storage.tables import write_table

LOWER = CleanLabelledConfig(steps=StepsConfig(lowercase=True, punctuation="isolate"))


def raw(folder: Path, **splits: list[dict[str, Any]]) -> Path:
    schema = TAGGED if any("words" in row for rows in splits.values() for row in rows) else LABELLED
    for split, rows in splits.items():
        write_table(folder / "raw" / f"{split}.parquet", pa.Table.from_pylist(rows, schema=schema))
    return folder / "raw"


def examples(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"text": f"text {number}", "label": "aab"[number % 3], **more} for number in range(count)]


def texts(folder: Path, split: str) -> list[str]:
    return [item.text for item in read_labelled(folder / f"{split}.parquet")]


# ---- splits


def test_splits_are_stratified_and_have_every_text_once(tmp_path: Path) -> None:
    report = clean_labels(raw(tmp_path, all=examples(300)), tmp_path / "clean", CleanLabelledConfig(), 1)
    assert report["labels"] == {
        "train": {"a": 180, "b": 90},
        "validation": {"a": 10, "b": 5},
        "test": {"a": 10, "b": 5},
    }
    result = [text for split in ("train", "validation", "test") for text in texts(tmp_path / "clean", split)]
    assert sorted(result) == sorted(row["text"] for row in examples(300))
    assert read_labels(tmp_path / "clean") == ["a", "b"]
    assert read_json(tmp_path / "clean" / "labels.json")["counts"] == report["labels"]


def test_ids_stay_with_their_rows(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    rows = [row | {"id": row["text"].strip()[::-1]} for row in examples(300)]
    write_table(tmp_path / "raw" / "all.parquet", pa.Table.from_pylist(rows, schema=LABELLED.append(ID)))
    clean_labels(tmp_path / "raw", tmp_path / "clean", CleanLabelledConfig(), 1)
    result = [item for split in SPLITS for item in read_labelled(tmp_path / "clean" / f"{split}.parquet")]
    assert len(result) == 300 and all(item.id == item.text[::-1] for item in result)


def test_only_what_is_lacking_is_cut_from_train(tmp_path: Path) -> None:
    folder = raw(tmp_path, train=examples(60), test=[{"text": "held out", "label": "a"}])
    report = clean_labels(folder, tmp_path / "clean", CleanLabelledConfig(), 1)
    assert report["cut_by_hash"] == ["validation"] and texts(tmp_path / "clean", "test") == ["held out"]
    assert report["splits"]["validation"]["examples"] == 3 and report["splits"]["train"]["examples"] == 57


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from("abc")), min_size=12, max_size=200), st.integers(0, 9))
def test_a_text_is_never_on_both_sides_and_no_label_leaves_train(rows: list[tuple[int, str]], seed: int) -> None:
    fractions = np.array([hash_fraction([str(text)], seed) for text, _ in rows])
    labels = [label for _, label in rows]
    config = SplitConfig(validation=0.2, test=0.2)
    try:
        splits = cut_by_label(fractions, labels, config)
    except InputError:
        assert len(set(fractions)) < 10
        return
    for text in set(fractions):
        assert len(set(splits[fractions == text])) == 1
    first = {text: labels[list(fractions).index(text)] for text in fractions}
    assert {first[text] for text in fractions[splits == 0]} == set(first.values())
    held = len(set(fractions[splits == 2]))
    assert abs(held - 0.2 * len(set(fractions))) <= len(set(labels))


def test_too_few_texts_to_cut() -> None:
    with pytest.raises(InputError, match="2 different texts of 2 labels, too few to cut test"):
        cut_by_label(np.array([0.1, 0.2]), ["a", "b"], SplitConfig())


def test_tens_of_thousands_of_labels_are_cut_within_seconds() -> None:
    labels = [f"label {number % 30_000}" for number in range(60_000)]
    began = monotonic()
    splits = cut_by_label(np.linspace(0, 1, 60_000, endpoint=False), labels, SplitConfig())
    assert monotonic() - began < 10  # a step that goes through all labels for each label takes a minute
    assert np.bincount(splits).tolist() == [54_000, 3_000, 3_000]
    assert len({label for label, split in zip(labels, splits, strict=True) if split == 0}) == 30_000


def test_a_tag_that_few_sentences_have_stays_in_train(tmp_path: Path) -> None:
    rows = [{"words": ["w", str(number)], "tags": ["A", "RARE" if number == 7 else "B"]} for number in range(40)]
    for seed in range(8):
        clean_tags(raw(tmp_path, all=rows), tmp_path / "clean", CleanLabelledConfig(), seed)
        train = read_tagged(tmp_path / "clean" / "train.parquet")
        assert any("RARE" in (item.tags or ()) for item in train)


# ---- duplicates and overlap


def test_duplicates_go_and_texts_with_two_labels_are_reported(tmp_path: Path) -> None:
    rows = [*examples(30), {"text": "text 0", "label": "a"}, {"text": "text 1", "label": "b"}]
    report = clean_labels(raw(tmp_path, all=rows), tmp_path / "clean", CleanLabelledConfig(), 1)
    assert report["cleaning"]["dropped"]["duplicate"] == {"count": 1, "examples": ["text 0"]}
    assert report["several_labels"] == {"texts": 1, "examples": ["text 1"]}
    assert report["leakage"]["test"]["in_train"] == report["leakage"]["validation"]["in_train"] == 0.0


@pytest.mark.parametrize(("iid", "kept"), [(False, 19), (True, 20)])
def test_held_out_texts_leave_train_unless_it_is_taken_as_it_is(tmp_path: Path, iid: bool, kept: int) -> None:
    folder = raw(tmp_path, train=examples(20), validation=examples(6)[5:], test=[{"text": "new", "label": "b"}])
    report = clean_labels(folder, tmp_path / "clean", CleanLabelledConfig(iid=iid), 1)
    assert report["splits"]["train"]["examples"] == kept
    assert report["leakage"]["validation"] == {"examples": 1, "in_train": float(iid)}


def test_both_texts_of_a_pair_count(tmp_path: Path) -> None:
    rows = [{"text": "a", "second": str(number), "label": "xy"[number % 2]} for number in range(20)]
    report = clean_labels(raw(tmp_path, all=[*rows, rows[3]]), tmp_path / "clean", CleanLabelledConfig(), 1)
    assert report["cleaning"]["dropped"]["duplicate"]["count"] == 1 and report["several_labels"]["texts"] == 0


# ---- steps


def test_words_of_trees_and_tags_keep_their_places(tmp_path: Path) -> None:
    tree = {
        "text": "Very Good !",
        "label": "4",
        "tree": "(4 (4 (2 Very) (3 Good)) (2 !))",
        "log_prob": 0.0,
        "ceiling": 1.0,
    }
    heads = {"text": "It's Bad,", "label": "0", "heads": [2, 0]}
    plain = {"text": "So, Good", "label": "4", "second": "Yes!"}
    rows = [tree, heads, plain]
    clean_labels(raw(tmp_path, train=rows, validation=rows[:1], test=rows[:2]), tmp_path / "clean", iid(LOWER), 1)
    item, two, three = read_labelled(tmp_path / "clean" / "train.parquet")
    assert (item.text, item.tree) == ("very good !", "(4 (4 (2 very) (3 good)) (2 !))")
    assert item.log_prob is None and item.ceiling is None  # known of the text as it was
    assert (two.text, two.heads) == ("It's Bad,".lower().replace("bad,", "Bad,"), (2, 0))  # "bad ," were two words
    assert (three.text, three.second) == ("so , good", "yes !")
    sentence = {"words": ["A", "B."], "tags": ["X", "Y"], "log_prob": 0.0, "ceilings": [1.0, 1.0]}
    folder = raw(tmp_path / "tags", train=[sentence], validation=[sentence], test=[sentence])
    clean_tags(folder, tmp_path / "tags" / "clean", iid(LOWER), 1)
    assert read_tagged(tmp_path / "tags" / "clean" / "test.parquet")[0].words == ("a", "B.")


def iid(config: CleanLabelledConfig) -> CleanLabelledConfig:
    return config.model_copy(update={"iid": True})


def test_statistics_and_the_best_possible_accuracy(tmp_path: Path) -> None:
    known = [row | {"log_prob": -0.1, "ceiling": 0.9} for row in examples(40)]
    report = clean_labels(raw(tmp_path, all=known), tmp_path / "clean", CleanLabelledConfig(), 1)
    test = report["splits"]["test"]
    assert test["best_possible_accuracy"] == 0.9 == pytest.approx(bayes_accuracy(tmp_path / "clean" / "test.parquet"))
    assert test["words"] == 4 and test["words_new_to_train"] == 0.5 and test["words_at_most"] == 2
    known[0]["ceiling"] = None
    assert clean_labels(raw(tmp_path, all=known), tmp_path / "clean", CleanLabelledConfig(), 1)["splits"]["train"][
        "best_possible_accuracy"
    ] in (None, 0.9)


def test_labels_that_are_numbers_are_in_their_order(tmp_path: Path) -> None:
    assert ordered(["10", "9", "1", "9"]) == ["1", "9", "10"] and ordered(["b", "10", "9"]) == ["10", "9", "b"]
    write_labels(tmp_path, ["1", "9"], {"train": Counter({"9": 2})})
    assert read_labels(tmp_path) == ["1", "9"]


# ---- what is refused


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ({"all": [{"text": str(number), "label": "a"} for number in range(30)]}, "all examples have one label, 'a'"),
        ({"all": [{"text": "x", "label": str(number)} for number in range(60)]}, "too few to cut test"),
        ({"train": examples(30), "validation": examples(3), "test": [{"text": "x", "label": "z"}]}, "'z' labels 'x'"),
        ({"train": examples(3), "validation": examples(3), "test": examples(3)}, "every training text is held out"),
        ({"all": [{"text": "", "label": "a"}]}, r"all\.parquet: cleaning leaves nothing \(empty 1\)"),
        (
            {"all": [{"text": f"{number}", "label": f"the text {number // 2}"} for number in range(90)]}
            | {"all": [{"text": f"{number}", "label": f"the text {min(number, 60)}"} for number in range(100)]},
            "61 labels for",
        ),
    ],
)
def test_bad_corpora_are_refused_and_leave_nothing(
    tmp_path: Path, splits: dict[str, list[dict[str, Any]]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        clean_labels(raw(tmp_path, **splits), tmp_path / "clean", CleanLabelledConfig(), 1)
    assert not (tmp_path / "clean").exists()


def test_a_strangers_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "clean").mkdir()
    (tmp_path / "clean" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="thesis"):
        clean_labels(raw(tmp_path, all=examples(60)), tmp_path / "clean", CleanLabelledConfig(), 1)
    assert (tmp_path / "clean" / "thesis.txt").read_text() == "mine"
