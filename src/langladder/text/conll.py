"""CoNLL columns: a word a line with its columns, a blank line between sentences, comments that begin with #.

Columns are parted by tabs where the first line has one, else by spaces. Of CoNLL-U (Nivre et al. 2020), ranges (3-4)
and empty nodes (5.1) are no words; "-DOCSTART-" lines (Tjong Kim Sang & De Meulder 2003) part documents.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from langladder.errors import InputError
from langladder.remote import File
from langladder.text.label_sources import TagColumns
from langladder.text.trees import tree_of_heads

_NO_WORD = re.compile(r"\d+[-.]\d+")
_SPACE = re.compile(r"\s+")


class Sentence(NamedTuple):
    """The columns of each word, the line where each stands, and the comments above."""

    file: File
    words: list[list[str]]
    lines: list[int]
    comments: list[str]

    def column(self, place: int) -> tuple[str, ...]:
        """A column of every word; a space inside a word or tag becomes _."""
        return tuple(_SPACE.sub("_", cells[place]) for cells in self.words)

    def where(self, word: int) -> str:
        """Where a word stands, from 0."""
        return f"{self.file}:{self.lines[word]}"


def sentences(file: File, columns: TagColumns, lines: Iterable[str]) -> Iterator[Sentence]:
    """The sentences of a file's lines.

    Raises:
        InputError: a line has another number of columns than the first, too few, or an empty word or tag.
    """
    found = Sentence(file, [], [], [])
    width = 0
    tabs = False
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            if found.words:
                yield found
                found = Sentence(file, [], [], [])
            continue
        tabs = tabs if width else "\t" in line
        cells = [cell.strip() for cell in line.rstrip("\t ").split("\t")] if tabs else line.split()
        if line.startswith("#") and (len(cells) != width if width else not tabs):
            found.comments.append(line)
            continue
        if cells[0] == "-DOCSTART-":
            continue
        if len(cells) != (width or len(cells)):
            raise InputError(f"{file}:{number}: {len(cells)} columns, but the first line has {width}")
        if max(columns.wanted()) >= len(cells):
            raise InputError(
                f"{file}:{number}: {len(cells)} column(s), but number {max(columns.wanted())} (from 0) is wanted; say "
                "which column holds what: columns (conf/tags)"
            )
        width = len(cells)
        if columns.id is not None and _NO_WORD.fullmatch(cells[columns.id]):
            continue
        if not cells[columns.form] or not cells[columns.tag]:
            raise InputError(f"{file}:{number}: an empty word or tag; fill it in, or take the line out")
        found.words.append(cells)
        found.lines.append(number)
    if found.words:
        yield found


def heads_of(sentence: Sentence, columns: TagColumns) -> tuple[int, ...] | None:
    """The head of each word, None where no column holds them.

    Raises:
        InputError: a head that is no number or no word, no root or two, a cycle.
    """
    if columns.head is None:
        return None
    heads = []
    for place, value in enumerate(sentence.column(columns.head)):
        if not (value.isascii() and value.isdecimal() and len(value) < 10):
            raise InputError(
                f"{sentence.where(place)}: head {value[:40]!r} is no number; the place of a word, 0 for the root"
            )
        heads.append(int(value))
    try:
        tree_of_heads(sentence.column(columns.form), heads)
    except ValueError as error:
        raise InputError(f"{sentence.where(0)}: the sentence that begins here: {error}") from error
    return tuple(heads)
