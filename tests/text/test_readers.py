"""Readers: every layout gives the same lines; every bad input is named, and leaves nothing behind."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pydantic import ValidationError
from real_data import real

from langladder.ground.errors import InputError
from langladder.text.read.files import TextSource, read_text
from langladder.text.read.hub import HubSource, read_hub
from langladder.text.read.pairs import ParallelSource, read_parallel
from langladder.text.storage import shards, tables
from pipeline import ROOT

SHARD = "data-00000-of-00001.parquet"


def read(folder: Path, **settings: object) -> list[tuple[int, str]]:
    out = folder.parent / "raw"
    read_text(TextSource.model_validate({"path": str(folder), **settings}), out)
    table = tables.read_table(out / "all", shards.TEXT)
    return list(zip(table["document"].to_pylist(), table["text"].to_pylist(), strict=True))


def read_pairs(folder: Path, **settings: object) -> list[tuple[str, str]]:
    out = folder.parent / "raw"
    read_parallel(ParallelSource.model_validate({"path": str(folder), **settings}), out)
    table = tables.read_table(out / "all.parquet", tables.PAIRS)
    return list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))


def shipped(group: str) -> dict[str, Any]:
    """The settings of conf/<group>/text.yaml, which read a user's own files."""
    settings = yaml.safe_load((ROOT / "conf" / group / "text.yaml").read_text())["source"]
    return {key: value for key, value in settings.items() if key != "path"}


def refuses(folder: Path, message: str, **settings: object) -> None:
    """The reader says `message`, and nothing is written."""
    with pytest.raises(InputError, match=message):
        read(folder, **settings)
    assert not (folder.parent / "raw").exists() and not list(folder.parent.glob(".raw*"))


# ---- layouts


def test_text_gzip_jsonl_and_parquet_give_the_same_lines(folder: Path) -> None:
    lines = ["the cat", "猫が座る", "a <unk> b"]
    (folder / "a.txt").write_text("\n".join(lines) + "\n")
    (folder / "b.txt.gz").write_bytes(gzip.compress("\n\n".join(lines).encode()))
    rows = [json.dumps({"body": {"text": line}}) for line in lines]
    (folder / "c.jsonl").write_text("\n".join(rows))
    (folder / "d.jsonl.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    tables.write_table(folder / "e.parquet", pa.table({"text": lines}))
    (folder / "f.parquet.gz").write_bytes(gzip.compress((folder / "e.parquet").read_bytes()))
    for name, field in (
        ("a*", "x"),
        ("b*", "x"),
        ("c*", "body.text"),
        ("d*", "body.text"),
        ("e*", "text"),
        ("f*", "text"),
    ):
        assert read(folder, files=name, field=field) == list(enumerate(lines)), name


@pytest.mark.parametrize(
    ("rule", "numbers"),
    [
        ({"documents": "line"}, [0, 1, 2, 3, 4, 5]),
        ({"documents": "blank_line"}, [0, 0, 1, 1, 2, 3]),
        ({"documents": "file"}, [0, 0, 0, 0, 0, 1]),
        ({"documents": "heading", "heading": "= [^=].* ="}, [0, 0, 1, 1, 1, 2]),
    ],
)
def test_document_rules(folder: Path, rule: dict[str, str], numbers: list[int]) -> None:
    (folder / "a.txt").write_text("= A =\none\n\n = B = \n= = part = =\n\n \ntwo\n")
    (folder / "b.txt").write_text("three")
    assert [number for number, _ in read(folder, **rule)] == numbers


def test_a_record_is_a_document_with_its_lines(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"text": "one\\r\\ntwo"}\n{"text": "three"}\n')
    assert read(folder, documents="record") == [(0, "one"), (0, "two"), (1, "three")]


def test_a_field_in_another_case_is_found_where_it_is_the_only_one(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"Text": "one", "id": 1}\n{"text": "two", "TEXT": "no"}\n')
    tables.write_table(folder / "b.parquet", pa.table({"TEXT": ["three"], "id": ["x"]}))
    tables.write_table(folder / "c.parquet", pa.table({"a.text": ["four"]}))
    assert [line for _, line in read(folder, files="[ab]*")] == ["one", "two", "three"]
    assert [line for _, line in read(folder, files="c*", field="a.text")] == ["four"]
    (folder / "a.jsonl").write_text('{"Text": "one", "TEXT": "two"}\n')
    with pytest.raises(InputError, match=r"a\.jsonl:1: has no field 'text'; it has TEXT, Text"):
        read(folder, files="a*")
    tables.write_table(folder / "b.parquet", pa.table({"TEXT": ["three"], "Text": ["x"]}))
    with pytest.raises(InputError, match=r"b\.parquet: has no column 'text'; its columns are TEXT, Text"):
        read(folder, files="b*")


def test_own_splits_and_report(folder: Path) -> None:
    (folder / "train.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (folder / "dev.txt").write_text("three\n")
    source = TextSource(path=str(folder), files={"train": "train*", "validation": "dev*"})
    report = read_text(source, folder.parent / "raw")
    assert report["splits"] == {"train": {"documents": 2, "lines": 2}, "validation": {"documents": 1, "lines": 1}}
    assert report["files"] == 2 and report["crlf_lines"] == 2 and report["byte_order_marks"] == 1
    train = tables.read_table(folder.parent / "raw" / "train", shards.TEXT)
    assert train["text"].to_pylist() == ["one", "two"] and train["log_prob"].to_pylist() == [None, None]


def test_old_mac_line_ends_are_line_ends(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"one\rtwo\rthree")
    assert read(folder) == [(0, "one"), (1, "two"), (2, "three")]


def test_same_files_same_bytes(folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\n")
    read(folder)
    first = (folder.parent / "raw" / "all" / SHARD).read_bytes()
    read(folder)
    assert (folder.parent / "raw" / "all" / SHARD).read_bytes() == first


# ---- which files are read


def test_a_bare_glob_takes_known_endings_and_names_the_rest(folder: Path) -> None:
    (folder / "README.md").write_text("Put your text here.\n")
    (folder / "deep").mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / "deep" / "b.txt.gz").write_bytes(gzip.compress(b"two\n"))
    (folder / "c.jsonl").write_text('{"text": "three"}\n')
    tables.write_table(folder / "d.parquet", pa.table({"text": ["four"]}))
    (folder / "E.TXT").write_text("five\n")
    for name in ("scan.pdf", "noending", ".hidden.txt", "deep/readme.txt", ".gitignore"):
        (folder / name).write_bytes(b"%PDF\x00")
    (folder / "link.txt").symlink_to("nowhere.txt")
    source = TextSource.model_validate(shipped("corpus") | {"path": str(folder)})
    report = read_text(source, folder.parent / "raw")
    table = tables.read_table(folder.parent / "raw" / "all", shards.TEXT)
    assert sorted(table["text"].to_pylist()) == ["five", "four", "one", "three", "two"]
    assert report["files"] == 5 and report["skipped_files"] == 6
    assert {item["file"]: item["why"] for item in report["skipped"]} == {
        ".hidden.txt": "hidden",
        "README.md": "a README",
        "deep/readme.txt": "a README",
        "link.txt": "a link to a file that does not exist",
        "noending": "it has no ending",
        "scan.pdf": "its ending, .pdf, is not known",
    }


def test_a_named_glob_takes_what_it_names(folder: Path) -> None:
    (folder / "wiki.tokens").write_text("one\n")
    (folder / "other.txt").write_text("two\n")
    report = read_text(TextSource(path=str(folder), files="*.tokens"), folder.parent / "raw")
    assert report["skipped"] == [{"file": "other.txt", "why": "`files` does not name it"}]
    assert read(folder, files="*.tokens") == [(0, "one")]


def test_a_folder_without_text_says_what_is_there(folder: Path) -> None:
    (folder / "README.md").write_text("Put your text here.\n")
    (folder / "book.epub").write_bytes(b"PK")
    refuses(folder, r"matches no file .*README.md \(a README\), book.epub \(its ending.*Known endings are .txt")


# ---- bad inputs


def test_missing_path_and_empty_glob(folder: Path) -> None:
    refuses(folder / "nowhere", "does not exist")
    refuses(folder, r"'\*\.txt' matches no file", files="*.txt")


def test_one_file_in_two_splits(folder: Path) -> None:
    (folder / "a.txt").write_text("one")
    refuses(folder, "in both train and test", files={"train": "*", "test": "a*"})


def test_unknown_split_names_and_half_heading_rules() -> None:
    with pytest.raises(ValidationError, match="allowed: train"):
        TextSource(path="x", files={"training": "*"})
    with pytest.raises(ValidationError, match="heading"):
        TextSource(path="x", documents="heading")
    with pytest.raises(ValidationError, match="not a regular expression"):
        TextSource(path="x", documents="heading", heading="(")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"split 'all' holds only blank lines or empty files \(empty: a.txt\)"),
        (gzip.compress(b"", mtime=0), r"holds only blank lines or empty files \(empty: a.txt\)"),
        (b"good\n\x89PNG\x00\x01\n", "a.txt:2: a NUL byte: this is a binary file"),
        (b"good\nfine\nbad \xff\xfe\n", "a.txt:3: invalid UTF-8 .byte 0xff at column 5"),
        ("good".encode("utf-16"), "UTF-16, not UTF-8; set encoding: utf-16"),
        (b"\n \n\t\r\n", "only blank lines"),
        (gzip.compress(b"one\n" * 5000, mtime=0)[:-30], "damaged gzip file"),
        (b"\x1f\x8bnot really", "damaged gzip file"),
    ],
)
def test_bad_files_are_named(folder: Path, content: bytes, message: str) -> None:
    (folder / "a.txt").write_bytes(content)
    refuses(folder, message)


def test_one_enormous_line_is_refused_without_being_read_whole(folder: Path) -> None:
    with gzip.open(folder / "a.txt.gz", "wb", compresslevel=1) as file:
        for _ in range(100):
            file.write(b"x" * 1_000_000)
    refuses(folder, "a.txt.gz:1: a line longer than 10,000,000 bytes")
    (folder / "a.txt.gz").write_bytes(b"12345\r\n123456\n")
    refuses(folder, ":2: a line longer than 5 bytes", max_line_bytes=5)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"body": "x"}', "a.jsonl:2: has no field 'text'; it has body"),
        ('{"text": 7}', "a.jsonl:2: field 'text' is of type int; text is needed"),
        ('{"text": ', "a.jsonl:2: not JSON"),
        ('["text"]', "a.jsonl:2: has no field 'text'; it has no fields: it is of type list"),
    ],
)
def test_bad_jsonl_lines_are_named(folder: Path, row: str, message: str) -> None:
    (folder / "a.jsonl").write_text('{"text": "fine"}\n' + row)
    refuses(folder, message)


def test_empty_files_among_others_are_left_out_and_named(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").touch()
    (folder / "c.jsonl.gz").write_bytes(gzip.compress(b""))
    (folder / "d.parquet").touch()
    tables.write_table(folder / "e.parquet", pa.table({"text": pa.array([], pa.string())}))
    (folder / "f.txt").write_text("two\n")
    report = read_text(TextSource(path=str(folder), documents="blank_line"), folder.parent / "raw")
    assert report["files"] == 2 and report["splits"]["all"] == {"documents": 2, "lines": 2}
    assert {item["file"]: item["why"] for item in report["skipped"]} == dict.fromkeys(
        ("b.txt", "c.jsonl.gz", "d.parquet", "e.parquet"), "it is empty"
    )
    (folder / "train.txt").write_text("three\n")
    with pytest.raises(InputError, match=r"split 'test' holds only blank lines or empty files \(empty: b\.txt\)"):
        read(folder, files={"train": "train*", "test": "b*"})


def test_empty_files_of_pairs(folder: Path) -> None:
    (folder / "a.tsv").write_text("go\tva\n")
    for name in ("b.en", "b.fr", "c.jsonl"):
        (folder / name).touch()
    assert read_pairs(folder, **shipped("parallel")) == [("go", "va")]
    (folder / "b.fr").write_text("seul\n")
    with pytest.raises(InputError, match=r"b\.en has 0 lines, but .*b\.fr has 1"):
        read_pairs(folder, **shipped("parallel"))


# ---- encodings

ENCODED = {
    "gb18030": "今天天气很好，我们去公园散步。他说这是一个很有意思的故事。",
    "big5": "今天天氣很好，我們去公園散步。他說這是一個很有意思的故事。",
    "shift_jis": "今日は天気がいいので、公園を散歩しました。",
    "euc-jp": "今日は天気がいいので、公園を散歩しました。",
    "euc-kr": "오늘은 날씨가 좋아서 공원에서 산책을 했습니다.",
    "cp1251": "Сегодня хорошая погода, и мы пошли гулять в парк.",
    "koi8-r": "Сегодня хорошая погода, и мы пошли гулять в парк.",
    "cp1252": "Il a mangé à la cafétéria où l’été est très agréable.",
    "utf-16": "猫 sits\u2028here",
    "utf-16-le": "the cat sits",
    "utf-16-be": "the cat sits",
    "utf-32": "the cat sits",
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_the_likely_encoding_is_named_and_read_when_it_is_set(
    folder: Path, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langladder.text.read.files.PART_BYTES", 16)  # a file is read in several parts
    lines = ["plain", ENCODED[encoding]]
    content = "".join(f"{line}\r\n" for line in lines).encode(encoding)
    (folder / "a.txt").write_bytes(content)
    refuses(folder, rf"a\.txt.* set encoding: {encoding} ")
    (folder / "b.txt.gz").write_bytes(gzip.compress(content))
    rows = "".join(json.dumps({"text": line}, ensure_ascii=False) + "\n" for line in lines)
    (folder / "c.jsonl").write_bytes(rows.encode(encoding))
    assert [line for _, line in read(folder, encoding=encoding)] == lines * 3
    pairs = folder / "deep" / "pairs"
    pairs.mkdir(parents=True)
    (pairs / "d.tsv").write_bytes(f"one\t{lines[1]}".encode(encoding))
    assert read_pairs(pairs, encoding=encoding) == [("one", lines[1].replace("\u2028", " "))]


def test_a_damaged_line_is_not_read_as_another_encoding(folder: Path) -> None:
    (folder / "a.txt").write_bytes("très bien\nété\n".encode() + b"caf\xe9\n")
    refuses(folder, r"a\.txt:3: invalid UTF-8 \(byte 0xe9 at column 4\); other lines are UTF-8, so fix this one")
    (folder / "a.txt").write_bytes(bytes(range(128, 256)))
    refuses(folder, r"a\.txt:1: invalid UTF-8 .*; set `encoding` to what it is in, or convert it to UTF-8")
    (folder / "a.txt").write_bytes(b"plain " * 20_000 + "très bien été".encode("cp1252"))
    refuses(folder, r"a\.txt:1: invalid UTF-8 \(byte 0xe8 at column 120003\); it looks like cp1252")
    (folder / "a.txt").write_bytes("très".encode())
    refuses(folder, r"a\.txt:1: invalid ascii .*it looks like utf-8: set encoding: utf-8", encoding="ascii")
    (folder / "a.txt").write_bytes("\ufefftrès".encode())
    refuses(folder, "the text is UTF-8, not iso8859-1; set encoding: utf-8", encoding="latin-1")
    (folder / "a.txt").write_bytes(b"odd")
    refuses(folder, r"a\.txt: invalid utf-16 \(.*\); set another `encoding`", encoding="utf-16")


def test_bad_parquet_is_named(folder: Path) -> None:
    (folder / "a.parquet").write_bytes(b"PAR1 no")
    refuses(folder, "not a Parquet file")
    tables.write_table(folder / "a.parquet", pa.table({"body": ["x"]}))
    refuses(folder, "a.parquet: has no column 'text'; its columns are body")
    refuses(folder, "a.parquet: has no column 'other.text'; its columns are body", field="other.text")
    tables.write_table(folder / "a.parquet", pa.table([["x"], ["y"]], names=["text", "text"]))
    refuses(folder, "a.parquet: column 'text' occurs 2 times")


def test_hub_without_network_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("offline")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(InputError, match="without a network use corpus=microworld"):
        read_hub(HubSource(name="Salesforce/wikitext", config="wikitext-2-v1"), tmp_path / "raw")
    assert not (tmp_path / "raw").exists()


def test_hub_rows_go_the_same_way_as_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    rows = [{"text": ""}, {"text": " = A = \n"}, {"text": " one \n"}, {"text": " = B = \n"}]
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: rows)
    source = HubSource(name="x", splits="train", documents="heading", heading="= [^=].* =")
    assert read_hub(source, tmp_path / "raw")["splits"] == {"all": {"documents": 2, "lines": 3}}


# ---- parallel text


def test_parallel_layouts_agree(folder: Path) -> None:
    pairs = [("go .", "va !"), ("run !", "courez !")]
    (folder / "a.tsv").write_text("".join(f"{item}\t{two}\tCC-BY\n" for item, two in pairs))
    (folder / "b.en").write_text("".join(item + "\n" for item, _ in pairs))
    (folder / "b.fr").write_text("".join(two + "\n" for _, two in pairs))
    (folder / "c.jsonl").write_text("\n".join(json.dumps({"en": item, "fr": two}) for item, two in pairs))
    assert read_pairs(folder, files="a.tsv") == pairs
    assert read_pairs(folder, files="b.en", target_files="b.fr", layout="two_files") == pairs
    assert read_pairs(folder, files="c*", layout="fields", fields=["en", "fr"]) == pairs
    assert read_pairs(folder, files="a.tsv", swap=True) == [(two, item) for item, two in pairs]


def test_pairs_are_laid_out_as_their_names_say(folder: Path) -> None:
    (folder / "README.md").write_text("Put your pairs here.\n")
    (folder / "a.tsv").write_text("one\tun\n")
    (folder / "b.en").write_text("two\n")
    (folder / "b.fr").write_text("deux\n")
    (folder / "c.en.txt.gz").write_bytes(gzip.compress(b"three\n"))
    (folder / "c.fr.txt.gz").write_bytes(gzip.compress(b"trois\n"))
    (folder / "d.jsonl").write_text('{"source": "four", "target": "quatre"}\n')
    (folder / "e.txt").write_text("five\tcinq\n")
    (folder / "lone.de").write_text("allein\n")
    (folder / "doc.pdf").write_bytes(b"%PDF\x00")
    auto = shipped("parallel")
    expected = [("one", "un"), ("two", "deux"), ("three", "trois"), ("four", "quatre"), ("five", "cinq")]
    assert read_pairs(folder, **auto) == expected
    assert read_pairs(folder, **auto | {"swap": True})[1] == ("deux", "two")
    assert read_pairs(folder, **auto | {"languages": ["fr", "en"]})[:3] == [
        ("one", "un"),
        ("deux", "two"),
        ("trois", "three"),
    ]
    source = ParallelSource.model_validate(auto | {"path": str(folder)})
    report = read_parallel(source, folder.parent / "raw")
    assert report["aligned"] == ["b.en → b.fr", "c.en.txt.gz → c.fr.txt.gz"] and report["files"] == 7
    assert {item["file"]: item["why"] for item in report["skipped"]} == {
        "README.md": "a README",
        "doc.pdf": "its ending, .pdf, is not known",
        "lone.de": "no file of the same name in another language",
    }


def test_three_languages_must_be_chosen_from(folder: Path) -> None:
    for language in ("de", "en", "zh-CN"):
        (folder / f"x.{language}").write_text(f"{language}\n")
    with pytest.raises(InputError, match=r"3 languages \(de, en, zh-CN\).*languages: \[source, target\]"):
        read_pairs(folder, layout="auto")
    assert read_pairs(folder, layout="auto", languages=["zh-CN", "en"]) == [("zh-CN", "en")]
    with pytest.raises(InputError, match=r"no sentence pairs in x\.de.*x\.en, x\.fr"):
        read_pairs(folder, layout="auto", languages=["fr", "en"])


def test_one_file_of_pairs_needs_no_ending(folder: Path) -> None:
    (folder / "pairs.dat").write_text("go\tva\n")
    out = folder.parent / "raw"
    read_parallel(ParallelSource(path=str(folder / "pairs.dat"), layout="auto"), out)
    assert tables.read_table(out / "all.parquet", tables.PAIRS)["target"].to_pylist() == ["va"]


def test_parallel_files_of_different_length_give_both_counts(folder: Path) -> None:
    (folder / "a.en").write_text("1\n2\n3\n")
    (folder / "a.fr").write_text("1\n2\n3\n4\n5\n")
    with pytest.raises(InputError, match=r"a\.en has 3 lines, but .*a\.fr has 5"):
        read_pairs(folder, files="a.en", target_files="a.fr", layout="two_files")
    assert not (folder.parent / "raw").exists()


def test_a_layout_that_does_not_read_the_format_is_refused(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"source": "go", "target": "va"}\n')
    (folder / "a.tsv").write_text("go\tva\n")
    tables.write_table(folder / "a.parquet", pa.table({"source": ["go"], "target": ["va"]}))
    for name, layout, message in (
        ("a.jsonl", "columns", "reads tab-separated text, but this is jsonl"),
        ("a.parquet", "columns", "reads tab-separated text, but this is parquet"),
        ("a.tsv", "fields", "reads jsonl or parquet, but this is text"),
    ):
        with pytest.raises(InputError, match=rf"{name}: layout '{layout}' {message}; set layout \(auto"):
            read_pairs(folder, files=name, layout=layout)
        assert read_pairs(folder, files=name, layout="auto") == [("go", "va")]


def test_bad_pairs_are_named(folder: Path) -> None:
    (folder / "a.tsv").write_text("go\tva\nalone\n")
    with pytest.raises(InputError, match=r"a\.tsv:2: 1 tab-separated column"):
        read_pairs(folder)
    (folder / "a.tsv").write_text("go\t \n")
    with pytest.raises(InputError, match="no pair with text on both sides"):
        read_pairs(folder)
    with pytest.raises(ValidationError, match="target_files"):
        ParallelSource(path="x", layout="two_files")


@pytest.mark.real
def test_real_corpora_are_read_whole(tmp_path: Path) -> None:
    files = {"train": "train.txt.gz", "validation": "valid.txt.gz", "test": "test.txt.gz"}
    path = str(real("wikitext-2"))
    source = TextSource(path=path, files=files, documents="heading", heading="= [^=].* =")
    splits = read_text(source, tmp_path / "text")["splits"]
    assert splits["validation"] == {"documents": 60, "lines": 2461} and splits["test"]["lines"] == 2891
    pairs = read_parallel(ParallelSource(path=str(real("tatoeba-en-fr")), files="fra.txt.gz"), tmp_path / "pairs")
    assert pairs["splits"]["all"] == {"pairs": 142787, "blank_pairs": 0}


def test_a_strangers_field_names_are_quoted_in_part(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"' + "[" * 5000 + '": 1}\n')
    with pytest.raises(InputError, match="no field 'text'") as refused:
        read_text(TextSource(path=str(tmp_path / "x.jsonl")), tmp_path / "raw")
    assert len(str(refused.value)) < 600
