"""Templates: dialogues and prompts as the rows of tokens that a language model reads.

Dialogues (`ChatTemplate`):

    BOS [SYSTEM s…] USER t… ASSISTANT r… EOS [USER t… ASSISTANT r… EOS …]

A marker says who speaks next. The markers have the reserved ids behind the vocabulary (`text.tokenize.specials`), which
no text encodes to: no user can write a turn of another role. USER is `<cls>`, ASSISTANT `<sep>`, SYSTEM `<mask>`. Only
the responses are learnt, each with its EOS (Ouyang et al. 2022, section 3.5; Alpaca, LIMA and most since do the same).

In a byte-level tokenizer the space before a word is part of its token: " paris" is one token, "paris" at the beginning
of a line is "p", "ar", "is", which a model of the text has not learnt. So each turn begins with a space (`lead`), and
the first word of a question or an answer is the token that occurs in the text.

Prompts (`Template`): `{premise} so {hypothesis} {answer} .`, with an example's fields in their places. A template has
one place `{answer}`. The text before it is the context of an answer; the text after it belongs to the answer, because
it is likelier after one answer than after another. A line break ends a line, as in the text that language models are
trained on (`ids_of`). Literal braces are doubled.

Shape legend: T tokens of a row.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from string import Formatter
from typing import NamedTuple, Self

import numpy as np

from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import ASSISTANT, ROLES, SYSTEM, USER, Message
from langladder.text.tokenize.specials import BOS, EOS, RESERVED
from langladder.text.tokenize.tokenizers import Tokenizer

ANSWER = "answer"
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
TemplatePart = tuple[str, str | None]  # plain text, and the place behind it


# -- dialogues ---------------------------------------------------------------------------------------------------


class Markers(NamedTuple):
    """The ids that say who speaks next."""

    system: int
    user: int
    assistant: int

    @classmethod
    def behind(cls, words: int) -> Self:
        """The markers behind a vocabulary of this size."""
        return cls(words + 2, words + 1, words)

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """The markers of a tokenizer.

        Raises:
            InputError: its reserved ids are inside its vocabulary, as in BERT's.
        """
        if tokenizer.full_vocab_size != tokenizer.vocab_size + len(RESERVED):
            raise InputError(
                f"tokenizer: {', '.join(RESERVED)} are inside its {tokenizer.vocab_size:,} tokens, but dialogues "
                "need them after these; train the tokenizer again (stage `tokenize`)"
            )
        return cls.behind(tokenizer.vocab_size)


class DialogueIds(NamedTuple):
    """A dialogue as it is read: ids (T,) int32, and which of them are learnt, (T,) bool."""

    ids: np.ndarray
    learnt: np.ndarray


def lead(tokenizer: Tokenizer) -> str:
    """The text before a turn: with it, the first word is the same token as inside a line."""
    return " " if tokenizer.kind == "bpe_bytes" else ""


class ChatTemplate:
    """Dialogues to tokens with one tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.markers, self.lead = tokenizer, Markers.of(tokenizer), lead(tokenizer)

    def row(self, messages: Sequence[Message]) -> DialogueIds:
        """A dialogue as one row. Raises InputError as `rows`."""
        return self.rows([messages])[0]

    def rows(self, dialogues: Sequence[Sequence[Message]]) -> list[DialogueIds]:
        """Dialogues as rows; every response is learnt.

        Raises:
            InputError: an unknown role.
        """
        contents = [message.text for dialogue in dialogues for message in dialogue]
        # empty turns stay empty, and one that begins with white space has it
        texts = iter(self.tokenizer.encode_lines([self.lead + text if text[:1].strip() else text for text in contents]))
        return [self._row([(message.role, next(texts)) for message in dialogue]) for dialogue in dialogues]

    def prompt(self, messages: Sequence[Message]) -> np.ndarray:
        """The prompt of the assistant, (T,) int32. Raises InputError as `prompts`."""
        return self.prompts([messages])[0]

    def prompts(self, dialogues: Sequence[Sequence[Message]]) -> list[np.ndarray]:
        """Rows that end with ASSISTANT: the response begins behind it.

        Raises:
            InputError: an unknown role, or the last turn is not the user's.
        """
        for dialogue in dialogues:
            if not dialogue or dialogue[-1].role != USER:
                last = dialogue[-1].role if dialogue else "nobody"
                raise InputError(f"prompt: the last turn is of {last}; a prompt must end with a turn of the {USER}")
        return [np.append(row.ids, np.int32(self.markers.assistant)) for row in self.rows(dialogues)]

    def response(self, ids: Iterable[int]) -> str:
        """The text of a response, up to its EOS."""
        response = [int(token) for token in takewhile(lambda token: token != EOS, ids)]
        return self.tokenizer.decode(response).strip()

    def _row(self, turns: Sequence[tuple[str, np.ndarray]]) -> DialogueIds:
        marks = {SYSTEM: self.markers.system, USER: self.markers.user, ASSISTANT: self.markers.assistant}
        ids, learnt = [np.array([BOS])], [False]
        for role, text in turns:
            if role not in marks:
                raise InputError(f"role: {str(role)[:60]!r} is not one of {', '.join(ROLES)}; correct the dialogue")
            closed = [EOS] if role == ASSISTANT else []
            ids.append(np.concatenate([[marks[role]], text, closed]))
            learnt += [False] + [role == ASSISTANT] * (len(text) + len(closed))
        return DialogueIds(np.concatenate(ids).astype(np.int32), np.array(learnt))


# -- prompts -----------------------------------------------------------------------------------------------------


class Template:
    """A text with places.

    Attributes:
        fields: the places except `{answer}`, each once, in their order.
        fields_after: those of them after the answer.

    Raises:
        InputError: no place `{answer}`, or two; a brace by itself; a place that is no plain name.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        parts = _parts(text)
        fields = [name for _, name in parts if name is not None]
        if fields.count(ANSWER) != 1:
            raise InputError(f"template: {text!r} has {fields.count(ANSWER)} places {{answer}}; one is needed")
        at = [name for _, name in parts].index(ANSWER)
        self._before, self._after = parts[: at + 1], parts[at + 1 :]
        self.fields = tuple(dict.fromkeys(name for name in fields if name != ANSWER))
        self.fields_after = tuple(dict.fromkeys(name for _, name in self._after if name is not None))

    def context(self, values: Mapping[str, str]) -> str:
        """The text before the answer.

        Raises:
            InputError: a field of the template is missing.
        """
        return self._filled(self._before, values)

    def whole(self, values: Mapping[str, str], answer: str) -> str:
        """The text with an answer; otherwise as `context`."""
        return self.context(values) + answer + self._filled(self._after, values)

    def answer_context(self) -> str:
        """The text between the last field and the answer, which announces an answer without any part of an example."""
        last = max((number for number, (_, name) in enumerate(self._before[:-1]) if name is not None), default=-1)
        return "".join(text for text, _ in self._before[last + 1 :]).strip()

    def _filled(self, parts: Sequence[TemplatePart], values: Mapping[str, str]) -> str:
        if missing := [name for _, name in parts if name not in (None, ANSWER, *values)]:
            raise InputError(
                f"template: {{{missing[0]}}} is not a field of the example; "
                f"allowed: {', '.join(values)[:200]}, {ANSWER}"
            )
        return "".join(text + ("" if name in (None, ANSWER) else values[str(name)]) for text, name in parts)


def _parts(text: str) -> list[TemplatePart]:
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise InputError(f"template: {text!r}: {str(error).lower()}; write {{{{ and }}}} for plain braces") from error
    for _, name, form, conversion in parts:
        if name is not None and (form or conversion or not _NAME.fullmatch(name)):
            raise InputError(
                f"template: {{{name}}} in {text!r} is not allowed: a place is a plain name, such as {{text}}"
            )
    return [(plain, name) for plain, name, _, _ in parts]


def ids_of(tokenizer: Tokenizer, texts: Sequence[str], *, closed: bool = False) -> list[np.ndarray]:
    """Texts as a language model reads them, (length,) int32 each: `BOS ids… EOS` for every line.

    Args:
        closed: whether the last line ends with EOS.
    """
    lines = [text.split("\n") for text in texts]
    encoded = iter(tokenizer.encode_lines([line for some in lines for line in some]))
    rows = []
    for some in lines:
        parts: list[np.ndarray] = []
        for _ in some:
            parts += [np.array([BOS]), next(encoded), np.array([EOS])]
        rows.append(np.concatenate(parts if closed else parts[:-1]).astype(np.int32))
    return rows
