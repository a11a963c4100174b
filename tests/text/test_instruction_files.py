"""Reading instructions and preferences of one's own: every form, and what is refused with file and line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from real_data import real

from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import (
    Dialogue,
    InstructionSource,
    Message,
    dialogues_of,
    read_dialogues,
    read_instructions,
)

ASKED = Message("user", "Name a fruit.")
SAID = Message("assistant", "A pear.")
TURNS = [{"role": "user", "content": "Name a fruit."}, {"role": "assistant", "content": "A pear."}]
FORMS: dict[str, dict[str, Any]] = {
    "chat": {"messages": TURNS},
    "chat with text": {"messages": [{"role": turn["role"], "text": turn["content"]} for turn in TURNS]},
    "chat with parts": {
        "messages": [turn | {"content": [{"type": "text", "text": turn["content"]}]} for turn in TURNS]
    },
    "ShareGPT": {"conversations": [{"from": "human", "value": "Name a fruit."}, {"from": "gpt", "value": "A pear."}]},
    "prompt": {"prompt": "Name a fruit.", "response": " A pear.\n"},
    "prompt of messages": {"prompt": TURNS[:1], "response": "A pear."},
    "Alpaca": {"instruction": "Name a fruit.", "input": "", "output": "A pear."},
    "Alpaca without input": {"instruction": "Name a fruit.", "output": "A pear."},
    "self-instruct": {"instruction": "Name a fruit.", "instances": [{"input": "", "output": "A pear."}]},
    "preference": {"prompt": "Name a fruit.", "chosen": "A pear.", "rejected": "A dog."},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_dialogue(form: str) -> None:
    rejected = FORMS[form].get("rejected")
    assert dialogues_of(FORMS[form], "f:1") == [Dialogue((ASKED, SAID), rejected=rejected)]


def test_a_dialogue_of_sharegpt_in_another_encoding(tmp_path: Path) -> None:
    turns = [
        ("system", "简短。"),
        ("human", "说一种水果。"),
        ("gpt", "梨。"),
        ("human", "还有呢？"),
        ("chatgpt", "桃。"),
    ]
    rows = [{"id": "a", "conversations": [{"from": name, "value": text} for name, text in turns]}]
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    rows.append({"messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": "three"}]})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.json").write_bytes(json.dumps(rows, ensure_ascii=False).encode("gb18030"))
    (tmp_path / "mine" / "b.json").write_text("[]")
    (tmp_path / "mine" / "c.jsonl").touch()
    report = read_instructions(InstructionSource(path=str(tmp_path / "mine"), encoding="gb18030"), tmp_path / "out")
    assert report["files"] == 1 and [item["why"] for item in report["skipped"]] == ["it is empty"] * 2
    first, second = read_dialogues(tmp_path / "out" / "all.parquet")
    assert [role for role, _ in first.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert first.response == "桃。" and second.prompt[0].text == "one\ntwo"
    row = rows[0] | {"conversations": rows[0]["conversations"][:2], "chosen": "a", "rejected": "b"}  # type: ignore[index]
    assert dialogues_of(row, "f:1")[0].prompt == first.messages[:2]


def test_an_input_stands_below_its_instruction() -> None:
    row = {"instruction": "Add.", "input": "1 and 2", "output": "3"}
    assert dialogues_of(row, "f:1") == [Dialogue((Message("user", "Add.\n1 and 2"), Message("assistant", "3")))]
    several = {"instruction": "Add.", "instances": [{"input": "1 and 2", "output": "3"}, {"input": "", "output": "?"}]}
    first, second = dialogues_of(several, "f:1")
    assert first == dialogues_of(row, "f:1")[0]
    assert second.prompt == (Message("user", "Add."),)


def test_preferences_of_every_form() -> None:
    wanted = Dialogue((ASKED, Message("assistant", "A pear.")), rejected="A dog.")
    for prompt in ({"prompt": "Name a fruit."}, {"prompt": TURNS[:1]}, {"instruction": "Name a fruit."}):
        assert dialogues_of({**prompt, "chosen": "A pear.", "rejected": "A dog. "}, "f:1") == [wanted]


def turn(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


REFUSED: list[tuple[Any, str]] = [
    ({"prompt": "a", "response": " "}, "message 2: an empty response"),
    ({"prompt": "", "response": "b"}, "message 1: an empty user message"),
    ({"prompt": "a", "chosen": "b", "rejected": "b "}, "chosen and rejected are equal"),
    ({"prompt": "a", "chosen": "b", "rejected": ""}, "rejected: an empty response"),
    ({"prompt": "a", "chosen": "b"}, "no field 'rejected'"),
    ({"prompt": TURNS, "chosen": "b", "rejected": "c"}, "the prompt ends with the assistant"),
    ({"prompt": "a"}, "no field 'response'"),
    ({"instruction": "a", "input": "b"}, "no field 'output'"),
    ({"text": "a"}, "expected messages; prompt and response; .* it has text"),
    ({}, "it has nothing"),
    ([1], "it has list"),
    ("a", "it has str"),
    ({"messages": "a"}, "messages: a str; a list of messages is needed"),
    ({"messages": [turn("human", "a")]}, "messages 1: unknown role 'human'; allowed: system, user, assistant"),
    ({"messages": [turn("user", "a"), turn("user", "b")]}, "message 2: two user turns in a row"),
    ({"messages": [turn("system", "a")]}, "no user turn"),
    ({"messages": []}, "no user turn"),
    ({"messages": [turn("user", "a")]}, "the last turn is the user's"),
    ({"messages": [turn("assistant", "a"), turn("user", "b")]}, "the assistant speaks first"),
    (
        {"conversations": [{"from": "tool", "value": "a"}]},
        "conversations 1: unknown role 'tool'; allowed: human, .*gpt",
    ),
    ({"conversations": [{"from": "human"}]}, "conversations 1: has no field 'text'"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        "1: part 1 of content is of type 'image_url'",
    ),
    ({"messages": [{"role": "user", "content": ["a"]}]}, "messages 1: part 1 of content is of type 'str'; only text"),
    ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages 1: part 1: has no field 'text'"),
    ({"messages": [{"role": "user"}]}, "messages 1: has no field 'text'"),
    ({"messages": [{"role": None, "content": "a"}]}, "field 'role' is of type NoneType"),
    ({"messages": [["user", "a"]]}, "messages 1: has no field 'role'"),
    ({"messages": [turn("user", "\ud800"), turn("assistant", "b")]}, "not valid Unicode"),
    ({"instruction": "a", "instances": [{"input": "", "output": ""}]}, "instance 1: message 2: an empty response"),
    ({"instruction": "a", "instances": [7]}, "instance 1: has no field 'output'"),
]


@pytest.mark.parametrize(("row", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_bad_records_are_refused_with_their_line(row: Any, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps(FORMS["prompt"]) + "\n\n" + json.dumps(row) + "\n")
    with pytest.raises(InputError, match=rf"mine\.jsonl:3.*{message}"):
        read_instructions(InstructionSource(path=str(file), damaged="strict"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_dialogues_that_cannot_be_learnt_from_are_left_out_and_counted(tmp_path: Path) -> None:
    gpt, human = {"from": "gpt", "value": "A pear."}, {"from": "human", "value": "Name a fruit."}
    turns = [[human, gpt], [gpt], [gpt, human], [human, human, gpt], [human, gpt | {"value": " "}], [human], []]
    rows = [*({"conversations": item} for item in turns), {"conversations": [human, human, gpt]}]
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps(rows))
    report = read_instructions(InstructionSource(path=str(folder)), tmp_path / "out")
    assert report["splits"]["all"] == {"dialogues": 1}
    assert report["left_out"] == {
        "no user turn": {"count": 2, "first": "a.json, item 2"},
        "the assistant speaks first": {"count": 1, "first": "a.json, item 3"},
        "two user turns in a row": {"count": 2, "first": "a.json, item 4"},
        "an empty response": {"count": 1, "first": "a.json, item 5"},
        "the last turn is the user's": {"count": 1, "first": "a.json, item 6"},
    }
    (folder / "a.json").write_text(json.dumps(rows[1:2]))
    with pytest.raises(InputError, match=r"holds no dialogue; 1 entry skipped: no user turn \(1, first at a\.json"):
        read_instructions(InstructionSource(path=str(folder)), tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"{\n", "a.jsonl:1: not JSON"),
        ("a.jsonl", b"", r"holds no dialogue \(empty: a.jsonl\)"),
        ("a.json", b"", r"holds no dialogue \(empty: a.json\)"),
        ("a.json", b"{}", "a list of records is needed"),
        ("a.json", b"[]", r"holds no dialogue \(empty: a.json\)"),
        ("a.json", b'{"prompt": "a"}\n{"prompt": "b"}\n', "not JSON .* must end in .jsonl"),
        ("a.json", b'["\xff"]', "a.json:1: invalid UTF-8"),
        ("a.json", b"[" * 100_000, "not JSON"),
        ("a.json", b'[{"prompt": "a", "response": "b"}, {"prompt": "a"}]', "a.json, item 2: has no field 'response'"),
        ("a.json.gz", b"no gzip", "not JSON"),
        ("a.json", b'["' + b"a" * 10_000_001, "a.json:1: a line longer than 10,000,000 bytes; write it as .jsonl"),
        ("a.jsonl", b'\n"' + b"a" * 10_000_001, "a.jsonl:2: a line longer than .* break it into lines"),
        ("a.jsonl", b'{"prompt": "a\x00"}\n', "a.jsonl:1: a NUL byte"),
    ],
)
def test_bad_files_are_refused(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_instructions(InstructionSource(path=str(tmp_path)), tmp_path / "out")


def test_a_folder_with_splits_and_unseen_kinds(tmp_path: Path) -> None:
    def row(number: int, kind: str) -> str:
        return json.dumps({"prompt": f"p{number}", "response": "r", "task": kind}) + "\n"

    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.jsonl").write_text(row(1, "add") + row(2, "sing") + row(3, "add"))
    (folder / "test.jsonl.gz").write_bytes(gzip.compress(row(4, "add").encode()))
    (folder / "notes.txt").write_text("what I thought\n")
    source = InstructionSource(
        path=str(folder), files={"train": "train*", "test": "test*"}, kind_field="task", unseen=["sing"]
    )
    facts = read_instructions(source, tmp_path / "out")
    assert facts["splits"] == {"unseen": {"dialogues": 1}, "train": {"dialogues": 2}, "test": {"dialogues": 1}}
    assert facts["files"] == 2
    assert [item["file"] for item in facts["skipped"]] == ["notes.txt"]
    assert [dialogue.kind for dialogue in read_dialogues(tmp_path / "out" / "train.parquet")] == ["add", "add"]
    assert [dialogue.prompt[0].text for dialogue in read_dialogues(tmp_path / "out" / "unseen.parquet")] == ["p2"]
    with pytest.raises(InputError, match="no dialogue that is not unseen"):
        read_instructions(source.model_copy(update={"unseen": ["add"]}), tmp_path / "out")


def test_a_pair_of_equal_answers_may_be_kept_as_a_demonstration(tmp_path: Path) -> None:
    equal = {"prompt": "b", "chosen": "same", "rejected": "same "}
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (FORMS["preference"], equal)))
    source = InstructionSource(path=str(tmp_path))
    with pytest.raises(InputError, match=r"mine\.jsonl:2: chosen and rejected are equal \('same'\)"):
        read_instructions(source, tmp_path / "out")
    read_instructions(source.model_copy(update={"equal_answers": "keep_one"}), tmp_path / "out")
    pair, alone = read_dialogues(tmp_path / "out" / "all.parquet")
    assert (pair.response, pair.rejected) == ("A pear.", "A dog.")
    assert (alone.response, alone.rejected) == ("same", None)


# ---- real sets


@pytest.mark.real
def test_real_instructions_of_alpacas_form(tmp_path: Path) -> None:
    folder = real("instructions-1100")
    source = InstructionSource(path=str(folder), files="instruction-data.json.gz")
    assert read_instructions(source, tmp_path / "out")["splits"]["all"] == {"dialogues": 1100}
    first = read_dialogues(tmp_path / "out" / "all.parquet")[0]
    assert first.prompt[0].text.endswith("spelling given.\nfreind --> friend")
    assert first.response is not None and first.response.startswith("The spelling of the given phrase")


@pytest.mark.real
def test_real_preferences(tmp_path: Path) -> None:
    """Six of the 1,100 pairs have two equal responses."""
    source = InstructionSource(path=str(real("instructions-1100")), files="instruction-data-with-preference.json.gz")
    with pytest.raises(InputError, match=r"item 123: chosen and rejected are equal"):
        read_instructions(source, tmp_path / "out")
    read_instructions(source.model_copy(update={"equal_answers": "keep_one"}), tmp_path / "out")
    assert sum(dialogue.rejected is not None for dialogue in read_dialogues(tmp_path / "out" / "all.parquet")) == 1094


@pytest.mark.real
@pytest.mark.parametrize(("name", "count"), [("seed_tasks", 175), ("user_oriented_instructions", 252)])
def test_real_instructions_of_self_instruct(name: str, count: int, tmp_path: Path) -> None:
    source = InstructionSource(path=str(real("self-instruct") / f"{name}.jsonl.gz"))
    assert read_instructions(source, tmp_path / "out")["splits"]["all"] == {"dialogues": count}
