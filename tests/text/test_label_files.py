"""Readers of labelled texts: every layout gives the same examples; every bad input is named with file and line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pydantic import ValidationError
from refusing import refused

from langladder.ground.errors import InputError
from langladder.text.labelled.label_files import LabelledSource, read_labels
from langladder.text.labelled.labelled import ID, LABELLED, Example, read_labelled
from langladder.text.storage import tables
from pipeline import ROOT

TREES = "(4 (2 a) (4 (3 lovely) (2 film)))\n(0 (2 so) (0 dull))\n"


def read(folder: Path, split: str = "all", **settings: object) -> list[Example]:
    """Without their ids."""
    return [with_id._replace(id="") for with_id in read_with_ids(folder, split, **settings)]


def read_with_ids(folder: Path, split: str = "all", **settings: object) -> list[Example]:
    out = folder.parent / "raw"
    read_labels(LabelledSource.model_validate({"path": str(folder), **settings}), out)
    return read_labelled(out / f"{split}.parquet")


def refuses(folder: Path, message: str, **settings: object) -> None:
    refused(lambda: read(folder, **settings), folder, message)


def shipped(name: str) -> dict[str, Any]:
    """The settings of conf/labels/<name>.yaml for one's own files."""
    settings = yaml.safe_load((ROOT / "conf" / "labels" / f"{name}.yaml").read_text())["source"]
    return {key: value for key, value in settings.items() if key != "path"}


# ---- layouts


def test_tables_rows_and_folders_give_the_same_examples(folder: Path) -> None:
    wanted = {("so good", "pos"), ('"no", he said', "neg"), ("猫が好き", "pos")}
    rows = sorted(wanted)
    (folder / "a.tsv").write_text("label\ttext\n" + "".join(f"{label}\t{text}\n" for text, label in rows))
    cells = [(text.replace('"', '""'), label) for text, label in rows]
    (folder / "b.csv").write_text("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in cells))
    lines = "\n".join(json.dumps({"text": text, "label": label}) for text, label in rows)
    (folder / "c.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    table = pa.table({"text": [text for text, _ in rows], "label": [label for _, label in rows]})
    tables.write_table(folder / "d.parquet", table)
    for number, (text, label) in enumerate(rows):
        (folder / "e" / label).mkdir(parents=True, exist_ok=True)
        (folder / "e" / label / f"{number}.txt").write_text(f"{text}\n")
    for name in "abcde":
        where = folder / "e" if name == "e" else folder
        files = "**/*" if name == "e" else f"{name}.*"
        result = read(where, files=files)
        assert {(item.text, item.label) for item in result} == wanted, name
        assert all(item.second is None and item.tree is None and item.heads is None for item in result)


def test_the_shipped_settings_read_ones_own_files(folder: Path) -> None:
    (folder / "mine.csv").write_text("text,label\ngood,1\nbad,0\n")
    assert [(item.text, item.label) for item in read(folder, **shipped("text"))] == [("good", "1"), ("bad", "0")]
    (folder / "mine.csv").write_text("premise,hypothesis,label\na b,a,yes\na b,c,no\n")
    pairs = read(folder, **shipped("text") | shipped("pairs"))
    assert [(pair.text, pair.second, pair.label) for pair in pairs] == [("a b", "a", "yes"), ("a b", "c", "no")]


def test_names_in_another_case_and_other_delimiters(folder: Path) -> None:
    wanted = [("so, so", "1"), ("bad", "0")]
    (folder / "a.csv").write_text('Text;Label \n"so, so";1\nbad;0\n')
    assert [(item.text, item.label) for item in read(folder, **shipped("text") | {"delimiter": ";"})] == wanted
    (folder / "a.csv").write_text('TEXT,label,Label,Text\nx,"1",9,"so, so"\nx,0,9,bad\n')
    assert [(item.text, item.label) for item in read(folder, text="Text")] == wanted
    (folder / "a.jsonl").write_text('{"Text": "so, so", "LABEL": 1}\n{"text": "bad", "Text": "no", "label": "0"}\n')
    assert [(item.text, item.label) for item in read(folder, files="*.jsonl")] == wanted
    tables.write_table(folder / "a.parquet", pa.table({"TEXT": ["so, so", "bad"], "Label": [1, 0], "id": [7, 8]}))
    assert [(item.text, item.label) for item in read(folder, files="*.parquet")] == wanted
    refuses_only(
        folder, r"a\.parquet: has no column 'body'; its columns are TEXT, Label, id", files="*.parquet", text="body"
    )


def test_empty_files_among_others_are_left_out_and_named(folder: Path) -> None:
    for label in ("spam", "ham"):
        (folder / label).mkdir()
        (folder / label / "1.txt").write_text(f"{label} text\n")
    (folder / "ham" / "2.txt").touch()
    (folder / "spam" / "3.txt").write_text("\n \n")
    source = LabelledSource(path=str(folder), files="**/*", texts="file")
    report = read_labels(source, folder.parent / "raw")
    assert report["splits"]["all"]["examples"] == 2 and report["files"] == 2
    assert report["skipped"] == [
        {"file": "ham/2.txt", "why": "it is empty"},
        {"file": "spam/3.txt", "why": "it is empty"},
    ]


def test_columns_by_number_have_no_first_line_of_names(folder: Path) -> None:
    (folder / "a.tsv").write_text('1\tx\t"so good\n0\ty\tbad\n')
    assert [(item.text, item.label) for item in read(folder, text=2, label=0)] == [('"so good', "1"), ("bad", "0")]


def test_a_cell_of_a_csv_may_have_several_lines(folder: Path) -> None:
    (folder / "a.csv").write_text('text,label\n"one\ntwo",a\nthree,b\n,\n"",c\n')
    refuses(folder, r"a\.csv:6: an empty text")
    (folder / "a.csv").write_text('text,label\n"one\ntwo",a\nthree,b\n')
    assert [item.text for item in read(folder)] == ["one two", "three"]


def test_labels_that_are_numbers(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"text": "good", "label": 1}\n{"text": "bad", "label": 0}\n')
    assert [item.label for item in read(folder)] == ["1", "0"]
    tables.write_table(folder / "a.jsonl.parquet", pa.table({"text": ["x"], "label": [3]}))
    assert [item.label for item in read(folder, files="*.parquet")] == ["3"]


def test_folders_in_another_encoding(folder: Path) -> None:
    for label, text in (("pos", "très bien\n"), ("neg", "mauvais\n")):
        (folder / label).mkdir()
        (folder / label / "1.txt").write_bytes(text.encode("latin-1"))
    result = read(folder, files="**/*", encoding="latin-1", rename={"pos": "good"})
    assert [(item.text, item.label) for item in result] == [("mauvais", "neg"), ("très bien", "good")]
    refuses_only(folder, r"pos/1\.txt:1: invalid UTF-8 \(byte 0xe8 at column 3\)", files="**/*")


def refuses_only(folder: Path, message: str, **settings: object) -> None:
    """As `refuses`, where an earlier reading has left its folder."""
    before = sorted((folder.parent / "raw").iterdir())
    with pytest.raises(InputError, match=message):
        read(folder, **settings)
    assert sorted((folder.parent / "raw").iterdir()) == before


def test_whole_files_of_folders(folder: Path) -> None:
    (folder / "spam").mkdir()
    (folder / "spam" / "1.txt").write_text("buy\n\nnow\n")
    assert read(folder, files="**/*", texts="file") == [Example("buy now", label="spam")]
    (folder / "loose.txt").write_text("x\n")
    refuses_only(folder, r"loose\.txt: its name does not show where the labels are", files="**/*")
    refuses_only(folder, r"loose\.txt: is in no folder of a label", files="**/*", layout="folders")


def test_coarse_labels(folder: Path) -> None:
    (folder / "a.tsv").write_text("DESC:manner\tHow did it go ?\nNUM:count\tHow many ?\n")
    fine = read(folder, label=0, text=1)
    assert [item.label for item in fine] == ["DESC:manner", "NUM:count"] and fine[0].text == "How did it go ?"
    assert [item.label for item in read(folder, label=0, text=1, label_before=":")] == ["DESC", "NUM"]


# ---- trees


def test_trees_have_the_label_of_their_root(folder: Path) -> None:
    (folder / "a.txt").write_text(TREES)
    item, two = read(folder, layout="trees")
    assert (item.text, item.label, item.tree) == ("a lovely film", "4", "(4 (2 a) (4 (3 lovely) (2 film)))")
    assert (two.text, two.label) == ("so dull", "0")


def test_labels_that_are_renamed_to_nothing_are_left_out(folder: Path) -> None:
    (folder / "a.txt").write_text(TREES + "(2 (2 a) (2 film))\n")
    names = {"0": "bad", "1": "bad", "2": None, "3": "good", "4": "good"}
    item, two = read(folder, layout="trees", rename=names)
    assert item.tree == "(good (a) (good (good lovely) (film)))" and two.tree == "(bad (so) (bad dull))"


def test_each_different_phrase_of_training_trees_on_request(folder: Path) -> None:
    (folder / "train.txt").write_text(TREES + TREES)
    (folder / "dev.txt").write_text(TREES)
    files = {"train": "train*", "validation": "dev*"}
    train = read(folder, "train", layout="trees", files=files, phrases=True)
    result = [(item.text, item.label) for item in train]
    assert result[0] == ("a lovely film", "4") and len(result) == len(set(result)) == 8
    assert ("lovely film", "4") in result and ("so", "2") in result
    assert len(read_labelled(folder.parent / "raw" / "validation.parquet")) == 2
    refuses_only(folder, "phrases: true needs splits", layout="trees", files="train*", phrases=True)


def test_penn_trees_over_several_lines(folder: Path) -> None:
    (folder / "a.mrg").write_text(
        "(S (NP (DT the)\n       (NN film))\n   (VP (VBD won)))\n\n(SQ (VBD did)\n  (PRP it))\n"
    )
    assert [(item.text, item.label) for item in read(folder)] == [("the film won", "S"), ("did it", "SQ")]


def test_words_with_a_space_inside_stay_one_word(folder: Path) -> None:
    (folder / "a.txt").write_text("(2 (2 8\u00a01\\/2) (2 hours))\n(3 (2 x) (3 y))\n")
    assert read(folder, layout="trees")[0].text == "8_1/2 hours"


def test_heads_of_words_with_a_label_above(folder: Path) -> None:
    rows = [
        "# label = good",
        "# text = a film",
        "1\ta\t_\tDET\t_\t_\t2\tdet\t_\t_",
        "2\tfilm\t_\tNOUN\t_\t_\t0\troot\t_\t_",
    ]
    (folder / "a.conllu").write_text("\n".join(rows) + "\n\n# label = bad\n1\tno\t_\tDET\t_\t_\t0\troot\t_\t_\n")
    assert read(folder) == [Example("a film", label="good", heads=(2, 0)), Example("no", label="bad", heads=(0,))]
    (folder / "a.conllu").write_text("\n".join(rows[1:]) + "\n")
    refuses_only(folder, r"a\.conllu:2: 0 comments '# label = …'")
    (folder / "a.conllu").write_text("\n".join([*rows[:3], rows[3].replace("\t0\t", "\t1\t")]) + "\n")
    refuses_only(folder, r"a\.conllu:3: the sentence that begins here: 0 words have head 0")


# ---- splits and folds


def test_folds_are_the_same_size_for_each_label_and_share_no_example(folder: Path) -> None:
    lines = [f"text {number}\t{'ab'[number % 3 == 0]}" for number in range(30)]
    (folder / "a.tsv").write_text("text\tlabel\n" + "\n".join(lines) + "\n")
    seen: list[str] = []
    for fold in range(5):
        test = read(folder, "test", folds=5, fold=fold)
        train = read_labelled(folder.parent / "raw" / "train.parquet")
        assert [item.label for item in test].count("b") == 2 and len(test) == 6 and len(train) == 24
        assert not {item.text for item in test} & {item.text for item in train}
        seen += [item.text for item in test]
    assert sorted(seen) == sorted(line.partition("\t")[0] for line in lines)
    by_hash = [len(read(folder, "test", folds=3, fold=fold, fold_by="hash")) for fold in range(3)]
    assert sum(by_hash) == 30 and min(by_hash) > 0


def test_report(folder: Path) -> None:
    (folder / "train.tsv").write_bytes(b"text\tlabel\r\ngood\t1\r\nso\t2\r\nbad\t0\r\n")
    (folder / "test.tsv").write_text("text\tlabel\ngood\t1\n")
    (folder / "notes.pdf").write_text("x")
    source = {"path": str(folder), "files": {"train": "train*", "test": "test*"}, "rename": {"2": None}}
    report = read_labels(LabelledSource.model_validate(source), folder.parent / "raw")
    assert report["splits"]["train"] == {"examples": 2, "left_out": 1} and report["crlf_lines"] == 4
    assert report["skipped"] == [{"file": "notes.pdf", "why": "its ending, .pdf, is not known"}]
    assert tables.read_table(folder.parent / "raw" / "test.parquet").schema.equals(LABELLED.append(ID))


IDS: dict[str, tuple[str, str, dict[str, object], list[str]]] = {
    "column": ("a.csv", "key,text,label\nr9,good,1\n,bad,0\n", {"id": "key"}, ["r9", "a.csv:3"]),
    "number": ("a.tsv", "good\t1\t7\nbad\t0\t8\n", {"text": 0, "label": 1, "id": 2}, ["7", "8"]),
    "second": ("a.csv", "text,label,second,key\na,1,b,r1\n", {"second": "second", "id": "key"}, ["r1"]),
    "field": ("a.jsonl", '{"text": "a", "label": 1, "meta": {"id": "x"}}\n', {"id": "meta.id"}, ["x"]),
    "whole number": ("a.jsonl", '{"text": "a", "label": 1, "id": 17}\n', {"id": "id"}, ["17"]),
    "set of labels": (
        "a.jsonl",
        '{"text": "a", "label": ["x"], "id": 3}\n',
        {"id": "id", "multi_label": "list"},
        ["3"],
    ),
    "no id": ("sub/a.csv", 'text,label\n"two\nlines",1\nbad,0\n', {}, ["sub/a.csv:2", "sub/a.csv:4"]),
    "trees": ("a.txt", "(1 (0 a) (1 b))\n\n(0 (0 a) (1 c))\n", {"layout": "trees"}, ["a.txt:1", "a.txt:3"]),
    "folders": ("pos/1.txt", "good\n\nfine\n", {}, ["pos/1.txt:1", "pos/1.txt:3"]),
}


@pytest.mark.parametrize("name", IDS)
def test_a_row_is_named_by_its_id_or_by_file_and_line(name: str, folder: Path) -> None:
    file, content, settings, ids = IDS[name]
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(content)
    assert [with_id.id for with_id in read_with_ids(folder, files="**/*", **settings)] == ids


def test_ids_where_there_are_none_are_refused(folder: Path) -> None:
    (folder / "a.csv").write_text("text,label\ngood,1\n")
    refuses(folder, r"a\.csv:1: no column 'key'", id="key")
    (folder / "a.csv").rename(folder / "a.conllu")
    refuses(folder, r"a\.conllu: id: 'key', but this file has no other columns \(layout: conllu\)", id="key")
    with pytest.raises(ValueError, match="id: 'key' with layout: trees"):
        LabelledSource(path="x", layout="trees", id="key")
    with pytest.raises(ValueError, match="give different columns"):
        LabelledSource(path="x", id="text")


def test_same_files_same_bytes(folder: Path) -> None:
    (folder / "a.txt").write_text(TREES)
    read(folder, layout="trees")
    first = (folder.parent / "raw" / "all.parquet").read_bytes()
    read(folder, layout="trees")
    assert (folder.parent / "raw" / "all.parquet").read_bytes() == first


# ---- what is refused

HEAD = "text\tlabel\n"


@pytest.mark.parametrize(
    ("name", "content", "settings", "message"),
    [
        ("a.tsv", HEAD + "good\t1\nbad\n", {}, r"a\.tsv:3: 1 columns, but the first line has 2"),
        ("a.tsv", HEAD + "good\t1\n \t0\n", {}, r"a\.tsv:3: an empty text"),
        ("a.tsv", HEAD + "good\t\n", {}, r"a\.tsv:2: an empty label"),
        ("a.tsv", "body\tlabel\nx\t1\n", {}, r"a\.tsv:1: no column 'text'; the first line has 'body, label'"),
        ("a.tsv", "x\t1\n", {"text": 0, "label": 2}, r"a\.tsv:1: no column 2"),
        ("a.csv", 'text,label\n"open,1\nx,0\n', {}, r"a\.csv:2: not a table \(unexpected end of data"),
        ("a.jsonl", '{"text": "x", "label": "1"}\n{"text": \n', {}, r"a\.jsonl:2: not JSON"),
        ("a.jsonl", '{"text": "x"}\n', {}, r"a\.jsonl:1: has no field 'label'; it has text"),
        ("a.jsonl", '{"text": "x", "label": null}\n', {}, r"a\.jsonl:1: field 'label' is of type NoneType"),
        ("a.jsonl", '{"text": "x", "label": true}\n', {}, r"a\.jsonl:1: field 'label' is of type bool"),
        ("a.jsonl", '{"text": "x", "label": "1"}\n', {"text": 0, "label": 1}, r"a\.jsonl: has fields, not columns"),
        ("a.parquet", "no parquet", {}, r"a\.parquet: not a Parquet file"),
        ("a.txt", "x\n", {}, r"a\.txt: its name does not show where the labels are; set layout"),
        ("a.txt", "(2 (2 a) (2 b)\n", {"layout": "trees"}, r"a\.txt:1: 1 bracket\(s\) of this tree are not closed"),
        ("a.txt", "(2 a)\n(2 (2 a)\n(2 b)\n", {"layout": "trees"}, r"a\.txt:2: 1 bracket\(s\) of this tree"),
        ("a.txt", "(2 (2 a)) b)\n", {"layout": "trees"}, r"a\.txt:1: character 11: 'b' is outside the tree"),
        ("a.txt", "(2 a)\n(2 (2 a) ())\n", {"layout": "trees"}, r"a\.txt:2: character \d+: a bracket holds nothing"),
        ("a.txt", "((2 a) (2 b))\n", {"layout": "trees"}, r"a\.txt:1: the tree has no label at its root"),
        ("a.txt", "", {"layout": "trees"}, r"split 'all' holds no example \(empty: a\.txt\)"),
        ("a.csv", "text;label\nso, so;1\n", {}, r"a\.csv:1: .*separated by ';', not by ','; set delimiter: \";\""),
        ("a.csv", '"text";"label"\n"so, so";"1"\n', {}, r"a\.csv:1: .*separated by ';', not by ','; set delimiter"),
        ("a.csv", "Label\tText\n1\tgood\n", {}, r"a\.csv:1: .*separated by '\\t', not by ','; set delimiter: \"\\t\""),
        ("a.tsv", "text,label\ngood,1\n", {}, r"a\.tsv:1: .*separated by ',', not by '\\t'; set delimiter"),
        ("a.csv", "good|1\n", {"text": 0, "label": 1}, r"a\.csv:1: .*separated by '\|'"),
        ("a.csv", "text,label,text\na,1,b\n", {}, r"a\.csv:1: 2 columns may be 'text': text, text; rename"),
        ("a.csv", "Text,label,TEXT\na,1,b\n", {}, r"a\.csv:1: 2 columns may be 'text': Text, TEXT; rename"),
        ("a.csv", "text,x\na,1\n", {"label": "Text"}, r"a\.csv:1: 'text', 'Text' are not columns of their own"),
        ("a.tsv", HEAD + "one\t1\n\0\n", {}, r"a\.tsv:3: a NUL byte"),
        ("a.tsv", HEAD + "x\t1\ny\t1\n", {"phrases": True, "folds": 2}, r"phrases: true, but this file has no trees"),
    ],
)
def test_bad_files_are_named_with_their_line(
    folder: Path, name: str, content: str, settings: dict[str, object], message: str
) -> None:
    (folder / name).write_text(content)
    refuses(folder, message, **settings)


def test_a_label_that_only_a_held_out_split_has(folder: Path) -> None:
    (folder / "train.tsv").write_text(HEAD + "x\tgood\ny\tbad\n")
    (folder / "test.tsv").write_text(HEAD + "x\tgood\ny\tawful\n")
    message = r"test\.tsv:3: 'awful' is not a label of the training split, which has bad, good"
    refuses(folder, message, files={"train": "train*", "test": "test*"})


def test_bytes_that_cannot_be_decoded(folder: Path) -> None:
    (folder / "a.tsv").write_bytes(HEAD.encode() + b"caf\xe9\t1\n")
    refuses(folder, r"a\.tsv:2: invalid UTF-8 \(byte 0xe9 at column 4\)")
    refuses(folder, r"a\.tsv:2: invalid ascii", encoding="ascii")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"text": "a", "label": "a"}, "different columns"),
        ({"text": 0, "label": "b"}, "all by name"),
        ({"text": -1, "label": 0}, "numbers count from 0"),
        ({"encoding": "utf-17"}, "'utf-17' is not a supported encoding"),
        ({"encoding": "hex"}, "'hex' is not a supported encoding"),
        ({"folds": 5, "fold": 5}, "a fold is one of 0 to folds − 1"),
        ({"folds": 5, "files": {"train": "*"}}, "the folds cut the test split themselves"),
        ({"files": {"test": "*"}}, "train"),
        ({"layout": "first_word"}, "layout\n.*'auto', 'columns', 'fields', 'folders', 'trees' or 'conllu'"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        LabelledSource.model_validate({"path": "x", **settings})
