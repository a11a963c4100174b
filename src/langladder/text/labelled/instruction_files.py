"""Readers of instructions and preferences of one's own: JSON Lines (or one JSON list) in several forms.

messages                          [{"role": "user", "content": …}, {"role": "assistant", "content": …}], or `text`;
                                  content may be a list of parts, {"type": "text", "text": …} (OpenAI)
conversations                     [{"from": "human", "value": …}, {"from": "gpt", "value": …}] (ShareGPT)
prompt, response                  prompt: text, or messages that end with a user's
instruction, input, output        Alpaca (Taori et al. 2023): the input is put below the instruction
instruction, instances            self-instruct (Wang et al. 2022): a dialogue for each {"input", "output"}
… with chosen and rejected        a preference; its chosen response is a demonstration, too

Beside them a field may name the kind of each instruction, and some kinds may be kept from training as unseen.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import Damage, InputError, Policy
from langladder.ground.remote import File, located
from langladder.text.labelled.instructions import (
    ASSISTANT,
    INSTRUCTION_TABLES,
    ROLES,
    SYSTEM,
    USER,
    Dialogue,
    Message,
    Prompt,
    check_messages,
    check_preference,
    write_dialogues,
)
from langladder.text.read.lines import FileFacts, text_field
from langladder.text.read.readers import json_rows, whole_json
from langladder.text.read.sources import FileSource, ending, files_of, skipped

FORMS = (
    "messages; prompt and response; instruction, input and output; conversations; each also with chosen and rejected"
)
SHAREGPT = {"human": USER, "user": USER, "gpt": ASSISTANT, "chatgpt": ASSISTANT, "assistant": ASSISTANT}
SHAREGPT |= {"bing": ASSISTANT, "bard": ASSISTANT, "system": SYSTEM}
TEXT_PARTS = ("text", "input_text", "output_text")  # types of parts of a message's content
_LISTS = ("messages", "conversations")


class InstructionSource(FileSource):
    """Dialogues of one's own."""

    endings: ClassVar[tuple[str, ...]] = ("jsonl", "ndjson", "json")

    kind_field: str | None = None  # the field that names the kind of each instruction; null: all are of one
    unseen: list[str] = Field(default_factory=list)  # kinds that no other split gets: they are evaluated on their own
    equal_answers: Literal["refuse", "keep_one"] = "refuse"  # chosen and rejected the same: keep_one, which is no pair
    damaged: Policy = "skip"  # dialogues that cannot be learnt from: an empty turn, two of one role in a row, …


class UnfitDialogueError(InputError):
    """A dialogue of a known form that cannot be learnt from."""


def read_instructions(source: InstructionSource, out_folder: Path) -> dict[str, Any]:
    """Read dialogues into `out_folder`: train, validation, test.parquet, or all.parquet; and unseen.parquet.

    Returns:
        Counts by split, files read, what was put right in reading them, and which dialogues were left out.

    Raises:
        InputError: missing path, empty glob, a file or line that is not what it should be, a split without dialogues.
    """
    facts, files, damage = FileFacts(), files_of(source, source.files), Damage(source.damaged)
    counts: dict[str, dict[str, int]] = {}
    with atomic_folder(out_folder, INSTRUCTION_TABLES) as folder:
        for split in files:
            read = _dialogues(files[split], source, facts, damage)
            dialogues = (one for one in read if one.kind not in source.unseen)
            counts[split] = {"dialogues": write_dialogues(folder / f"{split}.parquet", dialogues)}
            if not counts[split]["dialogues"]:
                summary = f"; {damage.summary()}" if damage.counts else ""
                what = "no dialogue that is not unseen" if source.unseen else "no dialogue"
                raise InputError(f"{source.path}: split {split!r} holds {what}{facts.no_text()}{summary}")
        again = [one for split in files for one in files[split]] if source.unseen else []
        unseen = (one for one in _dialogues(again, source, FileFacts(), Damage()) if one.kind in source.unseen)
        counts["unseen"] = {"dialogues": write_dialogues(folder / "unseen.parquet", unseen)}
    left_out = {"left_out": damage.report()} if damage.counts else {}
    return {"splits": counts, **facts.report()} | left_out | skipped(located(source.path), facts, source.endings)


def _dialogues(
    files: Iterable[File], source: InstructionSource, facts: FileFacts, damage: Damage
) -> Iterator[Dialogue]:
    root = located(source.path)
    above = root.parent if root.is_file() else root
    for where, row in (one for file in files for one in records(file, source, facts)):
        kind = text_field(row, source.kind_field, where) if source.kind_field else ""
        try:
            found = dialogues_of(row, where, keep_one=source.equal_answers == "keep_one")
        except UnfitDialogueError as error:
            if damage.policy == "strict":
                raise
            kind = re.sub(r"(instance|message) \d+: ", "", str(error).removeprefix(where)).strip(" :,")
            damage.found(where.removeprefix(f"{above}/"), kind.partition(";")[0])
            continue
        yield from (one._replace(kind=kind) for one in found)


def records(file: File, source: InstructionSource, facts: FileFacts) -> Iterator[tuple[str, Any]]:
    """The records of a file, each with its file and line: of .json the items of its list, else a line each.

    Raises:
        InputError: the file is missing, in another encoding, or not JSON.
    """
    if ending(file) != "json":
        yield from json_rows(file, source, facts)
        return
    items = whole_json(file, source, facts)
    if file in facts.empty:
        return
    if not isinstance(items, list):
        raise InputError(f"{file}: a list of records is wanted; {FORMS}")
    if not items:
        facts.nothing_in(file)
    yield from ((f"{file}, item {number}", item) for number, item in enumerate(items, start=1))


def dialogues_of(row: Any, where: str, *, keep_one: bool = False) -> list[Dialogue]:
    """The dialogues of a record, each with a response: one, or one for each instance.

    Args:
        where: "file:line", for messages.
        keep_one: a preference of two equal responses is a demonstration, instead of being refused.

    Raises:
        InputError: the record is of no known form, or a dialogue that cannot be learnt from (`check_messages`,
            `check_preference`).
    """
    if not isinstance(row, dict) or not {"prompt", "instruction", *_LISTS} & set(row):
        have = ", ".join(map(str, row))[:200] if isinstance(row, dict) else type(row).__name__
        raise InputError(f"{where}: neither of {FORMS}; it has {have or 'nothing'}")
    if "chosen" in row:
        prompt = _prompt(row, where)
        chosen, rejected = (text_field(row, name, where).strip() for name in ("chosen", "rejected"))
        messages = (*prompt, Message(ASSISTANT, chosen))
        if keep_one and chosen == rejected:
            return [_dialogue(messages, where)]
        check_messages(prompt, where)
        if prompt[-1].role != USER:
            raise InputError(f"{where}: the prompt ends with the {prompt[-1].role}; its last turn must be the user's")
        check_preference(chosen, rejected, where)
        return [Dialogue(messages, rejected=rejected)]
    if name := next((one for one in _LISTS if one in row), None):
        return [_dialogue(_messages(row[name], f"{where}: {name}"), where)]
    if isinstance(row.get("instances"), list):
        found = []
        for number, instance in enumerate(row["instances"], start=1):
            here = f"{where}, instance {number}"
            prompt = _alpaca(text_field(row, "instruction", where), instance, here)
            found.append(_dialogue((*prompt, Message(ASSISTANT, text_field(instance, "output", here))), here))
        return found
    response = text_field(row, "output" if "instruction" in row else "response", where)
    return [_dialogue((*_prompt(row, where), Message(ASSISTANT, response)), where)]


def _dialogue(messages: Iterable[Message], where: str) -> Dialogue:
    dialogue = Dialogue(tuple(Message(role, text.strip()) for role, text in messages))
    try:
        check_messages(dialogue.messages, where)
    except InputError as error:
        raise UnfitDialogueError(str(error)) from error
    if dialogue.response is None:
        raise UnfitDialogueError(f"{where}: the user has the last word; a response to it is wanted")
    return dialogue


def _prompt(row: dict[str, Any], where: str) -> Prompt:
    """The prompt that a record gives: text, messages, or an instruction with its input."""
    if "instruction" in row:
        return _alpaca(text_field(row, "instruction", where), row, where)
    value = next(row[name] for name in ("prompt", *_LISTS) if name in row)
    if isinstance(value, list):
        return _messages(value, f"{where}: prompt")
    return (Message(USER, text_field(row, "prompt", where).strip()),)


def _alpaca(instruction: str, row: Any, where: str) -> Prompt:
    more = text_field(row, "input", where).strip() if isinstance(row, dict) and row.get("input") else ""
    return (Message(USER, f"{instruction.strip()}\n{more}".strip()),)


def _messages(value: Any, where: str) -> Prompt:
    if not isinstance(value, list):
        raise InputError(f"{where}: a {type(value).__name__}; a list of messages is wanted")
    messages = []
    for number, one in enumerate(value, start=1):
        here = f"{where} {number}"
        if isinstance(one, dict) and "from" in one:
            name, roles = text_field(one, "from", here), SHAREGPT
        else:
            name, roles = text_field(one, "role", here), {role: role for role in ROLES}
        if name not in roles:
            raise InputError(f"{here}: unknown role {name[:60]!r}; allowed: {', '.join(roles)}")
        messages.append(Message(roles[name], _text(one, here).strip()))
    return tuple(messages)


def _text(message: Any, where: str) -> str:
    """The text of a message; the text parts of its content, a line each at least."""
    field = next((name for name in ("content", "value") if name in message), "text")
    if not isinstance(message.get(field), list):
        return text_field(message, field, where)
    texts = []
    for number, part in enumerate(message[field], start=1):
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        if kind not in TEXT_PARTS:
            raise InputError(f"{where}: part {number} of {field} is of type {str(kind)[:60]!r}; text alone is read")
        texts.append(text_field(part, "text", f"{where}: part {number}"))
    return "\n".join(texts)
