"""Readers of tagged sentences: columns, IOB schemes, heads; every bad line is named."""

import gzip
from pathlib import Path

import pytest
from refusing import refused

from langladder.text.labelled.labelled import Tagged, read_tagged, to_iob2
from langladder.text.labelled.tag_files import TaggedSource, read_tags
from langladder.text.words.segmentation import split_words

NER = "EU B-ORG\nrejects O\nGerman B-MISC\ncall O\n\nPeter B-PER\nBlackburn I-PER\n"


def read(folder: Path, split: str = "all", **settings: object) -> list[Tagged]:
    """Without their ids."""
    out = folder.parent / "raw"
    read_tags(TaggedSource.model_validate({"path": str(folder), **settings}), out)
    return [item._replace(id="") for item in read_tagged(out / f"{split}.parquet")]


def test_a_sentence_is_named_by_file_and_line(folder: Path) -> None:
    (folder / "b").mkdir()
    (folder / "b" / "a.conll").write_text("\nthe D\ncat N\n\n\na D\ndog N\n")
    read(folder, files="**/*")
    assert [item.id for item in read_tagged(folder.parent / "raw" / "all.parquet")] == ["b/a.conll:2", "b/a.conll:6"]


def refuses(folder: Path, message: str, **settings: object) -> None:
    refused(lambda: read(folder, **settings), folder, message)


WEIBO = "科0 O\n技1 O\n全0 O\n方1 O\n位2 O\n20 O\n\n" * 30


def test_characters_with_their_position_are_noticed_and_can_be_read_without_it(folder: Path) -> None:
    (folder / "a.conll").write_text(WEIBO)
    source = {"path": str(folder)}
    report = read_tags(TaggedSource.model_validate(source), folder.parent / "raw")
    assert report["warnings"] == [
        "every word ends in a number that counts up (科0 技1 全0 方1), its position in a longer word, and is read with "
        "it; to remove the numbers, set data: {tags: {positions: true}} in params.yaml"
    ]
    report = read_tags(TaggedSource.model_validate(source | {"positions": True}), folder.parent / "raw")
    assert "warnings" not in report
    assert read_tagged(folder.parent / "raw" / "all.parquet")[0].words == ("科", "技", "全", "方", "位", "2")
    (folder / "a.conll").write_text(WEIBO + "科 O\n")
    assert "warnings" not in read_tags(TaggedSource.model_validate(source), folder.parent / "raw")


def test_columns_parted_by_spaces_or_tabs(folder: Path) -> None:
    (folder / "a.txt").write_text(NER)
    (folder / "b.tsv.gz").write_bytes(gzip.compress(NER.replace(" ", "\t").replace("\n\n", "\n \n\n").encode()))
    wanted = [
        Tagged(("EU", "rejects", "German", "call"), ("B-ORG", "O", "B-MISC", "O")),
        Tagged(("Peter", "Blackburn"), ("B-PER", "I-PER")),
    ]
    assert read(folder, files="a*") == wanted and read(folder, files="b*") == wanted


def test_conll_2003_by_its_columns(folder: Path) -> None:
    text = "-DOCSTART- -X- -X- O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\nParis NNP I-NP I-ORG\nBonn NNP I-NP B-ORG\n"
    (folder / "a.conll").write_text(text)
    assert read(folder, columns={"tag": 1})[0].tags == ("NNP", "VBZ", "NNP", "NNP")
    result = read(folder, columns={"tag": 3}, scheme="IOB1")
    assert result[0].tags == ("B-ORG", "O", "B-ORG", "B-ORG")


def test_words_of_conllu_are_those_of_the_text(folder: Path) -> None:
    rows = ["# text = au cinéma", "1-2\tau\t_\t_\t_\t_\t_\t_\t_\t_", "1\tà\t_\tADP\t_\t_\t3\tcase\t_\t_"]
    rows += [
        "2\tle\t_\tDET\t_\t_\t3\tdet\t_\t_",
        "3\tcinéma\t_\tNOUN\t_\t_\t0\troot\t_\t_",
        "3.1\tva\t_\tVERB\t_\t_\t_\t_\t_\t_",
    ]
    (folder / "a.conllu").write_text("\n".join(rows) + "\n")
    (folder / "b.conllu").write_text("\n".join(rows * 2) + "\n")  # no blank line
    result = read(folder, columns=CONLLU, files="a*")
    assert result == [Tagged(("au", "cinéma"), ("ADP+DET", "NOUN"), (2, 0))]
    assert read(folder, columns=CONLLU, files="b*") == result * 2
    assert split_words("au cinéma", "whitespace") == list(result[0].words)  # as `langladder tag` cuts the sentence


def conllu(*rows: str) -> str:
    """Rows of "number form tag head"."""
    cells = [row.split() for row in rows]
    return "".join(f"{a}\t{b}\t_\t{c}\t_\t_\t{d}\t_\t_\t_\n" for a, b, c, d in cells)


RANGES = [
    # what stands behind a range, a range with a tag of its own, the root inside, three words of two tags
    (
        ("1 lo VERB 0", "2-3 del _ _", "2 de ADP 4", "3 el DET 5", "4 mar NOUN 1", "5 x NOUN 4"),
        [("lo", "VERB", 0), ("del", "ADP+DET", 3), ("mar", "NOUN", 1), ("x", "NOUN", 3)],
    ),
    (("1-2 du P+D _", "1 de ADP 3", "2 le DET 3", "3 x NOUN 0"), [("du", "P+D", 2), ("x", "NOUN", 0)]),
    (
        ("1 y CCONJ 2", "2-4 dámelo _ _", "2 da VERB 0", "3 me PRON 2", "4 lo PRON 2", "5 ya ADV 3"),
        [("y", "CCONJ", 2), ("dámelo", "VERB+PRON", 0), ("ya", "ADV", 2)],
    ),
]


@pytest.mark.parametrize(("rows", "words"), RANGES)
def test_golden_ranges(folder: Path, rows: tuple[str, ...], words: list[tuple[str, str, int]]) -> None:
    (folder / "a.conllu").write_text(conllu(*rows))
    (result,) = read(folder, columns=CONLLU)
    assert result.heads is not None
    assert list(zip(result.words, result.tags, result.heads, strict=True)) == words
    (result,) = read(folder, columns={**CONLLU, "head": None})
    assert list(zip(result.words, result.tags, strict=True)) == [word[:2] for word in words]


@pytest.mark.parametrize(
    "rows",
    [
        ("1 a X 0", "2-3 bc _ _", "2 b X 1"),
        ("1-2 ab _ _", "1 a X 0", "2-3 bc _ _", "2 b X 1", "3 c X 1"),
        ("2-3 bc _ _", "1 a X 0"),
        ("2-1 bc _ _", "1 a X 0", "2 b X 1"),
    ],
)
def test_a_range_without_its_words_is_refused(folder: Path, rows: tuple[str, ...]) -> None:
    (folder / "a.conllu").write_text(conllu(*rows))
    refuses(folder, r"a\.conllu:[123]: the range '\d-\d' has no form, or not all its words follow it", columns=CONLLU)


def test_a_comment_is_no_word_and_a_hash_may_be_one(folder: Path) -> None:
    (folder / "a.tsv").write_text("# newdoc id = x\n#\tSYM\n1\tNUM\n# a comment\n\n10 000\tNUM\n")
    assert read(folder) == [Tagged(("#", "1"), ("SYM", "NUM")), Tagged(("10_000",), ("NUM",))]


ROW = "{}\t{}\t_\tX\t_\t_\t0\troot\t_\t_\n"
CONLLU = {"id": 0, "form": 1, "tag": 3, "head": 6}


@pytest.mark.parametrize(
    ("content", "columns", "words"),
    [
        ("# O\nx A\n\ny A\n", {}, [["#", "x"], ["y"]]),
        ("# a comment\n# O\nx A\n", {}, [["#", "x"]]),
        ("# O\n#tag A\n", {}, [["#", "#tag"]]),
        ("# text = a\tb\na\tA\n# c\td\n\n#\tA\n", {}, [["a"], ["#"]]),
        ("# text = a\tb\n" + ROW.format(1, "a"), CONLLU, [["a"]]),
        ("#" + "\t_" * 9 + "\n" + ROW.format(1, "#"), CONLLU, [["#"]]),  # a comment with as many columns as a word
        ("a\tA\nb A\n\nc\tA\n", {}, [["a", "b"], ["c"]]),
        ("a A\nNew York\tA\n", {}, [["a", "New_York"]]),
        ("a\t\tA\nb\tA\nc \t A\n", {}, [["a", "b", "c"]]),
        ("我 A\n\u3000 A\n\xa0 A\n\u2003 A\n  A\n", {}, [["我", "_", "_", "_", "_"]]),
        ("我\tA\n\u3000\tA\n \tA\n", {}, [["我", "_", "_"]]),
        ("a\tA\tx\nb\tA\t\n", {}, [["a", "b"]]),  # the last column is empty
        ("-DOCSTART- -X- O O\n\na A\n-DOCSTART- O\nb A\n", {}, [["a"], ["b"]]),
    ],
)
def test_lines_as_others_write_them(
    folder: Path, content: str, columns: dict[str, int], words: list[list[str]]
) -> None:
    (folder / "a.txt").write_text(content)
    for damaged in ("skip", "strict"):
        result = read(folder, columns=columns, damaged=damaged)
        assert [list(item.words) for item in result] == words


def test_numbered_sentences_without_a_blank_line_between_them(folder: Path) -> None:
    texts = [ROW.format(1, "a") + ROW.format(2, "b").replace("\t0\t", "\t1\t"), "# text = c\n" + ROW.format(1, "c")]
    (folder / "a.conllu").write_text(texts[0] * 2 + texts[1] * 2 + "# the end\n\n" + texts[0])
    refuses(folder, r"a\.conllu:3: .*no blank line", columns=CONLLU, damaged="strict")
    result = read(folder, columns=CONLLU)
    assert [item.words for item in result] == [("a", "b"), ("a", "b"), ("c",), ("c",), ("a", "b")]
    source = TaggedSource.model_validate({"path": str(folder), "columns": CONLLU})
    report = read_tags(source, folder.parent / "reported")
    assert [*report["damaged"].values()] == [{"count": 3, "first": "a.conllu:3"}]


def test_no_blank_line_at_all(folder: Path) -> None:
    (folder / "a.txt").write_text("w A\nx B\n" * 600)
    refuses(folder, "one sentence of 1,200 words in all files; a blank line ends a sentence")
    (folder / "b.txt").write_text("w A\n")
    report = read_tags(TaggedSource(path=str(folder)), folder.parent / "reported")
    assert report["warnings"] == ["a sentence of 1,200 words (a.txt:1); are blank lines between sentences missing?"]
    (folder / "a.txt").write_text("w A\nx B\n" * 6000)
    refuses(folder, r"a\.txt:1: a sentence of more than 10,000 words begins here")


def test_damaged_sentences_are_left_out_and_counted(folder: Path) -> None:
    (folder / "train.tsv").write_text("a\tX\nb\tY\n\n\tX\nc\tX\n\nd\t\n\ne\tY\n")
    (folder / "test.tsv").write_text("a\tX\n\nb\tZ\nc\tZ\n")
    files = {"train": "train*", "test": "test*"}
    report = read_tags(TaggedSource(path=str(folder), files=files), folder.parent / "reported")
    assert [split["sentences"] for split in report["splits"].values()] == [2, 1]
    assert report["damaged"] == {
        "an empty word or tag": {"count": 2, "first": "train.tsv:4"},
        "a sentence with a tag that the training split does not have": {"count": 1, "first": "test.tsv:3 ('Z')"},
    }
    (folder / "test.tsv").write_text("b\tZ\nc\tZ\n")
    refuses(
        folder, r"split 'test' holds no sentence \(3 entries skipped: .*first at .*test\.tsv:1 \('Z'\)", files=files
    )


def test_folds(folder: Path) -> None:
    (folder / "a.txt").write_text("".join(f"w{number} A\nx B\n\n" for number in range(9)))
    assert [item.words[0] for item in read(folder, "test", folds=3, fold=1)] == ["w1", "w4", "w7"]


@pytest.mark.parametrize(
    ("iob1", "iob2"),
    [
        ("I-A I-A O I-B", "B-A I-A O B-B"),
        ("I-A B-A I-A I-B", "B-A B-A I-A B-B"),
        ("B-A I-A", "B-A I-A"),
        ("O O", "O O"),
    ],
)
def test_golden_iob1_to_iob2(iob1: str, iob2: str) -> None:
    assert to_iob2(iob1.split()) == tuple(iob2.split())


def test_the_scheme_is_seen_from_the_tags(folder: Path) -> None:
    for tags, scheme in (
        ("B-A I-A O", "IOB2"),
        ("B-A E-A S-B", "IOBES"),
        ("I-A I-A O", "IOB1"),
        ("B-A L-A U-B", "BILOU"),
        ("U-B O O", "BILOU"),
        ("B-A M-A E-A", "BMES"),
        ("B E S", "IOBES"),
        ("B M E", "BMES"),
        ("B I O", "IOB2"),
        ("NN VB .", "none"),
        ("B C O", "none"),
    ):
        (folder / "a.txt").write_text("".join(f"w {tag}\n" for tag in tags.split()))
        report = read_tags(TaggedSource(path=str(folder)), folder.parent / "raw")
        assert report["scheme"] == scheme and report["splits"]["all"] == {"sentences": 1, "words": 3}


@pytest.mark.parametrize(
    ("tags", "scheme", "iobes"),
    [
        ("B-A I-A L-A O U-B", "BILOU", "B-A I-A E-A O S-B"),
        ("B-A M-A E-A O S-B W-B", "BMES", "B-A I-A E-A O S-B S-B"),
        ("B M M E S B E", "BMES", "B I I E S B E"),
    ],
)
def test_golden_schemes_that_are_written_as_iobes(folder: Path, tags: str, scheme: str, iobes: str) -> None:
    (folder / "a.txt").write_text("".join(f"w {tag}\n" for tag in tags.split()))
    for chosen in ("auto", scheme):
        assert read(folder, scheme=chosen)[0].tags == tuple(iobes.split())
    assert read(folder, scheme="none")[0].tags == tuple(tags.split())


def test_tags_that_look_like_phrases_and_are_of_no_scheme_are_reported(folder: Path) -> None:
    for tags, warned in (
        ("B_A I_A O", "2 tags look .* (B_A, I_A), but"),
        ("B-A I-A O X", "2 tags look .* (B-A, I-A; these do not: X), but"),
        ("A-B A-I O", "2 tags look .* (A-B, A-I), but"),
        ("NN V-S DT-M", None),
        ("B-A I-A O", None),
    ):
        (folder / "a.txt").write_text("".join(f"w {tag}\n" for tag in tags.split()))
        report = read_tags(TaggedSource(path=str(folder)), folder.parent / "raw")
        assert len(report.get("warnings", [])) == bool(warned)
        if warned:
            (warning,) = report["warnings"]
            assert all(part in warning for part in warned.split(" .* "))


@pytest.mark.parametrize(
    ("content", "settings", "message"),
    [
        ("EU B-ORG\nx O\n\nPeter I-PER\ny O\n", {}, r"a\.txt:4: 'I-PER' must not follow the beginning \(IOB2\).*IOB1"),
        ("EU B-ORG\nx O\nPeter I-PER\n", {}, r"a\.txt:3: 'I-PER' must not follow 'O' \(IOB2\)"),
        ("EU B-ORG\nPeter I-PER\n", {}, r"a\.txt:2: 'I-PER' must not follow 'B-ORG'"),
        ("EU B-ORG\nx U-ORG\n", {}, r"a\.txt:2: 'U-ORG' must not follow 'B-ORG' \(BILOU\)"),
        ("EU B-ORG\nx S-ORG\n", {}, r"a\.txt:2: 'S-ORG' must not follow 'B-ORG' \(IOBES\)"),
        ("x S-ORG\nEU B-ORG\n\n", {}, r"a\.txt:2: the end must not follow 'B-ORG' \(IOBES\)"),
        ("x NN\ny O\n", {"scheme": "IOB2"}, r"a\.txt:1: 'NN' is not a tag of IOB2; set scheme: none"),
        ("a X\nb\n", {}, r"a\.txt:2: 1 columns, but the first line has 2"),
        ("a X\nb Y Z\n", {}, r"a\.txt:2: 3 columns, but the first line has 2"),
        ("a\nb\n", {}, r"a\.txt:1: 1 column\(s\), but number 1 \(from 0\) is needed"),
        ("a\tX\t1\n\tY\t0\n", {"damaged": "strict"}, r"a\.txt:2: an empty word or tag"),
        ("a X 2\nb Y one\n", {"columns": {"head": 2}}, r"a\.txt:2: head 'one' is not a number"),
        ("a X 2\nb Y 3\n", {"columns": {"head": 2}}, r"a\.txt:1: the sentence .*word 2 \('b'\) has head 3"),
        ("a X 0\nb Y 0\n", {"columns": {"head": 2}}, r"a\.txt:1: the sentence .*2 words have head 0"),
        ("z X 0\n\na X 0\nb Y 3\nc Z 2\n", {"columns": {"head": 2}}, r"a\.txt:3: the sentence .*in a circle"),
        ("\n\n", {}, "split 'all' holds no sentence"),
    ],
)
def test_bad_lines_are_named(folder: Path, content: str, settings: dict[str, object], message: str) -> None:
    (folder / "a.txt").write_text(content)
    refuses(folder, message, **settings)


def test_a_tag_that_only_a_held_out_split_has(folder: Path) -> None:
    (folder / "train.txt").write_text("a X\nb Y\n")
    (folder / "test.txt").write_text("a X\n\nb Z\n")
    files = {"train": "train*", "test": "test*"}
    refuses(folder, r"test\.txt:3 \('Z'\): .*that the training split does not have", files=files, damaged="strict")
