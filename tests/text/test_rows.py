"""Rows cleaned in parts: what a plain pass over all of them gives, whatever the parts and the processes."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from langladder.engine.base import Engine, Serial, used
from langladder.engine.local import Local
from langladder.errors import InputError
from langladder.text.clean import rows as clean_rows
from langladder.text.clean.clean_pairs import CleanPairsConfig, clean_parallel
from langladder.text.clean.rows import CleanRowsConfig, Kind
from langladder.text.clean.splitting import SplitConfig
from langladder.text.labelled.clean_instructions import DIALOGUE, CleanInstructionsConfig, clean_instructions
from langladder.text.labelled.clean_labelled import (
    LABELLED_TEXT,
    TAGGED_SENTENCE,
    CleanLabelledConfig,
    clean_labels,
    clean_tags,
    labels_of,
    text_of,
)
from langladder.text.labelled.instructions import INSTRUCTION_SPLITS, ROLES, Dialogue, Message
from langladder.text.labelled.label_files import LabelledSource, read_labels
from langladder.text.labelled.labelled import LABELLED, TAGGED
from langladder.text.labelled.question_files import QUESTION, QuestionSource, read_question_files
from langladder.text.labelled.questions import Answer, Question, facts_of, read_questions
from langladder.text.storage import tables
from tests.text import plain_rows

WORDS = ["a", "bb", "éc", "她", "จบ", "dd"]
Pairs = list[tuple[str, str]]


def drawn(seed: int, count: int) -> Pairs:
    random = Random(seed)

    def side() -> str:
        return " ".join(random.choices(WORDS, k=random.randrange(5)))

    pairs = [(side(), side()) for _ in range(count)]
    return [*pairs, *random.choices(pairs, k=count // 4)]


def write(folder: Path, splits: dict[str, Pairs], rows: int) -> Path:
    """Tables whose row groups have so many rows."""
    for name, pairs in splits.items():
        pieces = (pairs[start : start + rows] for start in range(0, len(pairs), rows))
        made = (pa.table([list(side) for side in zip(*piece, strict=True)], schema=tables.PAIRS) for piece in pieces)
        tables.write_batches(folder / f"{name}.parquet", tables.PAIRS, made)
    return folder


def plain(splits: dict[str, Pairs]) -> tuple[dict[str, Pairs], int]:
    """Held-out pairs first, no pair twice, no sentence of theirs in train; how many sources of train were held out."""
    seen: set[tuple[str, str]] = set()
    left: dict[str, Pairs] = {}
    for name in ("test", "validation", "train"):
        left[name] = []
        for pair in splits[name]:
            if all(pair) and pair not in seen:
                left[name].append(pair)
            seen.add(pair)
    sources, targets = ({pair[side] for name in ("test", "validation") for pair in left[name]} for side in (0, 1))
    known = sum(pair[0] in sources for pair in left["train"])
    left["train"] = [pair for pair in left["train"] if pair[0] not in sources and pair[1] not in targets]
    return left, known


def read(folder: Path, name: str) -> Pairs:
    table = tables.read_table(folder / f"{name}.parquet", tables.PAIRS)
    return list(zip(*(table.column(side).to_pylist() for side in range(2)), strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_parity_with_a_plain_pass_over_all_pairs(seed: int, tmp_path: Path) -> None:
    splits = {"train": drawn(seed, 900), "validation": drawn(seed + 10, 40), "test": drawn(seed + 20, 30)}
    raw = write(tmp_path / "raw", splits, 150)
    report = clean_parallel(raw, tmp_path / "clean", CleanPairsConfig(), seed=1)
    wanted, known = plain(splits)
    assert {name: read(tmp_path / "clean", name) for name in splits} == wanted
    dropped = {reason: found["count"] for reason, found in report["cleaning"]["dropped"].items()}
    assert sum(dropped.values()) == sum(map(len, splits.values())) - sum(map(len, wanted.values()))
    assert set(dropped) == {"empty", "duplicate_pair", "source_is_held_out", "target_is_held_out"}
    assert dropped["source_is_held_out"] == known


SETTINGS: list[dict[str, Any]] = [{}, {"iid": True}, {"max_length_ratio": 2, "limits": {"min_words": 2}}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("engine", [Serial, lambda: Local(2)], ids=["one process", "two processes"])
def test_parity_of_parts_of_any_size(
    engine: Any, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, config = drawn(7, 1500), CleanPairsConfig.model_validate(settings)
    whole = clean_parallel(write(tmp_path / "raw", {"all": pairs}, 5000), tmp_path / "whole", config, seed=3)
    monkeypatch.setattr(clean_rows, "ROWS", 64)
    made: Engine = engine()
    with used(made):
        raw = write(tmp_path / "cut", {"all": pairs}, 400)
        assert clean_parallel(raw, tmp_path / "parts", config, seed=3) == whole
    for split in tables.SPLITS:
        name = f"{split}.parquet"
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


# ---- labelled texts, tagged sentences, dialogues, questions


def words(random: Random) -> list[str]:
    """Now and then with a word that stands nowhere else."""
    return [*WORDS, f"w{random.randrange(10**6)}"] if random.random() < 0.1 else WORDS


def labelled(random: Random, count: int) -> list[dict[str, Any]]:
    def row() -> dict[str, Any]:
        text, more = " ".join(random.choices(words(random), k=random.randrange(4))), random.random() < 0.3
        known = {"log_prob": -0.5, "ceiling": random.random()} if random.random() < 0.9 else {}
        label = random.choice("xyz") if random.random() < 0.98 else f"rare {random.randrange(4)}"
        return dict.fromkeys(LABELLED.names) | {"text": text, "second": "Bb" if more else None, "label": label} | known

    return repeated(random, [row() for _ in range(count)])


def tagged(random: Random, count: int) -> list[dict[str, Any]]:
    def row() -> dict[str, Any]:
        found = random.choices(words(random), k=random.randrange(1, 4))
        tags = [random.choice("XY") if random.random() < 0.98 else f"R{random.randrange(4)}" for _ in found]
        return dict.fromkeys(TAGGED.names) | {"words": found, "tags": tags}

    return repeated(random, [row() for _ in range(count)])


def dialogues(random: Random, count: int) -> list[Dialogue]:
    def row() -> Dialogue:
        turns = [random.choice(WORDS) for _ in range(2 * random.randrange(1, 3))]
        messages = tuple(Message(ROLES[1 + place % 2], text) for place, text in enumerate(turns))
        rejected = random.choice([None, "no", "No way"])
        return Dialogue(messages, random.choice("uv"), random.choice([None, None, "{}"]), rejected)

    return repeated(random, [row() for _ in range(count)])


def questions(random: Random, count: int) -> list[Question]:
    def row() -> Question:
        context = " ".join(random.choices(WORDS, k=random.randrange(1, 5)))
        first = context.split(" ")[0]
        answers = (Answer(first, 0),) if random.random() < 0.7 else ()
        return Question(context, random.choice(WORDS), answers, id=random.choice(["", "7"]))

    return repeated(random, [row() for _ in range(count)])


def repeated(random: Random, rows: list[Any]) -> list[Any]:
    return [*rows, *random.choices(rows, k=len(rows) // 4)]


def wrote(folder: Path, raw: dict[str, list[Any]], kind: Kind, rows: int) -> Path:
    """Tables whose row groups have so many rows."""
    for name, found in raw.items():
        groups = (pa.Table.from_pylist(found[at : at + rows], kind.schema) for at in range(0, len(found), rows))
        tables.write_batches(folder / f"{name}.parquet", kind.schema, groups)
    return folder


def is_read(folder: Path, kind: Kind, splits: Iterable[str]) -> dict[str, list[Any]]:
    return {split: tables.read_table(folder / f"{split}.parquet", kind.schema).to_pylist() for split in splits}


OWN = [("all",), ("train", "validation"), ("train", "validation", "test")]
ROW_SETTINGS: list[dict[str, Any]] = [
    {"split": {"validation": 0.3, "test": 0.3}},
    {"iid": True},
    {"steps": {"lowercase": True}, "limits": {"min_words": 2}},
]
ENGINES = pytest.mark.parametrize("engine", [Serial, lambda: Local(2)], ids=["one process", "two processes"])


def in_tables(own: tuple[str, ...], draw: Callable[[Random, int], list[Any]], seed: int) -> dict[str, list[Any]]:
    return {name: draw(Random(f"{seed} {name}"), 600 if name in ("all", "train") else 60) for name in own}


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean_rows, "ROWS", 64)
    monkeypatch.setattr(clean_rows, "GROUP_ROWS", 100)


@ENGINES
@pytest.mark.parametrize("settings", ROW_SETTINGS, ids=str)
@pytest.mark.parametrize("own", OWN, ids=" ".join)
@pytest.mark.parametrize(
    ("draw", "kind", "clean"), [(labelled, LABELLED_TEXT, clean_labels), (tagged, TAGGED_SENTENCE, clean_tags)]
)
@pytest.mark.usefixtures("small_parts")
def test_parity_of_labelled_rows_in_parts_with_a_plain_pass(
    draw: Any, kind: Kind, clean: Any, own: tuple[str, ...], settings: dict[str, Any], engine: Any, tmp_path: Path
) -> None:
    config = CleanLabelledConfig.model_validate(settings)
    raw = in_tables(own, draw, 5)
    for number, row in enumerate(raw["all"][::9] if "all" in raw else ()):  # labels of two rows
        only = f"only {number // 2}"
        row.update({"label": only} if "label" in row else {"tags": [only for _ in row["words"]]})
    for held_out in set(own) & {"validation", "test"}:  # a label that train lacks is refused
        lacking = {label for row in raw["train"] for label in labels_of(row)}
        raw[held_out] = [row for row in raw[held_out] if lacking.issuperset(labels_of(row))]
    wanted = plain_rows.cleaned(raw, kind, config, 3, text_of, lambda row: (text_of(row), str(labels_of(row))))
    labels = {split: {label for row in rows for label in labels_of(row)} for split, rows in wanted.splits.items()}
    if not labels["train"].issuperset(labels["validation"] | labels["test"]):  # by what is held out
        with pytest.raises(InputError, match="no example of the cleaned training split"):
            clean(wrote(tmp_path / "raw", raw, kind, 150), tmp_path / "clean", config, 3)
        return
    with used(engine()):
        report = clean(wrote(tmp_path / "raw", raw, kind, 150), tmp_path / "clean", config, 3)
    assert is_read(tmp_path / "clean", kind, tables.SPLITS) == {split: wanted.splits[split] for split in tables.SPLITS}
    assert report == plain_rows.labelled_report(wanted, kind, list(own))
    assert sorted(path.name for path in (tmp_path / "clean").iterdir()) == [
        "labels.json",
        *sorted(f"{split}.parquet" for split in tables.SPLITS),
    ]


@ENGINES
@pytest.mark.parametrize("settings", ROW_SETTINGS, ids=str)
@pytest.mark.parametrize("own", [*OWN, ("train", "validation", "test", "unseen")], ids=" ".join)
@pytest.mark.usefixtures("small_parts")
def test_parity_of_dialogues_in_parts_with_a_plain_pass(
    own: tuple[str, ...], settings: dict[str, Any], engine: Any, tmp_path: Path
) -> None:
    config = CleanInstructionsConfig.model_validate(settings)
    raw = {name: [one.row() for one in found] for name, found in in_tables(own, dialogues, 5).items()}
    key = lambda row: (Dialogue.of_row(row).messages, row["rejected"])  # noqa: E731
    wanted = plain_rows.cleaned(raw, DIALOGUE, config, 3, lambda row: Dialogue.of_row(row).prompt, key)
    with used(engine()):
        report = clean_instructions(wrote(tmp_path / "raw", raw, DIALOGUE, 150), tmp_path / "clean", config, 3)
    assert is_read(tmp_path / "clean", DIALOGUE, INSTRUCTION_SPLITS) == wanted.splits
    assert report["cleaning"] == wanted.book.report()
    found = {split: row["prompts_in_train"] for split, row in report["leakage"].items()}
    assert found == plain_rows.prompts_in_train(wanted)
    assert {split: row["dialogues"] for split, row in report["splits"].items()} == {
        split: len(rows) for split, rows in wanted.splits.items()
    }
    assert report["splits"]["train"]["turns"] == sum(len(one["messages"]) for one in wanted.splits["train"])


@ENGINES
@pytest.mark.parametrize("own", OWN, ids=" ".join)
@pytest.mark.usefixtures("small_parts")
def test_parity_of_questions_in_parts_with_a_plain_pass(
    own: tuple[str, ...], engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 150)
    source = QuestionSource(
        path=str(tmp_path / "in"), files={name: f"{name}.jsonl" for name in own} if len(own) > 1 else "*"
    )
    raw = in_tables(own, questions, 5)
    config = CleanRowsConfig(split=SplitConfig(validation=0.1, test=0.1))
    rows = {name: [one.row() for one in found] for name, found in raw.items()}
    wanted = plain_rows.cleaned(rows, QUESTION, config, source.seed, lambda row: row["context"], str)
    (tmp_path / "in").mkdir()
    for name, found in raw.items():
        lines = (one._asdict() | {"answers": [answer._asdict() for answer in one.answers]} for one in found)
        (tmp_path / "in" / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with used(engine()):
        report = read_question_files(source, tmp_path / "raw")
    splits = {split: [Question.of_row(row, split) for row in wanted.splits[split]] for split in tables.SPLITS}
    assert {split: read_questions(tmp_path / "raw" / f"{split}.parquet") for split in tables.SPLITS} == splits
    assert report["splits"] == facts_of(splits)
    assert report["held_out_paragraphs_dropped"] == wanted.book.dropped["context_is_held_out"]


def test_long_rows_are_cleaned_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of long texts has small row groups, so that a part of it is never large."""
    monkeypatch.setattr(tables, "CHARACTERS", 1000)
    monkeypatch.setattr(clean_rows, "GROUP_BYTES", 3000)
    (tmp_path / "in.tsv").write_text("".join(f"{'long ' * 40}{number}\t{'ab'[number % 2]}\n" for number in range(200)))
    source = LabelledSource(path=str(tmp_path / "in.tsv"), layout="columns", text=0, label=1)
    read_labels(source, tmp_path / "raw")
    assert tables.group_rows(tmp_path / "raw" / "all.parquet", LABELLED) == [5] * 40
    report = clean_labels(tmp_path / "raw", tmp_path / "clean", CleanLabelledConfig(), 1)
    assert sum(split["examples"] for split in report["splits"].values()) == 200
    assert max(tables.group_rows(tmp_path / "clean" / "train.parquet", LABELLED)) < 20


def test_a_damaged_raw_dialogue_is_named_with_its_row(tmp_path: Path) -> None:
    good = Dialogue((Message("user", "a"), Message("assistant", "b")))
    bad = Dialogue((Message("user", "a"), Message("tutor", "b")))
    raw = wrote(tmp_path / "raw", {"all": [one.row() for one in [*[good] * 5, bad]]}, DIALOGUE, 4)
    with pytest.raises(InputError, match=r"all\.parquet, row 6: .*unknown role 'tutor'"):
        clean_instructions(raw, tmp_path / "clean", CleanInstructionsConfig(), 1)
    assert not (tmp_path / "clean").exists()
