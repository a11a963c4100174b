"""Any JSON report becomes tables without loss of order or of values."""

from langladder.faces.report.page import MAX_ROWS, blocks


def test_plain_values_become_facts() -> None:
    (block,) = blocks({"bytes_a_token": 4.12345, "lines": 12345, "own": True, "gone": None, "tokens": [" a", "b"]})
    assert block.facts == [
        ("bytes a token", "4.123"),
        ("lines", "12,345"),
        ("own", "yes"),
        ("gone", "–"),
        ("tokens", "␣a · b"),
    ]


def test_like_mappings_stand_side_by_side() -> None:
    split = {"lines": 3, "words": 9, "documents": 2, "classes": {"letter": 0.75}}
    first, second = blocks({"splits": {"train": split, "test": split | {"lines": 1}}})
    assert (first.title, first.columns) == ("splits", ["", "train", "test"])
    assert first.rows == [["lines", "3", "1"], ["words", "9", "9"], ["documents", "2", "2"]]
    assert first.numeric
    assert (second.title, second.rows) == ("splits: classes", [["letter", "0.75", "0.75"]])


def test_nested_mappings_stand_side_by_side_however_few_their_keys() -> None:
    split = {"pairs": 3, "source": {"words": 4}, "target": {"words": 5}}
    result = blocks({"splits": {"train": split, "validation": split, "test": split}})
    assert [block.title for block in result] == ["splits", "splits: source", "splits: target"]
    assert result[1].rows == [["words", "4", "4", "4"]]


def test_many_mappings_stand_below_each_other() -> None:
    dropped = {"too_long": {"count": 3, "examples": ["x y"]}, "empty": {"count": 1, "examples": []}}
    (block,) = blocks({"dropped": dropped})
    assert block.columns == ["", "count", "examples"]
    assert block.rows == [["too long", "3", "x y"], ["empty", "1", "none"]]
    assert not block.numeric


def test_lists_of_mappings_become_grids_with_all_columns() -> None:
    (block,) = blocks({"longest": [{"token": "aa", "id": 5}, {"token": "b", "count": 2}]})
    assert block.columns == ["token", "id", "count"]
    assert block.rows == [["aa", "5", "–"], ["b", "–", "2"]]


def test_sides_that_lack_a_part_or_differ_in_kind_are_still_compared() -> None:
    left = {"a": 1, "b": 2, "c": {"x": 1}, "d": [{"y": 1}]}
    result = blocks({"sides": {"left": left, "right": {"a": 3, "b": 4, "d": 7}}})
    text = str(result)
    assert "'x', '1', '–'" in text
    assert "'right d', '7'" in text


def test_long_grids_say_how_much_is_left_out() -> None:
    (block,) = blocks({"rows": [{"n": i} for i in range(MAX_ROWS + 5)]})
    assert (len(block.rows), block.left_out) == (MAX_ROWS, 5)


def test_a_report_that_is_no_mapping() -> None:
    assert blocks([1, 2])[0].facts == [("value", "1 · 2")]
    assert blocks({}) == []
