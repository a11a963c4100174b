"""The chat template: how the turns of a dialogue become one row of tokens, and back.

    BOS [SYSTEM s…] USER t… ASSISTANT r… EOS [USER t… ASSISTANT r… EOS …]

A marker says who speaks next. The markers have the reserved ids behind the vocabulary (`text.tokenize.specials`), which
no text encodes to: no user can write another turn than their own. USER is `<cls>`, ASSISTANT `<sep>`, SYSTEM `<mask>`.
What is learnt are the responses, each with the EOS that ends it (Ouyang et al. 2022, section 3.5; Alpaca, LIMA and most
since learn on responses alone).

Shape legend: T tokens of a row.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from langladder.errors import InputError
from langladder.text.labelled.instructions import ASSISTANT, ROLES, SYSTEM, USER, Message
from langladder.text.tokenize.specials import BOS, EOS, RESERVED
from langladder.text.tokenize.tokenizers import Tokenizer


class Markers(NamedTuple):
    """The ids that say who speaks next."""

    system: int
    user: int
    assistant: int

    @classmethod
    def behind(cls, words: int) -> Self:
        """Those behind a vocabulary of so many words."""
        return cls(words + 2, words + 1, words)

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """Those of a tokenizer.

        Raises:
            InputError: its reserved ids stand inside its vocabulary, as those of older ones may.
        """
        if tokenizer.full_vocab_size != tokenizer.vocab_size + len(RESERVED):
            raise InputError(
                f"tokenizer: {', '.join(RESERVED)} stand inside its {tokenizer.vocab_size:,} tokens, and dialogues "
                "want them behind; train the tokenizer anew (stage `tokenize`)"
            )
        return cls.behind(tokenizer.vocab_size)


class Row(NamedTuple):
    """A dialogue as it is read: ids (T,) int32, and which of them are learnt, (T,) bool."""

    ids: np.ndarray
    learnt: np.ndarray


class ChatTemplate:
    """Dialogues to tokens with one tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.markers = tokenizer, Markers.of(tokenizer)

    def row(self, messages: Sequence[Message]) -> Row:
        """A dialogue as one row. Raises InputError as `rows`."""
        return self.rows([messages])[0]

    def rows(self, dialogues: Sequence[Sequence[Message]]) -> list[Row]:
        """Dialogues as rows; every response is learnt.

        Raises:
            InputError: a role that is none.
        """
        texts = iter(self.tokenizer.encode_lines([message.text for dialogue in dialogues for message in dialogue]))
        return [self._row([(message.role, next(texts)) for message in dialogue]) for dialogue in dialogues]

    def prompt(self, messages: Sequence[Message]) -> np.ndarray:
        """What the assistant answers to, (T,) int32. Raises InputError as `prompts`."""
        return self.prompts([messages])[0]

    def prompts(self, dialogues: Sequence[Sequence[Message]]) -> list[np.ndarray]:
        """Rows that end with ASSISTANT: the response begins behind it.

        Raises:
            InputError: a role that is none, or the last word is not the user's.
        """
        for dialogue in dialogues:
            if not dialogue or dialogue[-1].role != USER:
                said = dialogue[-1].role if dialogue else "nobody"
                raise InputError(f"prompt: the last turn is of {said}; a prompt ends with a turn of the {USER}")
        return [np.append(row.ids, np.int32(self.markers.assistant)) for row in self.rows(dialogues)]

    def response(self, ids: Iterable[int]) -> str:
        """The text of a response, up to its EOS."""
        said = []
        for token in ids:
            if token == EOS:
                break
            said.append(int(token))
        return self.tokenizer.decode(said).strip()

    def _row(self, turns: Sequence[tuple[str, np.ndarray]]) -> Row:
        marks = {SYSTEM: self.markers.system, USER: self.markers.user, ASSISTANT: self.markers.assistant}
        ids, learnt = [np.array([BOS])], [False]
        for role, said in turns:
            if role not in marks:
                raise InputError(f"role: {str(role)[:60]!r} is none of {', '.join(ROLES)}; correct the dialogue")
            closed = [EOS] if role == ASSISTANT else []
            ids.append(np.concatenate([[marks[role]], said, closed]))
            learnt += [False] + [role == ASSISTANT] * (len(said) + len(closed))
        return Row(np.concatenate(ids).astype(np.int32), np.array(learnt))
