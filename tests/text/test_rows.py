"""Rows of every kind: what one batch becomes, and that neither parts nor processes change what a corpus becomes."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from langladder.engine.base import Local, Serial, used
from langladder.ground.errors import InputError
from langladder.text.clean import cleaning
from langladder.text.clean.clean_pairs import PAIR, CleanPairsConfig, PairRules, clean_pairs, clean_parallel
from langladder.text.clean.cleaning import CleanRowsConfig, RowType
from langladder.text.clean.steps import Book
from langladder.text.labelled.clean_instructions import (
    DIALOGUE,
    CleanInstructionsConfig,
    clean_dialogues,
    clean_instructions,
)
from langladder.text.labelled.clean_labelled import (
    LABELLED_TEXT,
    TAGGED_SENTENCE,
    CleanLabelledConfig,
    clean_labels,
    clean_sentences,
    clean_tags,
    clean_texts,
)
from langladder.text.labelled.instructions import ROLES, Dialogue, Message
from langladder.text.labelled.label_files import LabelledSource, read_labels
from langladder.text.labelled.labelled import LABELLED, TAGGED
from langladder.text.labelled.questions import (
    Answer,
    Question,
    QuestionSource,
    read_question_files,
    unchanged_questions,
)
from langladder.text.storage import shards, tables

# ---- one batch

STEPS = {"lowercase": True, "punctuation": "remove", "whitespace": True}


def text(text: str, label: str = "x", second: str | None = None, **more: Any) -> dict[str, Any]:
    return dict.fromkeys(LABELLED.names) | {"text": text, "label": label, "second": second} | more


def sentence(words: list[str], tags: list[str], **more: Any) -> dict[str, Any]:
    return dict.fromkeys(TAGGED.names) | {"words": words, "tags": tags} | more


def dialogue(prompt: str, response: str, request: str | None = None, rejected: str | None = None) -> Dialogue:
    return Dialogue((Message("user", prompt), Message("assistant", response)), "kind", request, rejected)


def test_pairs() -> None:
    rules = PairRules.model_validate(
        {"source": STEPS, "max_length_ratio": 4, "characters": 2.0, "limits": {"max_characters": 20}}
    )
    raw = [("A  b!", "Ein B!"), ("?", "x"), ("a", "b" * 9), ("a", "b" * 8), ("abcdefghi", "b c d"), ("a", "b" * 21)]
    book = Book()
    result = list(clean_pairs([{"source": item, "target": two} for item, two in raw], rules, book))
    assert [(item.row["source"], item.row["target"], item.dropped) for item in result] == [
        ("a b", "Ein B!", None),
        ("", "x", "empty"),
        ("a", "b" * 9, "length_ratio"),  # 9 of the target beside 2 that are expected
        ("a", "b" * 8, None),
        ("abcdefghi", "b c d", None),  # 5 beside 18
        ("a", "b" * 21, "too_long"),
    ]
    assert result[0].key == result[0].unshared == ("a b", "Ein B!") and result[0].split_by == "a b"
    assert book.changed == {"lowercase": 1, "punctuation": 2, "whitespace": 2} and not book.dropped


def test_labelled_texts() -> None:
    config = CleanLabelledConfig.model_validate({"steps": STEPS, "limits": {"min_words": 2}})
    tree = text("Very Good !", tree="(4 (4 (2 Very) (3 Good)) (2 !))", log_prob=-0.5, ceiling=0.9)
    known = text("as it was", log_prob=-0.5, ceiling=0.9)
    raw = [text("A  b!"), text("A", second="B c?"), text("a b", second="!"), text("One."), known, tree]
    result = list(clean_texts(raw, config, Book()))
    assert [(item.row["text"], item.row["second"], item.dropped) for item in result] == [
        ("a b", None, None),
        ("a", "b c", None),
        ("a b", "", "empty"),
        ("one", None, "too_short"),
        ("as it was", None, None),
        ("very good !", None, None),  # a word that a step would remove stays
    ]
    assert result[4].row == known
    assert result[5].row["tree"] == "(4 (4 (2 very) (3 good)) (2 !))" and result[5].row["ceiling"] is None
    assert (result[1].key, result[1].unshared, result[1].split_by) == (["a\tb c", "x"], ("a\tb c",), "a\tb c")


def test_tagged_sentences() -> None:
    config = CleanLabelledConfig.model_validate({"steps": STEPS, "limits": {"max_words": 2}})
    raw = [sentence(["A", "!"], ["X", "Y"], log_prob=-0.5, ceilings=[1.0, 0.5]), sentence(["a", "b", "c"], ["X"] * 3)]
    item, two = clean_sentences(raw, config, Book())
    assert item.row == sentence(["a", "!"], ["X", "Y"]) and item.dropped is None
    assert (item.key, item.unshared, item.split_by) == (["a !", "X", "Y"], ("a !",), "a !")
    assert two.dropped == "too_long"


def test_dialogues() -> None:
    config = CleanInstructionsConfig.model_validate({"steps": STEPS, "limits": {"max_words": 5}})
    raw = [
        dialogue("Name  it!", "A pear.", rejected="No"),
        dialogue("Name  it!", "A pear.", request="{}"),
        dialogue("a", "?"),
        dialogue("a", "Yes", rejected="yes!"),
        dialogue("a", "b c d e f"),
        Dialogue((Message("user", "a"),), "kind"),
    ]
    result = list(clean_dialogues([item.row() for item in raw], config, Book()))
    assert [(item.row["messages"][-1]["text"], item.dropped) for item in result] == [
        ("a pear", None),
        ("A pear.", None),  # a judge reads it: it stays as it is
        ("", "empty"),
        ("yes", "equal_answers"),
        ("b c d e f", "too_long"),
        ("a", "no_response"),
    ]
    assert result[0].row["rejected"] == "no"
    assert result[0].unshared == ((Message("user", "name it"),),) and result[0].split_by == "user\tname it"


def test_questions() -> None:
    row = Question("It is here.", "where ?", (Answer("here", 6),)).row()
    (item,) = unchanged_questions([row], CleanRowsConfig(), Book())
    assert item.row == row and item.dropped is None
    assert (item.unshared, item.split_by) == (("It is here.",), "It is here.")


# ---- a corpus with its own splits

OWN_PAIRS = {
    "train": [("a", "A"), ("a", "A"), ("b", "B"), ("c", "C"), ("d", "T"), ("", "E"), ("v", "V")],
    "validation": [("v", "V"), ("t", "T"), ("v", "V2")],
    "test": [("t", "T"), ("c", "other")],
}


def clean_own_pairs(folder: Path, **settings: Any) -> tuple[dict[str, list[str]], dict[str, int]]:
    """The sources and targets of each split, joined, and how many pairs were dropped for each reason."""
    raw = {name: [{"source": item, "target": two} for item, two in pairs] for name, pairs in OWN_PAIRS.items()}
    report = clean_parallel(write(folder / "raw", raw, PAIR, 3), folder / "clean", CleanPairsConfig(**settings), 1)
    splits = {
        name: [f"{row['source']} {row['target']}" for row in rows_of(folder / "clean", name, PAIR)] for name in raw
    }
    return splits, {reason: result["count"] for reason, result in report["cleaning"]["dropped"].items()}


def test_pairs_are_dropped_from_train_before_held_out_ones(tmp_path: Path) -> None:
    splits, dropped = clean_own_pairs(tmp_path)
    assert splits == {"train": ["a A", "b B"], "validation": ["v V", "v V2"], "test": ["t T", "c other"]}
    assert dropped == {"duplicate_pair": 3, "empty": 1, "source_is_held_out": 1, "target_is_held_out": 1}


def test_independent_pairs_are_all_kept(tmp_path: Path) -> None:
    splits, dropped = clean_own_pairs(tmp_path, iid=True)
    assert splits == {name: [f"{item} {two}" for item, two in pairs if item] for name, pairs in OWN_PAIRS.items()}
    assert dropped == {"empty": 1}


def test_settings_keep_duplicates_and_held_out_pairs(tmp_path: Path) -> None:
    splits, dropped = clean_own_pairs(tmp_path, drop_duplicates=False)
    assert splits["train"] == ["a A", "a A", "b B"] and dropped["source_is_held_out"] == 2
    (tmp_path / "other").mkdir()
    splits, dropped = clean_own_pairs(tmp_path / "other", held_out_never_in_train=False)
    assert splits["train"] == ["a A", "b B", "c C", "d T"] and dropped == {"duplicate_pair": 3, "empty": 1}


def test_labelled_rows_with_own_splits(tmp_path: Path) -> None:
    raw = {
        "train": [text("a b"), text("a b"), text("a b", "y"), text("c", "y"), text("v"), text("d d new")],
        "validation": [text("v"), text("v"), text("a new", "y")],
        "test": [text("v", "y", ceiling=0.5)],
    }
    report = clean_labels(write(tmp_path / "raw", raw, LABELLED_TEXT, 4), tmp_path / "clean", CleanLabelledConfig(), 3)
    assert [row["text"] for row in rows_of(tmp_path / "clean", "train", LABELLED_TEXT)] == [
        "a b",
        "a b",
        "c",
        "d d new",
    ]
    assert report["cleaning"] == {
        "read": 10,
        "changed_by_step": {},
        "dropped": {
            "duplicate": {"count": 2, "examples": ["a b", "v"]},
            "text_is_held_out": {"count": 1, "examples": ["v"]},
        },
    }
    assert report["labels"] == {"train": {"x": 2, "y": 2}, "validation": {"x": 1, "y": 1}, "test": {"x": 0, "y": 1}}
    assert report["several_labels"] == {"texts": 2, "examples": ["a b", "v"]}
    assert report["leakage"]["test"] == {"examples": 1, "in_train": 0.0}
    assert report["splits"]["train"] == {
        "examples": 4,
        "words": 8,
        "word_types": 5,
        "words_new_to_train": 0.0,
        "best_possible_accuracy": None,
        "words_in_the_median": 2,
        "words_at_most": 3,
    }
    assert report["splits"]["validation"]["words_new_to_train"] == round(1 / 3, 6)
    assert report["splits"]["test"]["best_possible_accuracy"] == 0.5
    assert report["cut_by_hash"] == []


# ---- parts

WORDS = ["a", "bb", "éc", "她", "จบ", "dd"]


def drawn_pair(random: Random) -> dict[str, Any]:
    return {side: " ".join(random.choices(WORDS, k=random.randrange(5))) for side in ("source", "target")}


def drawn_text(random: Random) -> dict[str, Any]:
    result = " ".join(random.choices([*WORDS, f"w{random.randrange(10**6)}"], k=random.randrange(4)))
    label = random.choice("xyz") if random.random() < 0.98 else f"rare {random.randrange(4)}"
    return text(result, label, "Bb" if random.random() < 0.3 else None)


def drawn_sentence(random: Random) -> dict[str, Any]:
    words = random.choices([*WORDS, f"w{random.randrange(10**6)}"], k=random.randrange(1, 4))
    tags = [random.choice("XY") if random.random() < 0.98 else f"R{random.randrange(4)}" for _ in words]
    return sentence(words, tags)


def drawn_dialogue(random: Random) -> dict[str, Any]:
    texts = [random.choice(WORDS) for _ in range(2 * random.randrange(1, 3))]
    messages = tuple(Message(ROLES[1 + number % 2], text) for number, text in enumerate(texts))
    request, rejected = random.choice([None, None, "{}"]), random.choice([None, "no", "No way"])
    return Dialogue(messages, random.choice("uv"), request, rejected).row()


class Case(NamedTuple):
    """Rows to draw, and the stage that cleans them: (raw folder, clean folder, settings, seed) → report."""

    draw: Callable[[Random], dict[str, Any]]
    row_type: RowType
    config: type[CleanRowsConfig]
    clean: Callable[[Path, Path, Any, int], dict[str, Any]]


CASES = {
    "pairs": Case(drawn_pair, PAIR, CleanPairsConfig, clean_parallel),
    "labelled texts": Case(drawn_text, LABELLED_TEXT, CleanLabelledConfig, clean_labels),
    "tagged sentences": Case(drawn_sentence, TAGGED_SENTENCE, CleanLabelledConfig, clean_tags),
    "dialogues": Case(drawn_dialogue, DIALOGUE, CleanInstructionsConfig, clean_instructions),
}


def write(folder: Path, raw: dict[str, list[Any]], row_type: RowType, rows: int) -> Path:
    """Tables whose row groups have so many rows."""
    for name, result in raw.items():
        groups = (pa.Table.from_pylist(result[at : at + rows], row_type.schema) for at in range(0, len(result), rows))
        tables.write_batches(folder / f"{name}.parquet", row_type.schema, groups)
    return folder


def rows_of(folder: Path, name: str, row_type: RowType) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tables.read_table(folder / f"{name}.parquet", row_type.schema).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("engine", "own", "settings"),
    [
        (Serial, ("all",), {"split": {"validation": 0.3, "test": 0.3}}),
        (Serial, ("train", "validation"), {"iid": True}),
        (lambda: Local(2), ("train", "validation"), {"limits": {"min_words": 2}}),
    ],
    ids=["one process, no splits", "one process, all rows kept", "two processes"],
)
@pytest.mark.parametrize("name", CASES)
def test_parts_and_processes_change_nothing(
    name: str, engine: Any, own: tuple[str, ...], settings: dict[str, Any], tmp_path: Path, monkeypatch: Any
) -> None:
    case, random = CASES[name], Random(7)
    raw = {table: [case.draw(random) for _ in range(600 if table in ("all", "train") else 60)] for table in own}
    raw = {table: [*rows, *random.choices(rows, k=len(rows) // 4)] for table, rows in raw.items()}
    config = case.config.model_validate(settings)
    whole = case.clean(write(tmp_path / "raw", raw, case.row_type, 5000), tmp_path / "whole", config, 3)
    monkeypatch.setattr(cleaning, "ROWS", 64)
    with used(engine()):
        assert case.clean(write(tmp_path / "cut", raw, case.row_type, 150), tmp_path / "parts", config, 3) == whole
    files = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "parts").iterdir())
    for file in files:
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.parametrize("engine", [Serial, lambda: Local(2)], ids=["one process", "two processes"])
def test_parts_of_questions(engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random, lines = Random(5), list[str]()
    for _ in range(600):
        context = " ".join(random.choices(WORDS, k=random.randrange(1, 5)))
        answers = [{"text": context.split(" ")[0], "start": 0}] if random.random() < 0.7 else []
        lines.append(json.dumps({"context": context, "question": random.choice(WORDS), "answers": answers}))
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    source = QuestionSource(path=str(tmp_path / "in.jsonl"))
    whole = read_question_files(source, tmp_path / "whole")
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 150)
    monkeypatch.setattr(cleaning, "ROWS", 64)
    with used(engine()):
        assert read_question_files(source, tmp_path / "parts") == whole
    for split in shards.SPLITS:
        result = [tables.read_table(tmp_path / folder / f"{split}.parquet") for folder in ("parts", "whole")]
        assert result[0].equals(result[1])


def test_small_row_groups_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "GROUP_ROWS", 100)
    raw = {"all": [text(f"text {number}", "xy"[number % 2]) for number in range(600)]}
    clean_labels(write(tmp_path / "raw", raw, LABELLED_TEXT, 70), tmp_path / "clean", CleanLabelledConfig(), 1)
    assert shards.group_rows(tmp_path / "clean" / "train.parquet") == [100] * 5 + [40]


def test_long_rows_are_cleaned_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of long texts has small row groups, so that a part of it is never large."""
    monkeypatch.setattr(shards, "CHARACTERS", 1000)
    monkeypatch.setattr(cleaning, "GROUP_BYTES", 3000)
    (tmp_path / "in.tsv").write_text("".join(f"{'long ' * 40}{number}\t{'ab'[number % 2]}\n" for number in range(200)))
    source = LabelledSource(path=str(tmp_path / "in.tsv"), layout="columns", text=0, label=1)
    read_labels(source, tmp_path / "raw")
    assert shards.group_rows(tmp_path / "raw" / "all.parquet") == [5] * 40
    report = clean_labels(tmp_path / "raw", tmp_path / "clean", CleanLabelledConfig(), 1)
    assert sum(split["examples"] for split in report["splits"].values()) == 200
    assert max(shards.group_rows(tmp_path / "clean" / "train.parquet")) < 20


def test_a_damaged_raw_dialogue_is_named_with_its_row(tmp_path: Path) -> None:
    good = dialogue("a", "b")
    bad = Dialogue((Message("user", "a"), Message("tutor", "b")))
    raw = write(tmp_path / "raw", {"all": [item.row() for item in [*[good] * 5, bad]]}, DIALOGUE, 4)
    with pytest.raises(InputError, match=r"all\.parquet, row 6: .*unknown role 'tutor'"):
        clean_instructions(raw, tmp_path / "clean", CleanInstructionsConfig(), 1)
    assert not (tmp_path / "clean").exists()
