"""Trees over the words of a sentence: bracketed (Penn style) or by heads (dependencies), as one flat structure.

    (3 (2 the) (4 (3 good) (2 film)))     a node is a label and either a word or its parts
    1-based heads, 0 = root               a node is a word, its children are the words that depend on it

Nodes are numbered children first, the root last, so that one pass from left to right meets every child before its
parent. A bracketed node without a label of its own is `None` there.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import regex  # type: ignore[import-untyped]

from langladder.ground.errors import InputError
from langladder.text.labelled.labelled import Example

_TOKEN = regex.compile(r"[()]|[^\s()]+")
DEEPEST = 2000  # parts within parts; more is no sentence


class Tree(NamedTuple):
    """children[i]: the nodes below node i; word[i]: position of its word in the sentence, −1 for none; label[i]."""

    children: tuple[tuple[int, ...], ...]
    word: tuple[int, ...]
    label: tuple[str | None, ...]
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.word)

    @property
    def heights(self) -> list[int]:
        """Of each node: 0 without children, else 1 above the highest child."""
        heights: list[int] = []
        for below in self.children:
            heights.append(1 + max((heights[child] for child in below), default=-1))
        return heights


def parse_tree(text: str) -> Tree:
    """A bracketed tree.

    Raises:
        ValueError: brackets that do not match, an empty node, text before or behind the tree (says at which character).
    """
    children: list[tuple[int, ...]] = []
    word: list[int] = []
    label: list[str | None] = []
    words: list[str] = []
    open_: list[list[str | int]] = []  # of each open bracket: strings read, then nodes
    for match in _TOKEN.finditer(text):
        token, position = match[0], match.start() + 1
        if not open_ and (children or token != "("):
            raise ValueError(f"character {position}: {token[:40]!r} is outside the tree")
        if token == "(":
            if len(open_) == DEEPEST:
                raise ValueError(f"character {position}: more than {DEEPEST:,} brackets inside one another")
            open_.append([])
        elif token != ")":
            open_[-1].append(token)
        else:
            parts = open_.pop()
            strings = [part for part in parts if isinstance(part, str)]
            below = tuple(part for part in parts if isinstance(part, int))
            if not parts or len(strings) > (1 if below else 2):
                raise ValueError(
                    f"character {position}: a bracket holds {_described(parts)}; a label and a word, or parts"
                )
            if below and strings and not isinstance(parts[0], str):
                raise ValueError(f"character {position}: the label {strings[0][:40]!r} comes after the parts")
            label.append(strings[0] if len(strings) == (1 if below else 2) else None)
            word.append(-1 if below else len(words))
            if not below:
                words.append(strings[-1])
            children.append(below)
            if open_:
                open_[-1].append(len(children) - 1)
    if open_:
        raise ValueError(f"character {len(text)}: {len(open_)} brackets are not closed")
    if not children:
        raise ValueError("character 1: no tree")
    return Tree(tuple(children), tuple(word), tuple(label), tuple(words))


def _described(parts: Sequence[str | int]) -> str:
    """The content of a bracket, in words."""
    return " and ".join(repr(part[:40]) if isinstance(part, str) else "a part" for part in parts[:4]) or "nothing"


def bracketed(tree: Tree, rename: dict[str, str | None]) -> list[str]:
    """Each node of a tree in brackets, the whole tree last; a label that is renamed to nothing is left out."""
    written: list[str] = []
    for children, word, name in zip(tree.children, tree.word, tree.label, strict=True):
        label = rename.get(name, name) if name is not None else None
        inner = " ".join(written[child] for child in children) if children else tree.words[word]
        written.append(f"({label} {inner})" if label is not None else f"({inner})")
    return written


def phrase_texts(tree: Tree) -> list[str]:
    """The words of each node of a bracketed tree."""
    texts: list[str] = []
    for children, word in zip(tree.children, tree.word, strict=True):
        texts.append(" ".join(texts[child] for child in children) if children else tree.words[word])
    return texts


def tree_of_heads(words: Sequence[str], heads: Sequence[int]) -> Tree:
    """The dependency tree of a sentence; `heads` 1-based, 0 for the root.

    Raises:
        ValueError: a head that is no word, no root or two, a cycle (says of which words).
    """
    if len(words) != len(heads):
        raise ValueError(f"{len(words)} words, but {len(heads)} heads")
    below: list[list[int]] = [[] for _ in range(len(words) + 1)]
    for number, head in enumerate(heads, start=1):
        if not 0 <= head <= len(words) or head == number:
            raise ValueError(
                f"word {number} ({words[number - 1][:40]!r}) has head {head}; allowed: another of 0 to {len(words)}"
            )
        below[head].append(number)
    if len(below[0]) != 1:
        raise ValueError(f"{len(below[0])} words have head 0 (the root): {below[0][:5]}; exactly one is wanted")
    order: list[int] = []
    waiting = [below[0][0]]
    while waiting:  # a word before those that depend on it; backwards: children first
        number = waiting.pop()
        order.append(number)
        waiting += below[number]
    if len(order) < len(words):
        ring = min(set(range(1, len(words) + 1)) - set(order))
        raise ValueError(f"word {ring} ({words[ring - 1][:40]!r}) depends on itself in a circle")
    order.reverse()
    node = {number: position for position, number in enumerate(order)}
    children = tuple(tuple(node[child] for child in below[number]) for number in order)
    return Tree(children, tuple(number - 1 for number in order), (None,) * len(order), tuple(words))


def read_tree(example: Example) -> Tree:
    """The tree of an example.

    Raises:
        InputError: it has none, or one that is none.
    """
    try:
        if example.tree is not None:
            return parse_tree(example.tree)
        if example.heads is not None:
            return tree_of_heads(example.text.split(" "), example.heads)
    except ValueError as error:
        raise InputError(f"{example.text[:60]!r}: {error}") from error
    raise InputError(
        f"{example.text[:60]!r} has no tree, and this classifier reads trees: choose labels that have them "
        "(conf/labels), or another classifier"
    )


def joined_heads(heads: Sequence[int], counts: Sequence[int]) -> list[int]:
    """The heads of words that are made of so many words each, in order: of each, that of its word nearest to the root.

    Args:
        heads: 1-based, 0 for the root; a tree, which they stay.

    >>> joined_heads([3, 3, 0], [2, 1])
    [2, 0]
    """

    def depth(word: int) -> int:
        steps = 0
        while heads[word]:
            word, steps = heads[word] - 1, steps + 1
        return steps

    number_of = [0, *(number for number, count in enumerate(counts, start=1) for _ in range(count))]
    ends = accumulate(counts)
    tops = (min(range(end - count, end), key=depth) for end, count in zip(ends, counts, strict=True))
    return [number_of[heads[top]] for top in tops]
