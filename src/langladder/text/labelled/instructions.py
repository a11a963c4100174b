"""Instructions and preferences: dialogues, rankings of several answers to one prompt, and their tables.

    instructions (`INSTRUCTIONS`)
    messages   role (system, user, assistant) and text of each turn
    kind       the sort of the instruction; the report counts each sort
    asked      the request as JSON, which a gold judge reads; null where no judge knows it
    rejected   a worse response than the last one, if your own file has one; else null

    rankings (`RANKINGS`)
    prompt     the messages up to the last user turn
    responses  K answers to it (K = 2: chosen and rejected)
    ranks      of each answer, 1 the best; equal ranks say nothing of each other

A ranking of K answers gives K(K−1)/2 pairs, fewer with ties (Ouyang et al. 2022, section 3.5).

Your own files are JSON Lines (or one JSON list) in several forms:

messages                          [{"role": "user", "content": …}, {"role": "assistant", "content": …}], or `text`;
                                  content may be a list of parts, {"type": "text", "text": …} (OpenAI)
conversations                     [{"from": "human", "value": …}, {"from": "gpt", "value": …}] (ShareGPT)
prompt, response                  prompt: text, or messages that end with a user's
instruction, input, output        Alpaca (Taori et al. 2023): the input is put below the instruction
instruction, instances            self-instruct (Wang et al. 2022): a dialogue for each {"input", "output"}
… with chosen and rejected        a preference; its chosen response is a demonstration, too

Another field may name the kind of each instruction; some kinds may be excluded from training as unseen.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import pyarrow as pa
from pydantic import Field

from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import Damage, InputError, Policy
from langladder.ground.remote import File, located
from langladder.text.read.files import FileSource, ending, files_of, json_rows, skipped
from langladder.text.read.lines import FileFacts, ReadReport, text_field, whole_json
from langladder.text.storage.shards import owner_of
from langladder.text.storage.tables import Row, read_table, write_rows, write_table

SYSTEM, USER, ASSISTANT = ROLES = ("system", "user", "assistant")
_MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("text", pa.string())]))
INSTRUCTIONS = pa.schema(
    [("messages", _MESSAGES), ("kind", pa.string()), ("asked", pa.string()), ("rejected", pa.string())]
)
RANKINGS = pa.schema(
    [
        *(("prompt", _MESSAGES), ("responses", pa.list_(pa.string())), ("ranks", pa.list_(pa.int32()))),
        *(("kind", pa.string()), ("asked", pa.string())),
    ]
)
INSTRUCTION_SPLITS = ("train", "validation", "test", "unseen")
INSTRUCTION_TABLES = owner_of(
    "instruction tables", (f"{split}.parquet" for split in (*INSTRUCTION_SPLITS, "all")), INSTRUCTIONS
)


class Message(NamedTuple):
    """One turn. role: system, user or assistant."""

    role: str
    text: str


Prompt = tuple[Message, ...]


class Dialogue(NamedTuple):
    """Turns of a user and an assistant.

    asked: JSON of the request that a gold judge reads, None for your own files. rejected: a response that is worse than
    the last one, None where there is none.
    """

    messages: Prompt
    kind: str = ""
    asked: str | None = None
    rejected: str | None = None

    @property
    def prompt(self) -> Prompt:
        """The messages up to the last user turn."""
        last = max(number for number, message in enumerate(self.messages) if message.role == USER)
        return self.messages[: last + 1]

    @property
    def response(self) -> str | None:
        """The assistant's last turn; None where the user had the last word."""
        role, text = self.messages[-1]
        return text if role == ASSISTANT else None

    @classmethod
    def of_row(cls, row: Row) -> Self:
        """A row of a table."""
        return cls(_messages(row["messages"]), row["kind"], row["asked"], row["rejected"])

    def row(self) -> Row:
        """As a row of a table."""
        return self._asdict() | {"messages": _rows(self.messages)}

    def check(self, where: str) -> None:
        """Raise InputError as `check_messages` and `check_preference`."""
        check_messages(self.messages, where)
        if self.rejected is not None:
            check_preference(self.response or "", self.rejected, where)

    def answered(self, response: str) -> "Dialogue":
        """The prompt with this response."""
        return self._replace(messages=(*self.prompt, Message(ASSISTANT, response)), rejected=None)


class Preference(NamedTuple):
    """Two responses to a prompt, the better one first; kind and asked as in `Dialogue`."""

    prompt: Prompt
    chosen: str
    rejected: str
    kind: str = ""
    asked: str | None = None


class Ranking(NamedTuple):
    """K responses to a prompt and the rank of each, 1 the best; kind and asked as in `Dialogue`."""

    prompt: Prompt
    responses: tuple[str, ...]
    ranks: tuple[int, ...]
    kind: str = ""
    asked: str | None = None

    def pairs(self) -> list[tuple[int, int]]:
        """(position of the better response, of the worse one) of every pair that is not tied; at most K(K−1)/2."""
        both = combinations(range(len(self.ranks)), 2)
        ordered = (sorted(pair, key=lambda position: self.ranks[position]) for pair in both)
        return [(better, worse) for better, worse in ordered if self.ranks[better] < self.ranks[worse]]

    def preferences(self) -> list[Preference]:
        """The pairs with their texts."""
        texts = self.responses
        return [
            Preference(self.prompt, texts[better], texts[worse], self.kind, self.asked)
            for better, worse in self.pairs()
        ]


def ranking_of(preference: Preference) -> Ranking:
    """A pair as a ranking of two."""
    prompt, chosen, rejected, kind, request = preference
    return Ranking(prompt, (chosen, rejected), (1, 2), kind, request)


def rankings_of(dialogues: Iterable[Dialogue]) -> list[Ranking]:
    """The pairs of dialogues that have a worse response, too."""
    return [
        ranking_of(Preference(dialogue.prompt, dialogue.response, dialogue.rejected, dialogue.kind, dialogue.asked))
        for dialogue in dialogues
        if dialogue.response is not None and dialogue.rejected is not None
    ]


# -- checks of dialogues -----------------------------------------------------------------------------------------


def check_messages(messages: Sequence[Message], where: str) -> None:
    """Check a dialogue: a system message only at the beginning, then user and assistant in turn.

    Args:
        where: "file:line", for the message.

    Raises:
        InputError: an unknown role, an empty text, two turns of one role in a row, no user turn.
    """
    for number, (role, text) in enumerate(messages, start=1):
        if role not in ROLES:
            raise InputError(f"{where}: message {number}: unknown role {str(role)[:60]!r}; allowed: {', '.join(ROLES)}")
        if not (text or "").strip():  # null in a table of another program
            name = "response" if role == ASSISTANT else f"{role} message"
            raise InputError(f"{where}: message {number}: an empty {name}; fill it in, or remove the line")
    turns = [message.role for message in messages]
    if USER not in turns:
        raise InputError(f"{where}: no user turn; a dialogue needs one")
    if SYSTEM in turns[1:]:
        raise InputError(f"{where}: message {turns.index(SYSTEM, 1) + 1}: a system message; it must be the first")
    spoken = turns[1:] if turns[0] == SYSTEM else turns
    if spoken[0] == ASSISTANT:
        raise InputError(f"{where}: the assistant speaks first; the first turn must be the user's")
    for number, (turn, other) in enumerate(pairwise(turns), start=2):
        if turn == other:
            raise InputError(f"{where}: message {number}: two {turn} turns in a row; join them, or remove one")


def check_preference(chosen: str, rejected: str, where: str) -> None:
    """Raise InputError for an empty response, or for two that are equal."""
    for name, text in (("chosen", chosen), ("rejected", rejected)):
        if not text.strip():
            raise InputError(f"{where}: {name}: an empty response; fill it in, or remove the line")
    if chosen.strip() == rejected.strip():
        raise InputError(
            f"{where}: chosen and rejected are equal ({chosen.strip()[:60]!r}); one must be better, or "
            "set equal_answers: keep_one in conf/instructions/text.yaml"
        )


# -- tables ------------------------------------------------------------------------------------------------------


def write_dialogues(path: Path, dialogues: Iterable[Dialogue]) -> int:
    """Write a table of dialogues atomically; returns how many there are."""
    return write_rows(path, INSTRUCTIONS, (dialogue.row() for dialogue in dialogues), _size)


def _size(row: Row) -> int:
    return sum(len(message["text"]) for message in row["messages"])


def read_dialogues(path: Path) -> list[Dialogue]:
    """The dialogues of a split. Raises InputError as `read_table`, `check_messages` and `check_preference`."""
    dialogues = [Dialogue.of_row(row) for row in read_table(path, INSTRUCTIONS).to_pylist()]
    for number, dialogue in enumerate(dialogues, start=1):
        dialogue.check(f"{path}, row {number}")
    return dialogues


def write_rankings(path: Path, rankings: Iterable[Ranking]) -> None:
    """Write a table of rankings atomically."""
    rows = [ranking._asdict() | {"prompt": _rows(ranking.prompt)} for ranking in rankings]
    write_table(path, pa.Table.from_pylist(rows, schema=RANKINGS))


def read_rankings(path: Path) -> list[Ranking]:
    """The rankings of a table.

    Raises:
        InputError: as `read_table` and `check_messages`; also not one rank per response, an empty response, or
            two equal responses of different rank.
    """
    rankings = []
    for number, row in enumerate(read_table(path, RANKINGS).to_pylist(), start=1):
        where = f"{path}, row {number}"
        ranking = Ranking(
            _messages(row["prompt"]),
            tuple(row["responses"] or ()),
            tuple(row["ranks"] or ()),
            row["kind"],
            row["asked"],
        )
        check_messages(ranking.prompt, where)
        if len(ranking.ranks) != len(ranking.responses):
            raise InputError(
                f"{where}: {len(ranking.responses)} responses, but {len(ranking.ranks)} ranks; one each is needed"
            )
        for pair in ranking.preferences():
            check_preference(pair.chosen, pair.rejected, where)
        rankings.append(ranking)
    return rankings


def _rows(messages: Prompt) -> list[dict[str, str]]:
    return [message._asdict() for message in messages]


def _messages(rows: list[dict[str, str]] | None) -> Prompt:
    return tuple(Message(row["role"], row["text"]) for row in rows or ())


FORMS = (
    "messages; prompt and response; instruction, input and output; conversations; each also with chosen and rejected"
)
SHAREGPT = {"human": USER, "user": USER, "gpt": ASSISTANT, "chatgpt": ASSISTANT, "assistant": ASSISTANT}
SHAREGPT |= {"bing": ASSISTANT, "bard": ASSISTANT, "system": SYSTEM}
TEXT_PARTS = ("text", "input_text", "output_text")  # types of parts of a message's content
_LISTS = ("messages", "conversations")


# ---- files


class InstructionSource(FileSource):
    """Your own dialogues."""

    endings: ClassVar[tuple[str, ...]] = ("jsonl", "ndjson", "json")

    kind_field: str | None = None  # the field that names the kind of each instruction; null: all are of one
    unseen: list[str] = Field(default_factory=list)  # kinds that no other split gets: they are evaluated on their own
    equal_answers: Literal["refuse", "keep_one"] = "refuse"  # chosen and rejected the same: keep_one, which is no pair
    damaged: Policy = "skip"  # dialogues that cannot be learnt from: an empty turn, two of one role in a row, …


class UnfitDialogueError(InputError):
    """A dialogue of a known form that cannot be learnt from."""


def read_instructions(source: InstructionSource, out_folder: Path) -> ReadReport:
    """Read dialogues into `out_folder`: train, validation, test.parquet, or all.parquet; and unseen.parquet.

    Returns:
        Counts by split, files read, what was corrected while reading them, and which dialogues were left out.

    Raises:
        InputError: missing path, empty glob, a bad file or line, a split without dialogues.
    """
    facts, files, damage = FileFacts(), files_of(source, source.files), Damage(source.damaged)
    counts: dict[str, dict[str, int]] = {}
    with atomic_folder(out_folder, INSTRUCTION_TABLES) as folder:
        for split in files:
            read = _dialogues(files[split], source, facts, damage)
            dialogues = (dialogue for dialogue in read if dialogue.kind not in source.unseen)
            counts[split] = {"dialogues": write_dialogues(folder / f"{split}.parquet", dialogues)}
            if not counts[split]["dialogues"]:
                summary = f"; {damage.summary()}" if damage.counts else ""
                what = "no dialogue that is not unseen" if source.unseen else "no dialogue"
                raise InputError(f"{source.path}: split {split!r} holds {what}{facts.no_text()}{summary}")
        again = [file for split in files for file in files[split]] if source.unseen else []
        unseen = (
            dialogue for dialogue in _dialogues(again, source, FileFacts(), Damage()) if dialogue.kind in source.unseen
        )
        counts["unseen"] = {"dialogues": write_dialogues(folder / "unseen.parquet", unseen)}
    report: ReadReport = {"splits": counts, **facts.report()}
    if damage.counts:
        report["left_out"] = damage.report()
    return {**report, **skipped(located(source.path), facts, source.endings)}


def _dialogues(
    files: Iterable[File], source: InstructionSource, facts: FileFacts, damage: Damage
) -> Iterator[Dialogue]:
    root = located(source.path)
    above = root.parent if root.is_file() else root
    for where, row in (record for file in files for record in records(file, source, facts)):
        kind = text_field(row, source.kind_field, where) if source.kind_field else ""
        try:
            dialogues = dialogues_of(row, where, keep_one=source.equal_answers == "keep_one")
        except UnfitDialogueError as error:
            if damage.policy == "strict":
                raise
            kind = re.sub(r"(instance|message) \d+: ", "", str(error).removeprefix(where)).strip(" :,")
            damage.found(where.removeprefix(f"{above}/"), kind.partition(";")[0])
            continue
        yield from (dialogue._replace(kind=kind) for dialogue in dialogues)


def records(file: File, source: InstructionSource, facts: FileFacts) -> Iterator[tuple[str, Any]]:
    """The records of a file, each with its file and line: of .json the items of its list, else a line each.

    Raises:
        InputError: the file is missing, in another encoding, or not JSON.
    """
    if ending(file) != "json":
        yield from json_rows(file, source, facts)
        return
    items = whole_json(file, facts, source.max_line_bytes, source.encoding)
    if file in facts.empty:
        return
    if not isinstance(items, list):
        raise InputError(f"{file}: a list of records is needed; {FORMS}")
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
        raise InputError(f"{where}: expected {FORMS}; it has {have or 'nothing'}")
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
    if name := next((key for key in _LISTS if key in row), None):
        return [_dialogue(_read_messages(row[name], f"{where}: {name}"), where)]
    if isinstance(row.get("instances"), list):
        dialogues = []
        for number, instance in enumerate(row["instances"], start=1):
            here = f"{where}, instance {number}"
            prompt = _alpaca(text_field(row, "instruction", where), instance, here)
            dialogues.append(_dialogue((*prompt, Message(ASSISTANT, text_field(instance, "output", here))), here))
        return dialogues
    response = text_field(row, "output" if "instruction" in row else "response", where)
    return [_dialogue((*_prompt(row, where), Message(ASSISTANT, response)), where)]


def _dialogue(messages: Iterable[Message], where: str) -> Dialogue:
    dialogue = Dialogue(tuple(Message(role, text.strip()) for role, text in messages))
    try:
        check_messages(dialogue.messages, where)
    except InputError as error:
        raise UnfitDialogueError(str(error)) from error
    if dialogue.response is None:
        raise UnfitDialogueError(f"{where}: the last turn is the user's; it needs a response")
    return dialogue


def _prompt(row: Row, where: str) -> Prompt:
    """The prompt that a record gives: text, messages, or an instruction with its input."""
    if "instruction" in row:
        return _alpaca(text_field(row, "instruction", where), row, where)
    value = next(row[name] for name in ("prompt", *_LISTS) if name in row)
    if isinstance(value, list):
        return _read_messages(value, f"{where}: prompt")
    return (Message(USER, text_field(row, "prompt", where).strip()),)


def _alpaca(instruction: str, row: Any, where: str) -> Prompt:
    more = text_field(row, "input", where).strip() if isinstance(row, dict) and row.get("input") else ""
    return (Message(USER, f"{instruction.strip()}\n{more}".strip()),)


def _read_messages(value: Any, where: str) -> Prompt:
    if not isinstance(value, list):
        raise InputError(f"{where}: a {type(value).__name__}; a list of messages is needed")
    messages = []
    for number, message in enumerate(value, start=1):
        here = f"{where} {number}"
        if isinstance(message, dict) and "from" in message:
            name, roles = text_field(message, "from", here), SHAREGPT
        else:
            name, roles = text_field(message, "role", here), {role: role for role in ROLES}
        if name not in roles:
            raise InputError(f"{here}: unknown role {name[:60]!r}; allowed: {', '.join(roles)}")
        messages.append(Message(roles[name], _text(message, here).strip()))
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
            raise InputError(f"{where}: part {number} of {field} is of type {str(kind)[:60]!r}; only text is supported")
        texts.append(text_field(part, "text", f"{where}: part {number}"))
    return "\n".join(texts)
