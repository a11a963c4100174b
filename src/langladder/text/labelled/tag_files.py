"""Readers of tagged sentences: from CoNLL columns to raw tables, one sentence a row.

A word a line with its columns, a blank line between sentences, comments that begin with #. Columns are separated by
tabs where the first word's line has one, else by spaces; a line with another number of columns is cut the other way.
Only tabs and ASCII spaces separate columns, so a word may be another space (U+3000 in Chinese text by the character);
such a word, and a space inside a word, is read as _. "-DOCSTART-" lines (Tjong Kim Sang & De Meulder 2003) separate
documents.

Words of CoNLL-U (Nivre et al. 2020) are those of the text, because a tagger gets text: a range (3-4, French `du` of the
syntactic words `de` and `le`) is one word, tagged ADP+DET unless it has a tag of its own. Its head is that of its
syntactic word nearest to the root, and it gets the dependents of the others. Empty nodes (5.1) are ignored.

A line that begins with # is a comment where words are numbered (CoNLL-U), where "# " opens the first of several columns
separated by tabs, or where the line has another number of columns; else its word is #.

Tags that bracket phrases are checked (`text.labelled.labelled`): one that must not follow the tag before it is an error
at its line. Other schemes are written as IOB2 or IOBES:

    IOB1     B-X only separates two phrases that touch (Ramshaw & Marcus 1995); written as IOB2
    BILOU    IOBES with L for E and U for S (Ratinov & Roth 2009)
    BMES     IOBES with M for I, as in Chinese; also W for S (BMEWO)

A sentence with an empty word or tag, or of a held-out split with a tag that train does not have, is left out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import Damage, InputError, Policy
from langladder.ground.remote import File, located
from langladder.ground.schema import Config
from langladder.text.clean.splitting import hash_fraction
from langladder.text.labelled.labelled import (
    ID,
    LABELLED_TABLES,
    TAGGED,
    bad_steps,
    have_positions,
    joined_heads,
    scheme_of,
    to_iob2,
    tree_of_heads,
    without_position,
)
from langladder.text.read.files import FileSource, files_of, folder_of, skipped
from langladder.text.read.lines import FileFacts, ReadReport, read_lines
from langladder.text.storage.tables import Row, write_rows

_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")
_FIRST = re.compile(r"1(-\d+)?")
_SPACE = re.compile(r"\s+")
_BETWEEN = re.compile(r"[ \t]+")
_NO_MODEL = ("#", "-DOCSTART-")  # begin lines that do not show how columns are separated
LOOKED_AT = 1000  # lines searched for one that does
MOST_WORDS = 10_000  # of a sentence
NO_BLANK_LINE = "a sentence with no blank line before it, read as one of its own"
EMPTY = "an empty word or tag"
_LETTERS = {"IOB1": "BI", "IOB2": "BI", "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMESW"}
_IOB = {scheme: re.compile(rf"O|[{letters}](?:-.+)?") for scheme, letters in _LETTERS.items()}
LONG = 1000  # words of a sentence, from which a warning is given
POSITIONS = (
    "every word ends in a number that counts up ({}), its position in a longer word, and is read with it; to remove "
    "the numbers, set data: {{tags: {{positions: true}}}} in params.yaml"
)
ALONE = 100  # words, at most, of a sentence that is the whole corpus
UNKNOWN = "a sentence with a tag that the training split does not have"
OTHER_LETTERS = {"BILOU": str.maketrans("LU", "ES"), "BMES": str.maketrans("MW", "IS")}
"""Scheme → what its letters are in IOBES."""
_OTHERS = {"BILOU": re.compile(r"O|[BILU](?:-.*)?", re.DOTALL), "BMES": re.compile(r"O|[BMESW](?:-.*)?", re.DOTALL)}
_PREFIX = re.compile(r"[BIESLUMWbieslumw][-_:/.].+|.+[-_:/.][BIESLUMW]", re.DOTALL)


class TagColumns(Config):
    """Columns of a file with a word a line, numbered from 0."""

    form: int = Field(default=0, ge=0)
    tag: int = Field(default=1, ge=0)
    head: int | None = Field(default=None, ge=0)  # the number of the word's head from 1, 0 for the root
    id: int | None = Field(default=None, ge=0)  # CoNLL-U's numbers: 3-4 is one word of the text, 5.1 is none

    def required(self) -> list[int]:
        """The columns that a line must have."""
        return [column for column in (self.form, self.tag, self.head, self.id) if column is not None]


class FoldedSource(FileSource):
    """Files that can be cut into folds."""

    # Cross-validation: `folds` parts, of which number `fold` (from 0) is the test split and the rest train.
    folds: int | None = Field(default=None, ge=2, le=1000)
    fold: int = Field(default=0, ge=0)
    fold_by: Literal["order", "hash"] = (
        "order"  # order: each fold takes every k-th example of a label; hash: of the text
    )

    @model_validator(mode="after")
    def _one_fold_of_one_corpus(self) -> Self:
        if self.folds is not None and (self.fold >= self.folds or isinstance(self.files, dict)):
            raise ValueError(
                f"folds: {self.folds}, fold: {self.fold}, files: {self.files!r}; a fold is one of 0 to folds − 1, and "
                "`files` one glob: the folds cut the test split themselves"
            )
        return self


class TaggedSource(FoldedSource):
    """Sentences with a tag per word: a word per line, a blank line between sentences."""

    endings: ClassVar[tuple[str, ...]] = ("conll", "conllu", "iob", "bio", "tsv", "txt")

    columns: TagColumns = TagColumns()
    positions: bool = False  # each word ends in its position in a longer word, which is removed (Weibo NER: 科0 技1)
    # Of tags that bracket phrases: which may follow which is checked. auto: the scheme that the tags look like. IOB1
    # (I-X may open a phrase) is written as IOB2, BILOU and BMES as IOBES. none: any tag after any.
    scheme: Literal["auto", "none", "IOB1", "IOB2", "IOBES", "BILOU", "BMES"] = "auto"
    # A sentence with an empty word or tag, or with a tag that train does not have: skip (left out and counted) | strict
    damaged: Policy = "skip"


class Sentence(NamedTuple):
    """The columns of each word, its line number, the comments above or inside, and ranges that are not joined yet.

    ranges: number of the first word, from 0 → how many words, the columns of the range, its line.
    """

    file: File
    words: list[list[str]]
    lines: list[int]
    comments: list[str]
    ranges: dict[int, tuple[int, list[str], int]]

    def column(self, number: int) -> tuple[str, ...]:
        """A column of every word; a space inside a word or tag becomes _."""
        return tuple(_SPACE.sub("_", cells[number]) for cells in self.words)

    def where(self, word: int) -> str:
        """File and line of a word, from 0."""
        return f"{self.file}:{self.lines[word]}"


def read_tags(source: TaggedSource, out_folder: Path) -> ReadReport:
    """Read a tagged corpus into `out_folder`: train, validation, test.parquet, or all.parquet.

    Returns:
        Counts by split, the scheme of the tags, files read, what was corrected while reading, and what was left out.

    Raises:
        InputError: missing path, empty glob, ragged columns, a tag that must not follow the one before it, heads that
            are no tree, no blank line between sentences; with `damaged: strict` an empty word or tag, and a tag of a
            held-out split that train does not have.
    """
    results = splits_of(source, files_of(source, source.files))
    scheme, warnings = _scheme(next(iter(results.values())), source)
    facts, damage = FileFacts(), Damage(source.damaged)
    counts: dict[str, dict[str, int]] = {}
    known: set[str] = set()
    longest, first = (0, ""), list[str]()
    with atomic_folder(out_folder, LABELLED_TABLES) as folder:
        for split, files in results.items():
            again = split == "test" and source.folds is not None  # files that were read for train
            read = _read(files, source, facts, Damage() if again else damage)
            kept = _SplitRows(source, split, scheme, known, damage)
            count = write_rows(folder / f"{split}.parquet", TAGGED.append(ID), kept.rows(read), _size)
            counts[split] = {"sentences": count, "words": kept.words}
            if not count:
                skips = f" ({damage.summary()})" if damage.counts else facts.no_text()
                raise InputError(f"{source.path}: split {split!r} holds no sentence{skips}")
            longest, first = max(longest, kept.longest), first or kept.first
        if counts.get("all", {}).get("sentences") == 1 and longest[0] > ALONE:
            raise InputError(
                f"{source.path}: one sentence of {longest[0]:,} words in all files; a blank line ends a sentence; add "
                "blank lines, or give more sentences"
            )
    if longest[0] > LONG:
        where = longest[1].removeprefix(folder_of(source))
        warnings.append(f"a sentence of {longest[0]:,} words ({where}); are blank lines between sentences missing?")
    if len(first) >= LOOKED_AT // 10 and have_positions(first):
        warnings.append(POSITIONS.format(" ".join(first[:4])))
    report: ReadReport = {"splits": counts, "scheme": scheme, **facts.report()}
    if damage.counts:
        kinds, root = damage.report().items(), folder_of(source)
        report["damaged"] = {kind: entry | {"first": str(entry["first"]).removeprefix(root)} for kind, entry in kinds}
    if warnings:
        report["warnings"] = warnings
    return {**report, **skipped(located(source.path), facts, source.endings)}


def _read(files: list[File], source: TaggedSource, facts: FileFacts, damage: Damage) -> Iterator[Sentence]:
    for file in files:
        lines = read_lines(file, facts, source.max_line_bytes, source.encoding)
        yield from sentences(file, source.columns, lines, damage)


def _scheme(training: list[File], source: TaggedSource) -> tuple[str, list[str]]:
    """How the tags bracket phrases, as the settings name it or as the training tags look; warnings."""
    if source.scheme != "auto":
        return source.scheme, []
    read = _read(training, source, FileFacts(), Damage(source.damaged))
    tags = {tag for sentence in read for tag in sentence.column(source.columns.tag)}
    scheme, looks = read_scheme(tags) or "none", look_like_phrases(tags)
    if scheme != "none" or not looks:
        return scheme, []
    others = sorted(tags - {*looks, "O", "o"})
    exceptions = f"; these do not: {', '.join(others[:3])[:60]}" if others else ""
    return scheme, [
        f"{len(looks):,} tags look as if they bracket phrases ({', '.join(looks[:3])[:60]}{exceptions}), but all "
        "together are of no known scheme (IOB1, IOB2, IOBES, BILOU, BMES): phrases are not scored"
    ]


class _SplitRows:
    """The rows of a split's table: sentences of its fold, without those whose tags train does not have."""

    def __init__(self, source: TaggedSource, split: str, scheme: str, known: set[str], damage: Damage) -> None:
        self.source, self.split, self.scheme, self.known, self.damage = source, split, scheme, known, damage
        self.words, self.longest, self.folder, self.first = 0, (0, ""), folder_of(source), list[str]()

    def rows(self, read: Iterator[Sentence]) -> Iterator[Row]:
        """Those of some sentences; notes the tags of train in `known`."""
        for number, sentence in enumerate(read):
            columns = self.source.columns
            words, tags = sentence.column(columns.form), sentence.column(columns.tag)
            words = tuple(map(without_position, words)) if self.source.positions else words
            tags, heads = checked_tags(sentence, tags, self.scheme), heads_of(sentence, columns)
            if not in_split(self.source, self.split, " ".join(words), number):
                continue
            if self.split in ("train", "all"):
                self.known.update(tags)
            elif unknown := [word for word, tag in enumerate(tags) if tag not in self.known]:
                where = f"{sentence.where(unknown[0])} ({tags[unknown[0]][:40]!r})"
                self.damage.found(where, UNKNOWN, "fix the tag, or give it training examples")
                continue
            self.words += len(words)
            self.first += words if len(self.first) < LOOKED_AT else ()
            self.longest = max(self.longest, (len(words), sentence.where(0)))
            identifier = sentence.where(0).removeprefix(self.folder)
            yield {"words": words, "tags": tags, "heads": heads, "id": identifier}


def checked_tags(sentence: Sentence, tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """The tags of a sentence, those of IOB1 as IOB2, of BILOU and BMES as IOBES.

    Raises:
        InputError: a tag that the scheme does not have, or that is not allowed there (names file and line).
    """
    if scheme == "none":
        return tuple(tags)
    for number, tag in enumerate(tags):
        if not _IOB[scheme].fullmatch(tag):
            raise InputError(
                f"{sentence.where(number)}: {tag[:40]!r} is not a tag of {scheme}; set scheme: none (conf/tags)"
            )
    if scheme == "IOB1":
        return to_iob2(tags)
    written = [as_iobes(tag, scheme) for tag in tags] if scheme in OTHER_LETTERS else tags
    for number in bad_steps(written, "IOB2" if scheme == "IOB2" else "IOBES"):
        before = repr(tags[number - 1][:40]) if number else "the beginning"
        after = repr(tags[number][:40]) if number < len(tags) else "the end"
        raise InputError(
            f"{sentence.where(min(number, len(tags) - 1))}: {after} must not follow {before} ({scheme}); fix it, or "
            "set scheme: IOB1, where I-X may open a phrase (written as IOB2), or none (conf/tags)"
        )
    return tuple(written)


def _size(row: Row) -> int:
    return sum(map(len, row["words"]))


def splits_of(source: FoldedSource, files: dict[str, list[File]]) -> dict[str, list[File]]:
    """The files of each split, train first; of folds, all files are those of train and of test."""
    if source.folds is not None:
        return {"train": files["all"], "test": files["all"]}
    return {split: files[split] for split in ("train", "all", "validation", "test") if split in files}


def in_split(source: FoldedSource, split: str, text: str, number: int) -> bool:
    """Whether a text belongs to a split: with folds, by its number among those of its label, or by its hash."""
    if source.folds is None:
        return True
    fold = number % source.folds if source.fold_by == "order" else int(hash_fraction([text], 0) * source.folds)
    return (fold == source.fold) == (split == "test")


# -- sentences of a file -----------------------------------------------------------------------------------------


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
            if max(columns.required()) < len(cells) and all(cells[column].strip(" ") for column in columns.required()):
                return cls(tabs, len(cells), columns.form)
        whole = cls("\t" in line, 0, columns.form)
        return whole._replace(width=len(whole.cells(line)))

    def cells(self, line: str) -> list[str]:
        """The columns of a line; empty ones at the end only up to the expected width."""
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
        if max(columns.required()) >= len(cells):
            raise InputError(
                f"{where}: {len(cells)} column(s), but number {max(columns.required())} (from 0) is needed; say which "
                "column holds what: columns (conf/tags)"
            )
        return cells

    def is_comment(self, line: str, columns: TagColumns) -> bool:
        """Whether a line that begins with # has no word."""
        several = self.tabs and line.startswith("# ")
        return columns.id == 0 or several or len(self.cells(line)) != self.width


def _cut_of(lines: Iterable[str], columns: TagColumns) -> tuple[_Cut, Iterator[str]]:
    """How the lines of a file are cut, as the first of them with a word shows; and all lines."""
    first, rest = list[str](), iter(lines)
    for line in islice(rest, LOOKED_AT):
        first.append(line)
        if line.strip() and not line.startswith(_NO_MODEL):
            break
    example = next((line for line in reversed(first) if line.strip()), "")
    return _Cut.like(example, columns), chain(first, rest)


def sentences(
    file: File, columns: TagColumns, lines: Iterable[str], damage: Damage | None = None
) -> Iterator[Sentence]:
    """The sentences of a file's lines.

    Args:
        damage: what becomes of sentences with an empty word or tag, and of those that no blank line separates; None:
            both are errors.

    Raises:
        InputError: a line has another number of columns than the first or too few, a sentence has too many words; what
            `damage` refuses.
    """
    damage = damage or Damage("strict")
    sentence, comments, damaged, separated = Sentence(file, [], [], [], {}), list[str](), False, True
    cut, lines = _cut_of(lines, columns)
    for number, line in enumerate(lines, start=1):
        between = not line.strip() or line.startswith("-DOCSTART-")
        comment = line.startswith("#") and cut.is_comment(line, columns)
        cells = [] if between or comment else cut.checked(line, f"{file}:{number}", columns)
        word_number = cells[columns.id] if cells and columns.id is not None else ""
        if between or (comment and columns.id == 0) or _FIRST.fullmatch(word_number):
            if sentence.words and not damaged:
                yield _joined(sentence, columns)
            if sentence.words:
                sentence, damaged = Sentence(file, [], [], [], {}), False
        separated = separated or between
        if comment:
            comments.append(line)
        if numbers := _RANGE.fullmatch(word_number):
            sentence.ranges[int(numbers[1]) - 1] = int(numbers[2]) - int(numbers[1]) + 1, cells, number
        if not cells or numbers or "." in word_number:  # 5.1, an empty node
            continue
        if not separated and not sentence.words:
            damage.found(f"{file}:{number}", NO_BLANK_LINE, "a blank line ends a sentence; put one in")
        separated = False
        if not damaged and not (cells[columns.form] and cells[columns.tag].strip()):
            damage.found(f"{file}:{number}", EMPTY, "fill it in, or remove the line")
            damaged = True
        sentence.comments.extend(comments)
        comments.clear()
        sentence.words.append(cells)
        sentence.lines.append(number)
        if len(sentence.words) > MOST_WORDS:
            raise InputError(
                f"{file}:{sentence.lines[0]}: a sentence of more than {MOST_WORDS:,} words begins here; sentences "
                "are separated by blank lines; put them in"
            )
    if sentence.words and not damaged:
        yield _joined(sentence, columns)


def _joined(sentence: Sentence, columns: TagColumns) -> Sentence:
    """A sentence with each range as one word. Raises InputError: words of a range are missing; as `heads_of`."""
    if not sentence.ranges:
        return sentence
    heads, ranges = heads_of(sentence, columns), dict(sentence.ranges)
    joined, counts, first = sentence._replace(words=[], lines=[], ranges={}), list[int](), 0
    while first < len(sentence.words):
        count, cells, line = ranges.pop(first, (1, sentence.words[first], sentence.lines[first]))
        tags = [word[columns.tag] for word in sentence.words[first : first + count]]
        if len(tags) < max(count, 1) or not cells[columns.form]:
            ranges[first] = count, cells, line
            break
        own = cells[columns.tag].strip() not in ("", "_")
        joined.words.append(list(cells))
        joined.words[-1][columns.tag] = cells[columns.tag] if own else "+".join(tag for tag, _ in groupby(tags))
        joined.lines.append(line)
        counts.append(count)
        first += count
    for _, cells, line in ranges.values():
        raise InputError(
            f"{sentence.file}:{line}: the range {cells[columns.id or 0]!r} has no form, or not all its words follow "
            "it, or some are in another range; fix it, or remove the line"
        )
    if columns.head is not None and heads is not None:
        for cells, head in zip(joined.words, joined_heads(heads, counts), strict=True):
            cells[columns.head] = str(head)
    return joined


def heads_of(sentence: Sentence, columns: TagColumns) -> tuple[int, ...] | None:
    """The head of each word, None where no column holds them.

    Raises:
        InputError: a head that is no number or no word, no root or two, a cycle.
    """
    if columns.head is None:
        return None
    heads = []
    for word, value in enumerate(sentence.column(columns.head)):
        if not (value.isascii() and value.isdecimal() and len(value) < 10):
            raise InputError(
                f"{sentence.where(word)}: head {value[:40]!r} is not a number; write a word's number, or 0 for the root"
            )
        heads.append(int(value))
    try:
        tree_of_heads(sentence.column(columns.form), heads)
    except ValueError as error:
        raise InputError(f"{sentence.where(0)}: the sentence that begins here: {error}") from error
    return tuple(heads)


# -- schemes of tags --------------------------------------------------------------------------------------------


def read_scheme(tags: Iterable[str]) -> str | None:
    """The scheme of tags in files, also IOB1, BILOU or BMES; None if they follow none.

    Letters alone (B, M, E, S, as in word segmentation) are tags of BILOU or BMES only where a phrase of several words
    can be written with them, so one-letter parts of speech are not.
    """
    names = set(tags)
    if {name.partition("-")[0] for name in names} == {"I", "O"} and all("-" in name for name in names - {"O"}):
        return "IOB1"
    if result := scheme_of(names):
        return result
    for scheme, tag in _OTHERS.items():
        if not names or not all(tag.fullmatch(name) for name in names):
            continue
        letters = {name[0] for name in names}
        last = "L" if scheme == "BILOU" else "E"
        if (any("-" in name for name in names) and letters - {"O", "B"}) or {"B", last} <= letters:
            return scheme
    return None


def as_iobes(tag: str, scheme: str) -> str:
    """A tag of BILOU or BMES in IOBES.

    >>> as_iobes("U-PER", "BILOU"), as_iobes("M-LOC", "BMES"), as_iobes("O", "BMES")
    ('S-PER', 'I-LOC', 'O')
    """
    return tag[:1].translate(OTHER_LETTERS[scheme]) + tag[1:]


def look_like_phrases(tags: Iterable[str]) -> list[str]:
    """The tags that look as if they bracket phrases (B_PER, i-loc, PER-B), if all others are O."""
    names = set(tags)
    looks = sorted(name for name in names if _PREFIX.fullmatch(name))
    return looks if len(looks) > 1 and names & {"O", "o"} else []
