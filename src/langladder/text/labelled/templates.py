"""Templates of prompts: `{premise} so {hypothesis} {answer} .`, the places filled from an example's fields.

A template has one place `{answer}`. What stands before it is the context of an answer; what stands after it belongs to
the answer, because it is likelier after one answer than after another. A line break is the end of a line, as in the
text that language models are trained on (`ids_of`). Braces that are no places are written twice.
"""

import re
from collections.abc import Mapping, Sequence
from string import Formatter

import numpy as np

from langladder.errors import InputError
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer

ANSWER = "answer"
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
Part = tuple[str, str | None]  # plain text, and the place behind it


class Template:
    """A text with places.

    Attributes:
        fields: the places but `{answer}`, each once, in the order in which they stand.
        fields_after: those of them that stand after the answer.

    Raises:
        InputError: no place `{answer}`, or two; a brace by itself; a place that is no plain name.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        parts = _parts(text)
        places = [name for _, name in parts if name is not None]
        if places.count(ANSWER) != 1:
            raise InputError(f"template: {text!r} has {places.count(ANSWER)} places {{answer}}; one is wanted")
        at = [name for _, name in parts].index(ANSWER)
        self._before, self._after = parts[: at + 1], parts[at + 1 :]
        self.fields = tuple(dict.fromkeys(name for name in places if name != ANSWER))
        self.fields_after = tuple(dict.fromkeys(name for _, name in self._after if name is not None))

    def context(self, values: Mapping[str, str]) -> str:
        """What stands before the answer.

        Raises:
            InputError: a field of the template is missing.
        """
        return self._filled(self._before, values)

    def whole(self, values: Mapping[str, str], answer: str) -> str:
        """The text with an answer; otherwise as `context`."""
        return self.context(values) + answer + self._filled(self._after, values)

    def answer_context(self) -> str:
        """What stands between the last field and the answer: what announces one, and nothing of an example."""
        last = max((place for place, (_, name) in enumerate(self._before[:-1]) if name is not None), default=-1)
        return "".join(text for text, _ in self._before[last + 1 :]).strip()

    def _filled(self, parts: Sequence[Part], values: Mapping[str, str]) -> str:
        if missing := [name for _, name in parts if name not in (None, ANSWER, *values)]:
            raise InputError(
                f"template: {{{missing[0]}}} is no field of the example; allowed: {', '.join(values)[:200]}, {ANSWER}"
            )
        return "".join(text + ("" if name in (None, ANSWER) else values[str(name)]) for text, name in parts)


def _parts(text: str) -> list[Part]:
    try:
        found = list(Formatter().parse(text))
    except ValueError as error:
        raise InputError(f"template: {text!r}: {str(error).lower()}; write {{{{ and }}}} for plain braces") from error
    for _, name, form, conversion in found:
        if name is not None and (form or conversion or not _NAME.fullmatch(name)):
            raise InputError(
                f"template: {{{name}}} in {text!r} is not allowed: a place is a plain name, such as {{text}}"
            )
    return [(plain, name) for plain, name, _, _ in found]


def ids_of(tokenizer: Tokenizer, texts: Sequence[str], *, closed: bool = False) -> list[np.ndarray]:
    """Texts as a language model reads them, (length,) int32 each: `BOS ids… EOS` for every line.

    Args:
        closed: whether the last line has its end; else it is still open.
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
