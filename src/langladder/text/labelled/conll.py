"""CoNLL columns: a word a line with its columns, a blank line between sentences, comments that begin with #.

Columns are separated by tabs where the first word's line has one, else by spaces; a line that this gives another
number of columns is cut the other way. Only tabs and ASCII spaces separate columns, so that a word may be any other
space (U+3000 in Chinese text by the character); such a word, and a space inside a word, is read as _. Of CoNLL-U
(Nivre et al. 2020), ranges (3-4) and empty nodes (5.1) are no words; "-DOCSTART-" lines (Tjong Kim Sang & De Meulder
2003) separate documents.

A line that begins with # is a comment where words are numbered (CoNLL-U), where "# " opens the first of several columns
separated by tabs, or where the line has another number of columns; else its word is #.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple, Self

from pydantic import Field

from langladder.errors import Damage, InputError
from langladder.remote import File
from langladder.schema import Config
from langladder.text.labelled.trees import tree_of_heads

_NO_WORD = re.compile(r"\d+[-.]\d+")
_SPACE = re.compile(r"\s+")
_BETWEEN = re.compile(r"[ \t]+")
_NO_MODEL = ("#", "-DOCSTART-")  # what opens lines that do not show how columns are parted
LOOKED_AT = 1000  # lines, for one that does
MOST_WORDS = 10_000  # of a sentence
NO_BLANK_LINE = "a sentence with no blank line before it, read as one of its own"
EMPTY = "an empty word or tag"


class TagColumns(Config):
    """Columns of a file with a word a line, numbered from 0."""

    form: int = Field(default=0, ge=0)
    tag: int = Field(default=1, ge=0)
    head: int | None = Field(default=None, ge=0)  # the place of the word's head from 1, 0 for the root
    id: int | None = Field(default=None, ge=0)  # CoNLL-U's numbers: 3-4 and 5.1 are no words

    def wanted(self) -> list[int]:
        """The columns that a line must have."""
        return [place for place in (self.form, self.tag, self.head, self.id) if place is not None]


class Sentence(NamedTuple):
    """The columns of each word, the line where each stands, and the comments above or inside."""

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


class _Cut(NamedTuple):
    """How the lines of a file are cut into columns."""

    tabs: bool
    width: int
    form: int

    @classmethod
    def like(cls, line: str, columns: TagColumns) -> Self:
        """As a line shows that has a word."""
        for tabs in (True, False) if "\t" in line else (False,):
            cells = cls(tabs, 0, columns.form).cells(line)
            if max(columns.wanted()) < len(cells) and all(cells[place].strip(" ") for place in columns.wanted()):
                return cls(tabs, len(cells), columns.form)
        whole = cls("\t" in line, 0, columns.form)
        return whole._replace(width=len(whole.cells(line)))

    def cells(self, line: str) -> list[str]:
        """The columns; those at the end that are empty only as far as the width asks for them."""
        if not self.tabs:
            cells = _BETWEEN.split(line.strip(" \t"))
            missing = line.startswith(" ") and self.form == 0 and len(cells) == self.width - 1
            return [" ", *cells] if missing else cells  # a word that is a space
        cells = [cell if cell.isspace() else cell.strip(" ") for cell in line.split("\t")]
        while len(cells) > max(self.width, 1) and not cells[-1].strip():
            cells.pop()
        return cells

    def checked(self, line: str, where: str, columns: TagColumns) -> list[str]:
        """The columns of a word's line, cut the other way where that fits and this does not.

        Raises:
            InputError: there are too many or too few.
        """
        cells = self.cells(line)
        if len(cells) != self.width:
            other = self._replace(tabs=not self.tabs).cells(line)
            cells = other if len(other) == self.width else cells
        if len(cells) != self.width:
            raise InputError(f"{where}: {len(cells)} columns, but the first line has {self.width}")
        if max(columns.wanted()) >= len(cells):
            raise InputError(
                f"{where}: {len(cells)} column(s), but number {max(columns.wanted())} (from 0) is wanted; say which "
                "column holds what: columns (conf/tags)"
            )
        return cells

    def is_comment(self, line: str, columns: TagColumns) -> bool:
        """Whether a line that begins with # has no word."""
        several = self.tabs and line.startswith("# ")
        return columns.id == 0 or several or len(self.cells(line)) != self.width


def sentences(
    file: File, columns: TagColumns, lines: Iterable[str], damage: Damage | None = None
) -> Iterator[Sentence]:
    """The sentences of a file's lines.

    Args:
        damage: what becomes of sentences with an empty word or tag, and of those that no blank line parts; none: both
            are refused.

    Raises:
        InputError: a line has another number of columns than the first or too few, a sentence has too many words; what
            `damage` refuses.
    """
    damage = damage or Damage("strict")
    found, above, damaged, parted = Sentence(file, [], [], []), list[str](), False, True
    numbered, opening = enumerate(lines, start=1), list[tuple[int, str]]()
    for number, line in islice(numbered, LOOKED_AT):
        opening.append((number, line))
        if line.strip() and not line.startswith(_NO_MODEL):
            break
    cut = _Cut.like(next((line for _, line in reversed(opening) if line.strip()), ""), columns)
    for number, line in chain(opening, numbered):
        between = not line.strip() or line.startswith("-DOCSTART-")
        comment = line.startswith("#") and cut.is_comment(line, columns)
        cells = [] if between or comment else cut.checked(line, f"{file}:{number}", columns)
        word_number = cells[columns.id] if cells and columns.id is not None else ""
        if between or (comment and columns.id == 0) or word_number == "1":
            if found.words and not damaged:
                yield found
            if found.words:
                found, damaged = Sentence(file, [], [], []), False
        parted = parted or between
        if comment:
            above.append(line)
        if not cells or _NO_WORD.fullmatch(word_number):
            continue
        if not parted and not found.words:
            damage.found(f"{file}:{number}", NO_BLANK_LINE, "a blank line ends a sentence; put one in")
        parted = False
        if not damaged and not (cells[columns.form] and cells[columns.tag].strip()):
            damage.found(f"{file}:{number}", EMPTY, "fill it in, or take the line out")
            damaged = True
        found.comments.extend(above)
        above.clear()
        found.words.append(cells)
        found.lines.append(number)
        if len(found.words) > MOST_WORDS:
            raise InputError(
                f"{file}:{found.lines[0]}: a sentence of more than {MOST_WORDS:,} words begins here; sentences "
                "are parted by blank lines; put them in"
            )
    if found.words and not damaged:
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
