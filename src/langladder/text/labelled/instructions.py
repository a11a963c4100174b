"""Instructions and preferences: dialogues, rankings of several answers to one prompt, and their tables.

    instructions (`INSTRUCTIONS`)
    messages   role (system, user, assistant) and text of each turn
    kind       the sort of the instruction; the report counts each sort
    asked      the request as JSON, which a gold judge reads; null where no judge knows it
    rejected   a worse response than the last one, where a file of one's own has one; else null

    rankings (`RANKINGS`)
    prompt     the messages up to the last user turn
    responses  K answers to it (K = 2: chosen and rejected)
    ranks      of each answer, 1 the best; equal ranks say nothing of each other

A ranking of K answers gives K(K−1)/2 pairs, fewer with ties (Ouyang et al. 2022, section 3.5).
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa

from langladder.ground.errors import InputError
from langladder.text.storage.tables import owner_of, read_table, write_rows, write_table

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

    asked: JSON of the request that a gold judge reads, None of one's own files. rejected: a response that is worse than
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
    def of_row(cls, row: dict[str, Any]) -> Self:
        """A row of a table."""
        return cls(_messages(row["messages"]), row["kind"], row["asked"], row["rejected"])

    def row(self) -> dict[str, Any]:
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
    prompt, chosen, rejected, kind, asked = preference
    return Ranking(prompt, (chosen, rejected), (1, 2), kind, asked)


def rankings_of(dialogues: Iterable[Dialogue]) -> list[Ranking]:
    """The pairs of dialogues that have a worse response, too."""
    return [
        ranking_of(Preference(one.prompt, one.response, one.rejected, one.kind, one.asked))
        for one in dialogues
        if one.response is not None and one.rejected is not None
    ]


# -- what a dialogue must be -------------------------------------------------------------------------------------


def check_messages(messages: Sequence[Message], where: str) -> None:
    """See that a dialogue can be learnt from: system first if at all, then user and assistant in turn.

    Args:
        where: "file:line", for the message.

    Raises:
        InputError: an unknown role, an empty text, two turns of one role in a row, no user turn.
    """
    for number, (role, text) in enumerate(messages, start=1):
        if role not in ROLES:
            raise InputError(f"{where}: message {number}: unknown role {str(role)[:60]!r}; allowed: {', '.join(ROLES)}")
        if not (text or "").strip():  # null in a table that others wrote
            name = "response" if role == ASSISTANT else f"{role} message"
            raise InputError(f"{where}: message {number}: an empty {name}; fill it in, or take the line out")
    turns = [message.role for message in messages]
    if USER not in turns:
        raise InputError(f"{where}: no user turn; a dialogue needs one")
    if SYSTEM in turns[1:]:
        raise InputError(f"{where}: message {turns.index(SYSTEM, 1) + 1}: a system message; it must be the first")
    spoken = turns[1:] if turns[0] == SYSTEM else turns
    if spoken[0] == ASSISTANT:
        raise InputError(f"{where}: the assistant speaks first; the first turn must be the user's")
    for number, (one, other) in enumerate(pairwise(turns), start=2):
        if one == other:
            raise InputError(f"{where}: message {number}: two {one} turns in a row; join them, or take one out")


def check_preference(chosen: str, rejected: str, where: str) -> None:
    """Raise InputError for an empty response, or for two that are equal."""
    for name, text in (("chosen", chosen), ("rejected", rejected)):
        if not text.strip():
            raise InputError(f"{where}: {name}: an empty response; fill it in, or take the line out")
    if chosen.strip() == rejected.strip():
        raise InputError(
            f"{where}: chosen and rejected are equal ({chosen.strip()[:60]!r}); one must be better, or "
            "set equal_answers: keep_one in conf/instructions/text.yaml"
        )


# -- tables ------------------------------------------------------------------------------------------------------


def write_dialogues(path: Path, dialogues: Iterable[Dialogue]) -> int:
    """Write a table of dialogues atomically; returns how many there are."""
    return write_rows(path, INSTRUCTIONS, (one.row() for one in dialogues), _size)


def _size(row: dict[str, Any]) -> int:
    return sum(len(message["text"]) for message in row["messages"])


def read_dialogues(path: Path) -> list[Dialogue]:
    """The dialogues of a split. Raises InputError as `read_table`, `check_messages` and `check_preference`."""
    dialogues = [Dialogue.of_row(row) for row in read_table(path, INSTRUCTIONS).to_pylist()]
    for number, one in enumerate(dialogues, start=1):
        one.check(f"{path}, row {number}")
    return dialogues


def write_rankings(path: Path, rankings: Iterable[Ranking]) -> None:
    """Write a table of rankings atomically."""
    rows = [one._asdict() | {"prompt": _rows(one.prompt)} for one in rankings]
    write_table(path, pa.Table.from_pylist(rows, schema=RANKINGS))


def read_rankings(path: Path) -> list[Ranking]:
    """The rankings of a table.

    Raises:
        InputError: as `read_table` and `check_messages`; also ranks that are not one a response, an empty response, or
            two equal responses of different rank.
    """
    rankings = []
    for number, row in enumerate(read_table(path, RANKINGS).to_pylist(), start=1):
        where = f"{path}, row {number}"
        one = Ranking(
            _messages(row["prompt"]),
            tuple(row["responses"] or ()),
            tuple(row["ranks"] or ()),
            row["kind"],
            row["asked"],
        )
        check_messages(one.prompt, where)
        if len(one.ranks) != len(one.responses):
            raise InputError(f"{where}: {len(one.responses)} responses, but {len(one.ranks)} ranks; one a response")
        for pair in one.preferences():
            check_preference(pair.chosen, pair.rejected, where)
        rankings.append(one)
    return rankings


def _rows(messages: Prompt) -> list[dict[str, str]]:
    return [message._asdict() for message in messages]


def _messages(rows: list[dict[str, str]] | None) -> Prompt:
    return tuple(Message(row["role"], row["text"]) for row in rows or ())
