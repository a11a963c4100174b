"""Readers of tagged sentences: from CoNLL columns to raw tables, one sentence a row.

Tags that bracket phrases (IOB2, IOBES) are checked: one that must not follow what stands before it is an error at its
line. IOB1, where B only parts two phrases that touch (Ramshaw & Marcus 1995), is written as IOB2.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.remote import File, located
from langladder.text.chosen_files import skipped
from langladder.text.conll import Sentence, heads_of, sentences
from langladder.text.iob import bad_steps, scheme_of
from langladder.text.label_files import check_label, in_split, splits_of
from langladder.text.label_sources import TaggedSource
from langladder.text.labelled import LABELLED_TABLES, TAGGED
from langladder.text.lines import FileFacts, read_lines
from langladder.text.sources import files_of
from langladder.text.tables import pieces, write_batches

_IOB = {"IOB1": re.compile(r"O|[BI]-.+"), "IOB2": re.compile(r"O|[BI]-.+"), "IOBES": re.compile(r"O|[BIES]-.+")}


def read_tags(source: TaggedSource, out_folder: Path) -> dict[str, Any]:
    """Read a tagged corpus into `out_folder`: train, validation, test.parquet, or all.parquet.

    Returns:
        Counts by split, the scheme of the tags, files read, and what was put right in reading them.

    Raises:
        InputError: missing path, empty glob, ragged columns, a tag that must not stand where it does, a tag of a
            held-out split that train does not have, heads that are no tree.
    """
    found = splits_of(source, files_of(source, source.files))
    scheme = _scheme(next(iter(found.values())), source)
    facts = FileFacts()
    counts: dict[str, dict[str, int]] = {}
    known: set[str] = set()
    with atomic_folder(out_folder, LABELLED_TABLES) as folder:
        for split, files in found.items():
            counts[split] = {"sentences": 0, "words": 0}
            tables = _tables(_sentences(files, split, source, scheme, facts, known), counts[split])
            if write_batches(folder / f"{split}.parquet", TAGGED, tables) == 0:
                raise InputError(f"{source.path}: split {split!r} holds no sentence{facts.no_text()}")
    report = {"splits": counts, "scheme": scheme, **facts.report()}
    return report | skipped(located(source.path), facts, source.endings)


def _read(files: list[File], source: TaggedSource, facts: FileFacts) -> Iterator[Sentence]:
    for file in files:
        lines = read_lines(file, facts, source.max_line_bytes, source.encoding)
        yield from sentences(file, source.columns, lines)


def _scheme(training: list[File], source: TaggedSource) -> str:
    """How the tags bracket phrases: as it is said, or as the training tags look."""
    if source.scheme != "auto":
        return source.scheme
    tags = {tag for sentence in _read(training, source, FileFacts()) for tag in sentence.column(source.columns.tag)}
    if {tag.partition("-")[0] for tag in tags} == {"I", "O"} and all(map(_IOB["IOB1"].fullmatch, tags)):
        return "IOB1"
    return scheme_of(tags) or "none"


def _sentences(
    files: list[File], split: str, source: TaggedSource, scheme: str, facts: FileFacts, known: set[str]
) -> Iterator[dict[str, Any]]:
    for number, sentence in enumerate(_read(files, source, facts)):
        words, tags = sentence.column(source.columns.form), sentence.column(source.columns.tag)
        tags = checked_tags(sentence, tags, scheme)
        if not in_split(source, split, " ".join(words), number):
            continue
        for word, tag in enumerate(tags):
            check_label(sentence.where(word), tag, split, known)
        yield {"words": words, "tags": tags, "heads": heads_of(sentence, source.columns)}


def checked_tags(sentence: Sentence, tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """The tags of a sentence, those of IOB1 as IOB2.

    Raises:
        InputError: one that the scheme does not have, or not there (names file and line).
    """
    if scheme == "none":
        return tuple(tags)
    for place, tag in enumerate(tags):
        if not _IOB[scheme].fullmatch(tag):
            raise InputError(
                f"{sentence.where(place)}: {tag[:40]!r} is no tag of {scheme}; set scheme: none (conf/tags)"
            )
    if scheme == "IOB1":
        return to_iob2(tags)
    for place in bad_steps(tags, "IOBES" if scheme == "IOBES" else "IOB2"):
        before = repr(tags[place - 1][:40]) if place else "the beginning"
        after = repr(tags[place][:40]) if place < len(tags) else "the end"
        raise InputError(
            f"{sentence.where(min(place, len(tags) - 1))}: {after} must not follow {before} ({scheme}); mend it, or "
            "set scheme: IOB1, where I-X may open a phrase (written as IOB2), or none (conf/tags)"
        )
    return tuple(tags)


def to_iob2(tags: Sequence[str]) -> tuple[str, ...]:
    """IOB1 → IOB2: the first word of each phrase is B-X.

    >>> to_iob2(["I-PER", "I-PER", "B-PER", "O", "I-LOC"])
    ('B-PER', 'I-PER', 'B-PER', 'O', 'B-LOC')
    """
    before = ["O", *tags]
    return tuple(
        f"B{tag[1:]}" if tag[0] == "I" and last[1:] != tag[1:] else tag for last, tag in zip(before, tags, strict=False)
    )


def _tables(rows: Iterator[dict[str, Any]], counts: dict[str, int]) -> Iterator[pa.Table]:
    for piece in pieces(rows, lambda row: sum(map(len, row["words"]))):
        counts["sentences"] += len(piece)
        counts["words"] += sum(len(row["words"]) for row in piece)
        yield pa.Table.from_pylist(piece, schema=TAGGED)
