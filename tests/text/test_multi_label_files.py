"""Multi-label texts from files to clean splits: every way to write them gives the same sets; mixtures are refused."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import ValidationError
from refusing import refused

from langladder.ground.errors import InputError
from langladder.text.clean.splitting import SplitConfig
from langladder.text.labelled.clean_labelled import CleanLabelledConfig, clean_labels
from langladder.text.labelled.folds import Folds
from langladder.text.labelled.label_files import LabelledSource, read_labels
from langladder.text.labelled.labelled import MULTI_LABELLED, Example, read_labelled
from langladder.text.labelled.labelled import read_labels as label_names
from langladder.text.storage.tables import write_table

SETS = [("food", "animals"), (), ("work",)]
WANTED = [Example("t0", labels=("animals", "food")), Example("t1", labels=()), Example("t2", labels=("work",))]


def read(folder: Path, split: str = "all", **settings: object) -> list[Example]:
    read_labels(LabelledSource.model_validate({"path": str(folder), **settings}), folder.parent / "raw")
    return [item._replace(id="") for item in read_labelled(folder.parent / "raw" / f"{split}.parquet")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "given").mkdir()
    return tmp_path / "given"


def rows(sets: list[object]) -> str:
    return "".join(f"{json.dumps({'text': f't{n}', 'label': item})}\n" for n, item in enumerate(sets))


def test_lists_and_separators_give_the_same_sets(folder: Path) -> None:
    (folder / "a.jsonl").write_text(rows([list(item) for item in SETS]))
    assert read(folder, multi_label="list") == WANTED
    (folder / "a.jsonl").write_text(rows([" | ".join(item) for item in SETS]))
    assert read(folder, multi_label="|") == WANTED
    (folder / "a.jsonl").unlink()
    (folder / "a.csv").write_text("text,label\n" + "".join(f"t{n},{'; '.join(item)}\n" for n, item in enumerate(SETS)))
    assert read(folder, multi_label=";") == WANTED
    (folder / "a.csv").unlink()
    table = pa.table({"text": ["t0", "t1", "t2"], "label": [list(item) for item in SETS]})
    write_table(folder / "a.parquet", table)
    assert read(folder, multi_label="list") == WANTED
    renamed = read(folder, multi_label="list", rename={"food": "meal", "work": None})
    assert [item.labels for item in renamed] == [("animals", "meal"), (), ()]
    assert [item.truth for item in renamed] == ["animals, meal", "(none)", "(none)"]


def test_labels_twice_numbers_and_pairs(folder: Path) -> None:
    (folder / "a.jsonl").write_text(json.dumps({"text": "a", "label": [7, "b:x", "b:y", " "], "other": "c"}) + "\n")
    assert read(folder, multi_label="list", label_before=":", second="other") == [Example("a", "c", labels=("7", "b"))]


def test_one_label_and_several_do_not_mix(folder: Path) -> None:
    file = folder / "a.jsonl"
    for sets, how, message in (
        (
            [["a"], "b"],
            "list",
            r"a\.jsonl:2: field 'label' is of type str, but multi_label: list needs a list in every row",
        ),
        ([["a"], None], "list", r"a\.jsonl:2: field 'label' is of type NoneType.*\[\] for a text without labels"),
        (["b", ["a"]], None, r"a\.jsonl:2: field 'label' is a list, but multi_label is null.*set multi_label: list"),
        ([["a"]], ";", r"is a list, but multi_label is ';'; set multi_label: list.*params\.yaml: data: {labels:"),
        ([["a", 1.5]], "list", r"label: field 'label' is of type float; text is needed"),
    ):
        file.write_text(rows(list(sets)))
        refused(lambda how=how: read(folder, multi_label=how), folder, message)  # type: ignore[misc]
    file.rename(folder / "a.tsv")
    (folder / "a.tsv").write_text("text\tlabel\na\tb\n")
    refused(lambda: read(folder, multi_label="list"), folder, "a cell of a table is not a list; give the separator")
    (folder / "a.tsv").rename(folder / "a.ptb")
    refused(lambda: read(folder, multi_label=";"), folder, r"this file has one label per text \(layout: trees\)")
    with pytest.raises(ValidationError, match=r"multi_label: ';' with layout: folders.*columns, fields and auto"):
        LabelledSource(path="x", layout="folders", multi_label=";")


def test_a_held_out_label_must_be_one_of_train(folder: Path) -> None:
    (folder / "train.csv").write_text("text,label\na,x;y\nb,\n")
    (folder / "test.csv").write_text("text,label\nc,y;z\n")
    files = {"train": "train*", "test": "test*"}
    refused(
        lambda: read(folder, multi_label=";", files=files), folder, r"test\.csv:2: 'z' is not a label of the training"
    )


def test_splits_are_stratified_by_the_rarest_label(tmp_path: Path) -> None:
    """Of 400 texts 200 have a, 20 of these b, too; 200 have none."""
    sets = [["a", "b"] if n < 20 else ["a"] if n < 200 else [] for n in range(400)]
    raw = [{"text": f"text {n}", "labels": own} for n, own in enumerate(sets)]
    write_table(tmp_path / "raw" / "all.parquet", pa.Table.from_pylist(raw, schema=MULTI_LABELLED))
    config = CleanLabelledConfig(split=SplitConfig(test=0.2, validation=0.1))
    report = clean_labels(tmp_path / "raw", tmp_path / "clean", config, 1)
    assert report["labels"] == {
        "train": {"a": 140, "b": 14},
        "validation": {"a": 20, "b": 2},
        "test": {"a": 40, "b": 4},
    }
    assert [report["splits"][split]["examples"] for split in ("train", "validation", "test")] == [280, 40, 80]
    assert label_names(tmp_path / "clean") == ["a", "b"] and report["several_labels"]["texts"] == 0
    result = [
        item for split in ("train", "validation", "test") for item in read_labelled(tmp_path / f"clean/{split}.parquet")
    ]
    assert {item.text: item.labels for item in result} == {row["text"]: tuple(row["labels"]) for row in raw}
    folds = Folds.read(tmp_path / "clean", read_labelled, Example.dealt_by, 4)
    assert sorted(set(folds.fold.tolist())) == [1, 2, 3, 4]


def test_texts_without_any_label_are_no_task(tmp_path: Path) -> None:
    raw = [{"text": f"text {n}", "labels": []} for n in range(40)]
    write_table(tmp_path / "raw" / "all.parquet", pa.Table.from_pylist(raw, schema=MULTI_LABELLED))
    with pytest.raises(InputError, match="all examples have no label; at least two are needed"):
        clean_labels(tmp_path / "raw", tmp_path / "clean", CleanLabelledConfig(), 1)
