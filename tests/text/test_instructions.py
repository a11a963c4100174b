"""Dialogues and rankings: what they say of themselves, what is refused, and their tables."""

from pathlib import Path

import pyarrow as pa
import pytest

from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import (
    INSTRUCTIONS,
    Dialogue,
    Message,
    Preference,
    Ranking,
    check_messages,
    check_preference,
    ranking_of,
    rankings_of,
    read_dialogues,
    read_rankings,
    write_dialogues,
    write_rankings,
)
from langladder.text.storage.tables import write_table

ASKED = (Message("user", "what is the capital of japan ?"),)
TWO_TURNS = (
    *(Message("system", "be short ."), Message("user", "a cat ."), Message("assistant", "two cats .")),
    *(Message("user", "a dog ."), Message("assistant", "two dogs .")),
)


def test_prompt_and_response_of_a_dialogue() -> None:
    dialogue = Dialogue(TWO_TURNS, "plural")
    assert dialogue.prompt == TWO_TURNS[:4]
    assert dialogue.response == "two dogs ."
    assert Dialogue(ASKED).prompt == ASKED
    assert Dialogue(ASKED).response is None
    assert Dialogue(ASKED, "capital", "{}").answered("tokyo") == Dialogue(
        (*ASKED, Message("assistant", "tokyo")), "capital", "{}"
    )
    assert dialogue.answered("dogs").messages == (*TWO_TURNS[:4], Message("assistant", "dogs"))


def test_golden_pairs_of_a_ranking() -> None:
    four = Ranking(ASKED, ("a", "b", "c", "d"), (2, 1, 4, 3))
    assert four.pairs() == [(1, 0), (0, 2), (0, 3), (1, 2), (1, 3), (3, 2)]  # 4 · 3 / 2
    assert Ranking(ASKED, ("a", "b", "c"), (1, 2, 2)).pairs() == [(0, 1), (0, 2)]
    assert Ranking(ASKED, ("a", "b"), (1, 1)).pairs() == []
    assert four.preferences()[0] == Preference(ASKED, "b", "a")
    assert ranking_of(Preference(ASKED, "b", "a", "capital")).preferences() == [Preference(ASKED, "b", "a", "capital")]


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ([("user", "a"), ("human", "b")], "f:3: message 2: unknown role 'human'; allowed: system, user, assistant"),
        ([("user", "a"), ("assistant", " ")], "f:3: message 2: an empty response"),
        ([("user", "")], "f:3: message 1: an empty user message"),
        ([("user", "a"), ("user", "b")], "f:3: message 2: two user turns in a row"),
        ([("user", "a"), ("assistant", "b"), ("assistant", "c")], "message 3: two assistant turns in a row"),
        ([("assistant", "b"), ("user", "a")], "the assistant speaks first"),
        ([("system", "a")], "no user turn"),
        ([], "no user turn"),
        ([("user", "a"), ("system", "b")], "message 2: a system message; it must be the first"),
    ],
)
def test_dialogues_that_are_refused(turns: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        check_messages([Message(*turn) for turn in turns], "f:3")


def test_pairs_that_are_refused() -> None:
    with pytest.raises(InputError, match=r"f:1: chosen and rejected are equal \('yes'\)"):
        check_preference("yes", "yes ", "f:1")
    with pytest.raises(InputError, match="f:1: rejected: an empty response"):
        check_preference("yes", " ", "f:1")


def test_tables_give_back_what_was_written(tmp_path: Path) -> None:
    dialogues = [Dialogue(TWO_TURNS, "plural"), Dialogue(ASKED, "capital", '{"answer": "tokyo"}')]
    write_dialogues(tmp_path / "train.parquet", dialogues)
    assert read_dialogues(tmp_path / "train.parquet") == dialogues
    rankings = [Ranking(ASKED, ("a", "b", "c"), (1, 2, 2), "capital", "{}"), Ranking(TWO_TURNS[:4], ("a", "b"), (2, 1))]
    write_rankings(tmp_path / "pairs.parquet", rankings)
    assert read_rankings(tmp_path / "pairs.parquet") == rankings


@pytest.mark.parametrize(
    ("responses", "ranks", "message"),
    [(("a", "b"), (1,), "2 responses, but 1 ranks"), (("a", "a"), (1, 2), "equal"), (("a", ""), (1, 2), "empty")],
)
def test_rankings_that_are_refused(
    tmp_path: Path, responses: tuple[str, ...], ranks: tuple[int, ...], message: str
) -> None:
    write_rankings(tmp_path / "pairs.parquet", [Ranking(ASKED, ("a", "b"), (1, 2)), Ranking(ASKED, responses, ranks)])
    with pytest.raises(InputError, match=f"row 2: .*{message}"):
        read_rankings(tmp_path / "pairs.parquet")


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (None, "no user turn"),
        ([{"role": None, "text": "a"}], "unknown role 'None'"),
        ([{"role": "user", "text": None}], "empty"),
    ],
)
def test_a_table_with_nulls_is_refused(tmp_path: Path, messages: object, message: str) -> None:
    table = pa.Table.from_pylist([{"messages": messages, "kind": "", "asked": None}], schema=INSTRUCTIONS)
    write_table(tmp_path / "train.parquet", table)
    with pytest.raises(InputError, match=f"row 1: .*{message}"):
        read_dialogues(tmp_path / "train.parquet")


def test_a_worse_response_makes_a_pair(tmp_path: Path) -> None:
    pair = Dialogue((*ASKED, Message("assistant", "tokyo")), "capital", None, "paris")
    write_dialogues(tmp_path / "a.parquet", [pair, pair._replace(rejected=None)])
    dialogues = read_dialogues(tmp_path / "a.parquet")
    assert rankings_of(dialogues) == [Ranking(ASKED, ("tokyo", "paris"), (1, 2), "capital")]
    assert pair.answered("lima").rejected is None
    write_dialogues(tmp_path / "b.parquet", [pair._replace(rejected="tokyo ")])
    with pytest.raises(InputError, match="row 1: chosen and rejected are equal"):
        read_dialogues(tmp_path / "b.parquet")
