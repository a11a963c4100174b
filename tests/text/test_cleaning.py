"""Cleaning whole corpora: splits, duplicates, leakage, reports, and what is refused."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from plain_cleaning import Seen
from pydantic import ValidationError

from langladder.ground.errors import InputError
from langladder.text.clean.clean_pairs import CleanPairsConfig, PairsReport, clean_parallel
from langladder.text.clean.clean_text import CleanConfig, CleanReport, clean_text
from langladder.text.clean.duplicates import DuplicatesConfig, TextHashes, decided, duplicate_kinds, recall, shingles
from langladder.text.clean.statistics import TextStatistics, invisible
from langladder.text.storage import shards, tables
from langladder.text.storage.tables import Document
from langladder.text.words.segmentation import split_words

SHARD = "data-00000-of-00001.parquet"
Lines = list[tuple[int, str]]


def write_raw(folder: Path, **splits: Lines) -> Path:
    for split, lines in splits.items():
        documents, texts = zip(*lines, strict=True)
        rows = [documents, texts, [-1.5] * len(lines)]
        tables.write_table(folder / split, pa.table(rows, schema=shards.TEXT))
    return folder


def lines_of(folder: Path, split: str) -> Lines:
    table = tables.read_table(folder / split, shards.TEXT)
    return list(zip(table["document"].to_pylist(), table["text"].to_pylist(), strict=True))


def clean(tmp_path: Path, raw: dict[str, Lines], **settings: object) -> tuple[Path, CleanReport]:
    write_raw(tmp_path / "raw", **raw)
    report = clean_text(tmp_path / "raw", tmp_path / "clean", CleanConfig.model_validate(settings), seed=1)
    assert json.loads(json.dumps(report)) == report
    return tmp_path / "clean", report


def corpus(documents: int, lines: int = 3) -> Lines:
    return [(d, f"line {line} of document {d} stands here") for d in range(documents) for line in range(lines)]


def test_whole_documents_are_split_and_numbered_from_zero(tmp_path: Path) -> None:
    raw = corpus(400)
    folder, report = clean(tmp_path, {"all": raw})
    result: Lines = []
    for split in shards.SPLITS:
        rows = lines_of(folder, split)
        numbers = [number for number, _ in rows]
        assert numbers == [n for n in range(len(rows) // 3) for _ in range(3)]  # consecutive, whole
        assert report["splits"][split]["documents"] == len(rows) // 3
        result += rows
    assert sorted(text for _, text in result) == sorted(text for _, text in raw)
    assert report["cut_by_hash"] == ["train", "validation", "test"]


def test_same_input_same_bytes_and_seed_matters(tmp_path: Path) -> None:
    write_raw(tmp_path / "raw", all=corpus(100))
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        clean_text(tmp_path / "raw", tmp_path / name, CleanConfig(), seed)
    contents = [(tmp_path / name / "test" / SHARD).read_bytes() for name in ("one", "two", "three")]
    assert contents[0] == contents[1] != contents[2]


def test_a_dozen_books_are_cut_by_words_and_what_is_off_is_reported(tmp_path: Path) -> None:
    """Books of 30 to 3,000 words, a line of ten words after the other."""
    lengths = [3, 5, 8, 13, 21, 34, 55, 89, 144, 200, 250, 300]
    books = [
        (number, f"book {number} line {line} " + "word " * 6) for number, n in enumerate(lengths) for line in range(n)
    ]
    raw = write_raw(tmp_path / "raw", all=books)
    report = clean_text(raw, tmp_path / "words", CleanConfig(), seed=1)
    words = {split: counts["words"] for split, counts in report["splits"].items()}
    assert report["cut_by"] == "words" and "warnings" not in report
    assert 0.03 < words["test"] / sum(words.values()) < 0.08 and 0.03 < words["validation"] / sum(words.values()) < 0.08
    by_documents = CleanConfig.model_validate({"split": {"by": "documents"}})
    report = clean_text(raw, tmp_path / "documents", by_documents, seed=1)
    (warning,) = report["warnings"]
    counts = report["splits"]["test"]
    assert report["cut_by"] == "documents"
    assert f"test {counts['words']:,} words in {counts['documents']} documents" in warning


def test_own_splits_stay_and_missing_ones_are_cut_from_train(tmp_path: Path) -> None:
    folder, report = clean(tmp_path, {"train": corpus(60), "test": [(0, "a held out line")]})
    assert lines_of(folder, "test") == [(0, "a held out line")]
    assert report["cut_by_hash"] == ["validation"] and len(lines_of(folder, "validation")) > 0


def test_log_probabilities_stay_only_with_unchanged_lines(tmp_path: Path) -> None:
    """Of the lines after one that is changed or dropped, up to the end of their document, they are not known either."""
    lines = [(0, "as it was"), (0, "two  spaces"), (0, "after"), (1, "another"), (1, " "), (1, "after"), (2, "third")]
    folder, report = clean(tmp_path, {"train": lines, "validation": [(0, "b")], "test": [(0, "c")]}, iid=True)
    table = tables.read_table(folder / "train", shards.TEXT)
    assert table["log_prob"].to_pylist() == [-1.5, None, None, -1.5, None, -1.5]
    assert report["cleaning"]["changed_by_step"] == {"whitespace": 2}
    document = Document(["a", "b", "c"], [-1.0, -2.0, -3.0])
    assert document.select([True, False, True]) == Document(["a", "c"], [-1.0, None])
    assert document.select([True, True, False]) == Document(["a", "b"], [-1.0, -2.0])


OWN = {
    "train": [(0, "held out"), (1, "kept here"), (2, "kept here"), (3, "x")],
    "validation": [(0, "held out")],
    "test": [(0, "held out too")],
}


def test_duplicates_leave_the_training_text_not_the_test(tmp_path: Path) -> None:
    folder, report = clean(tmp_path, OWN)
    assert lines_of(folder, "train") == [(0, "kept here"), (1, "x")]
    assert lines_of(folder, "validation") == [(0, "held out")]
    assert report["cleaning"]["dropped"]["duplicate_document"]["count"] == 2


def test_independent_samples_keep_their_duplicates_and_count_them(tmp_path: Path) -> None:
    folder, report = clean(tmp_path, OWN, iid=True)
    assert len(lines_of(folder, "train")) == 4 and report["cleaning"]["dropped"] == {}
    assert report["leakage"]["validation"]["lines_in_train"] == 1.0
    assert report["leakage"]["test"]["lines_in_train"] == 0.0


def test_golden_leakage_by_ngrams(tmp_path: Path) -> None:
    words = [str(number) for number in range(20)]
    own = {
        "train": [(0, " ".join(words)), (1, "short line")],
        "validation": [(0, " ".join([*words[:15], "other"])), (1, "short line")],  # 4 + 1 n-grams of 13, 3 + 1 seen
        "test": [(0, " ".join(words[:12])), (1, "nothing alike")],  # a shorter line counts whole: not seen
    }
    _, report = clean(tmp_path, own, duplicates={"exact": "keep"})
    assert report["leakage"]["validation"]["ngrams"] == 5
    assert report["leakage"]["validation"]["ngrams_in_train"] == 0.8
    assert report["leakage"]["validation"]["lines_in_train"] == 0.5
    assert report["leakage"]["test"]["ngrams_in_train"] == 0.0


def test_limits_say_what_went_and_why(tmp_path: Path) -> None:
    own = {"train": [(0, "one"), (0, "one two"), (0, "one two three"), (0, "\x07")]}
    raw = own | {"validation": [(0, "one two")], "test": [(0, "two one")]}
    folder, report = clean(tmp_path, raw, limits={"min_words": 2, "max_words": 2}, duplicates={"exact": "keep"})
    assert lines_of(folder, "train") == [(0, "one two")]
    dropped = report["cleaning"]["dropped"]
    assert {reason: entry["count"] for reason, entry in dropped.items()} == {"empty": 1, "too_long": 1, "too_short": 1}
    assert dropped["too_long"]["examples"] == ["one two three"]
    with pytest.raises(ValidationError, match="max_words: 1 is below min_words: 2"):
        CleanConfig.model_validate({"limits": {"min_words": 2, "max_words": 1}})


def test_nothing_is_written_when_nothing_is_left_or_documents_are_too_few(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cleaning leaves nothing \(too_short 3"):
        clean(tmp_path, {"all": corpus(1)}, limits={"min_words": 99})
    with pytest.raises(InputError, match="has 1 different document"):
        clean(tmp_path, {"all": corpus(1)})
    with pytest.raises(InputError, match="has 2 different document"):
        clean(tmp_path, {"all": corpus(2)})
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


LONG = "the quick brown fox jumps over the lazy dog while the old grey wolf watches from the distant snowy hill "


def test_near_duplicates_by_words_and_by_characters() -> None:
    chinese = "围棋是一种策略性棋类游戏，使用方形格状棋盘及黑白二色圆形棋子进行对弈，起源于中国古代"
    other = "something else entirely is written on this second line of text"
    texts = [LONG + "today", LONG + "tonight", other, chinese, chinese + "。", other]
    config = DuplicatesConfig(exact="keep", near="lines", near_threshold=0.6)
    assert duplicate_kinds(texts, config, "lines").tolist() == [0, 2, 0, 0, 2, 2]
    assert duplicate_kinds(texts, config, "documents").tolist() == [0] * 6
    assert duplicate_kinds(texts, DuplicatesConfig(exact="lines"), "lines").tolist() == [0] * 5 + [1]
    assert shingles("我爱北京", DuplicatesConfig(shingle_characters=3)) == {"我爱北", "爱北京"}
    assert shingles("ሰላም፡ለዓለም፡ሁሉ", DuplicatesConfig(shingle_words=2)) == {"ሰላም ለዓለም", "ለዓለም ሁሉ"}


def drawn(common: int, own: int, random: Random) -> list[str]:
    """Two texts with so many different words in common, and so many of their own."""
    words = [f"w{number}" for number in random.sample(range(10**9), common + 2 * own)]
    return [" ".join(words[: common + own]), " ".join(words[:common] + words[common + own :])]


def gone_of(folder: Path, texts: list[str], config: DuplicatesConfig, parts: int) -> list[int]:
    """What is decided of texts that are cut into parts, one of which has none."""
    folder.mkdir()
    cut = [*([texts[at] for at in some] for some in np.array_split(np.arange(len(texts)), parts)), []]

    def files(number: int) -> Callable[[str], Path]:
        return lambda kind: folder / f"{number}.{kind}"

    for number, some in enumerate(cut):
        notes = TextHashes(config, "documents")
        for item in some:
            notes.note(item)
        notes.save(files(number))
    gone, _ = decided([files(number) for number in range(len(cut))], config, "documents", 10**9)
    return [int(item) for item in gone]


def test_pairs_at_the_threshold_are_found_and_those_below_it_stay(tmp_path: Path) -> None:
    config = DuplicatesConfig(exact="keep", near="documents", near_threshold=0.8, shingle_words=1)
    random, texts = Random(1), list[str]()
    for common, own in ((80, 10), (79, 11), (67, 16)):  # Jaccard similarities 0.8, 0.782, 0.677
        for _ in range(200):
            texts += drawn(common, own, random)
    gone = gone_of(tmp_path / "whole", texts, config, 1)
    assert gone_of(tmp_path / "parts", texts, config, 7) == gone
    seen = Seen(config)
    assert [2 if seen.is_duplicate(text, "documents") else 0 for text in texts] == gone
    at, *below = (sum(gone[first : first + 400]) // 2 / 200 for first in (0, 400, 800))
    assert at >= 0.95 and below == [0, 0] and not any(gone[::2])
    assert config.report()["near_duplicates"] == {
        "threshold": 0.8,
        "bands": 18,
        "rows": 7,
        "recall_at_threshold": 0.9855,
    }


@pytest.mark.parametrize("permutations", [16, 64, 128, 1024])
@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.7, 0.95])
def test_bands_find_95_percent_at_the_threshold(threshold: float, permutations: int) -> None:
    config = DuplicatesConfig(near="lines", near_threshold=threshold, permutations=permutations)
    bands, rows = config.bands
    assert bands * rows <= permutations and recall(threshold, bands, rows) >= 0.95
    assert recall(threshold, permutations // (rows + 1), rows + 1) < 0.95


def test_of_many_copies_the_first_stays(tmp_path: Path) -> None:
    config = DuplicatesConfig(exact="keep", near="documents", near_threshold=0.6)
    gone = gone_of(tmp_path / "copies", [f"{LONG} {number}" for number in range(60)], config, 4)
    assert gone == [0] + [2] * 59


def test_golden_statistics() -> None:
    statistics = TextStatistics()
    for line in ("The cat sat .", "我爱 猫", "naïve \x07"):
        statistics.add(line, split_words(line, "auto"))
    report = statistics.report()
    assert (report["lines"], report["words"], report["characters"]) == (3, 4 + 3 + 2, 13 + 4 + 7)
    assert report["bytes"] == 13 + 10 + 8 and report["lines_with_control_characters"] == 1
    assert report["scripts"] == {"Latin": 0.823529, "Han": 0.176471}
    assert report["words_a_line"]["histogram"] == {"2-3": 2, "4-7": 1}
    assert report["words_a_line"]["percentiles"]["50"] == 3 and report["words_a_line"]["percentiles"]["100"] == 4


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("the c\u200bat\u200b sat\u202e", {"U+200B ZERO WIDTH SPACE": 2, "U+202E RIGHT-TO-LEFT OVERRIDE": 1}),
        (
            "春\u2060風\u00ad又\u200d綠",
            {"U+00AD SOFT HYPHEN": 1, "U+200D ZERO WIDTH JOINER": 1, "U+2060 WORD JOINER": 1},
        ),
        ("می\u200cخواهم", {}),  # Persian is written with it
        ("می\u200cخواهم \u202e", {"U+202E RIGHT-TO-LEFT OVERRIDE": 1}),
        ("ภาษา\u200bไทย क\u094d\u200dष שלום\u200f", {}),
        ("👩\u200d🔬 and \u2764\ufe0f", {}),
        ("Auflage naïve\x07", {}),
        ("Auf\u200clage", {"U+200C ZERO WIDTH NON-JOINER": 1}),
    ],
)
def test_invisible_characters_are_counted_but_where_the_script_has_them(line: str, result: dict[str, int]) -> None:
    assert invisible(Counter(line)) == result
    statistics = TextStatistics()
    statistics.add(line, line.split())
    assert statistics.report().get("invisible_characters", {}) == result


def test_a_warning_names_invisible_and_lost_characters(tmp_path: Path) -> None:
    raw = [
        (number, line + " ok" * (number % 7))
        for number, line in enumerate(f"word{n} b\u200bc \ufffd" for n in range(30))
    ]
    _, report = clean(tmp_path, {"all": raw}, steps={"invisible": False})
    first, second = report["warnings"]
    assert "the text has 30 invisible character(s) (30 U+200B ZERO WIDTH SPACE)" in first
    assert "30 replacement character(s) (U+FFFD)" in second
    _, report = clean(tmp_path / "out", {"all": raw})
    assert len(report["warnings"]) == 1 and report["cleaning"]["changed_by_step"]["invisible"] == 30
    _, report = clean(tmp_path / "other", {"all": corpus(40)})
    assert "warnings" not in report


# ---- pairs


def clean_pairs(tmp_path: Path, pairs: list[tuple[str, str]], **settings: object) -> tuple[PairsReport, dict[str, Any]]:
    sides = pa.table([[a for a, _ in pairs], [b for _, b in pairs]], schema=tables.PAIRS)
    tables.write_table(tmp_path / "raw" / "all.parquet", sides)
    report = clean_parallel(tmp_path / "raw", tmp_path / "clean", CleanPairsConfig.model_validate(settings), seed=1)
    written = {split: tables.read_table(tmp_path / "clean" / f"{split}.parquet").to_pylist() for split in shards.SPLITS}
    return report, written


MANY = [(f"source {n // 2}", f"target {n % 200}") for n in range(600)]  # sources twice, targets thrice


def test_no_side_of_a_held_out_pair_is_in_train(tmp_path: Path) -> None:
    report, written = clean_pairs(tmp_path, MANY)
    for side in ("source", "target"):
        held_out = {row[side] for split in ("validation", "test") for row in written[split]}
        assert not held_out & {row[side] for row in written["train"]}
        assert report["leakage"][side]["test"]["lines_in_train"] == 0.0
    total = sum(report["splits"][split]["pairs"] for split in shards.SPLITS)
    assert total + sum(entry["count"] for entry in report["cleaning"]["dropped"].values()) == 600
    _, loose = clean_pairs(tmp_path, MANY, held_out_never_in_train=False)
    assert len(loose["train"]) > len(written["train"])


def test_pairs_go_as_a_whole(tmp_path: Path) -> None:
    bad = [("go  now", "va"), ("go now", "va"), ("\x07", "x"), ("a b c d e f", "a"), ("y" * 60, "z z")]
    settings = {"max_length_ratio": 3.0, "limits": {"max_characters": 50}}
    report, _ = clean_pairs(tmp_path, MANY + bad, **settings)
    counts = {reason: entry["count"] for reason, entry in report["cleaning"]["dropped"].items()}
    assert counts["empty"] == counts["length_ratio"] == counts["too_long"] == counts["duplicate_pair"] == 1
    report, _ = clean_pairs(tmp_path, MANY + bad, iid=True)
    assert set(report["cleaning"]["dropped"]) == {"empty"}


def test_each_side_has_its_own_steps(tmp_path: Path) -> None:
    _, written = clean_pairs(
        tmp_path, [(f"Don't {n}", f"Non {n}") for n in range(60)], source={"contractions": "expand"}
    )
    assert all(row["source"].startswith("Do not") and row["target"].startswith("Non") for row in written["train"])


def test_too_few_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too few"):
        clean_pairs(tmp_path, MANY[:2])
    assert not (tmp_path / "clean").exists()
