"""How the lines of each kind of tokenizer are cut into pieces (see `pieces`).

What is a letter, a digit or white space is asked of the library, character by character as texts have them, so that its
version of Unicode decides.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from tokenizers import pre_tokenizers

from langladder.text.character_kernels import DIGIT, LETTER, SIGN, SPACE
from langladder.text.pieces import Classes, Rule
from langladder.text.tokenizers import Trained


class Cutter(NamedTuple):
    """A rule, and the classes of characters that it goes by."""

    rule: Rule
    classes: Classes


@cache
def cutter(kind: Trained) -> Cutter:
    """That of a kind of tokenizer."""
    if kind == "bpe_bytes":
        return Cutter("byte_level", Classes(_byte_level()))
    if kind == "unigram":
        return Cutter("spaces", Classes(lambda character: SPACE if character in " ▁" else SIGN))
    if kind == "character":
        return Cutter("characters", Classes(lambda _: SIGN))
    split = pre_tokenizers.WhitespaceSplit()
    return Cutter("words", Classes(lambda one: SIGN if len(split.pre_tokenize_str(f"a{one}a")) == 1 else SPACE))


def _byte_level() -> Callable[[str], int]:
    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)

    def classify(character: str) -> int:
        for kind, beside in ((LETTER, "a"), (DIGIT, "1"), (SIGN, "!")):
            if len(split.pre_tokenize_str(beside + character)) == 1:
                return kind
        return SPACE

    return classify
