"""Readers of tagged sentences: from CoNLL columns to raw tables, one sentence a row.

Tags that bracket phrases (IOB2, IOBES) are checked: one that must not follow what stands before it is an error at its
line. IOB1, where B only parts two phrases that touch (Ramshaw & Marcus 1995), is written as IOB2, BILOU and BMES as
IOBES. A sentence with an empty word or tag, or of a held-out split with a tag that train does not have, is left out.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from langladder.atomic import atomic_folder
from langladder.errors import Damage, InputError, Policy
from langladder.remote import File, located
from langladder.text.labelled.conll import Sentence, TagColumns, heads_of, sentences
from langladder.text.labelled.iob import OTHER_LETTERS, as_iobes, bad_steps, look_like_phrases, read_scheme
from langladder.text.labelled.label_files import FoldedSource, in_split, splits_of
from langladder.text.labelled.labelled import LABELLED_TABLES, TAGGED
from langladder.text.read.lines import FileFacts, read_lines
from langladder.text.read.sources import files_of, skipped
from langladder.text.storage.tables import write_rows

_LETTERS = {"IOB1": "BI", "IOB2": "BI", "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMESW"}
_IOB = {scheme: re.compile(rf"O|[{letters}](?:-.+)?") for scheme, letters in _LETTERS.items()}
LONG = 1000  # words of a sentence, from which a warning is given
ALONE = 100  # words, at most, of a sentence that is the whole corpus
UNKNOWN = "a sentence with a tag that the training split does not have"


class TaggedSource(FoldedSource):
    """Sentences with a tag a word: a word a line, a blank line between sentences."""

    endings: ClassVar[tuple[str, ...]] = ("conll", "conllu", "iob", "bio", "tsv", "txt")

    columns: TagColumns = TagColumns()
    # Of tags that bracket phrases: which may follow which is checked. auto: the scheme that the tags look like. IOB1
    # (I-X may open a phrase) is written as IOB2, BILOU and BMES as IOBES. none: any tag after any.
    scheme: Literal["auto", "none", "IOB1", "IOB2", "IOBES", "BILOU", "BMES"] = "auto"
    # A sentence with an empty word or tag, or with a tag that train does not have: skip (left out and counted) | strict
    damaged: Policy = "skip"


def read_tags(source: TaggedSource, out_folder: Path) -> dict[str, Any]:
    """Read a tagged corpus into `out_folder`: train, validation, test.parquet, or all.parquet.

    Returns:
        Counts by split, the scheme of the tags, files read, what was put right in reading them, and what was left out.

    Raises:
        InputError: missing path, empty glob, ragged columns, a tag that must not stand where it does, heads that are no
            tree, no blank line between sentences; with `damaged: strict` an empty word or tag, and a tag of a held-out
            split that train does not have.
    """
    found = splits_of(source, files_of(source, source.files))
    scheme, warnings = _scheme(next(iter(found.values())), source)
    facts, damage = FileFacts(), Damage(source.damaged)
    counts: dict[str, dict[str, int]] = {}
    known: set[str] = set()
    longest = (0, "")
    with atomic_folder(out_folder, LABELLED_TABLES) as folder:
        for split, files in found.items():
            again = split == "test" and source.folds is not None  # files that were read for train
            read = _read(files, source, facts, Damage() if again else damage)
            kept = _Kept(source, split, scheme, known, damage)
            count = write_rows(folder / f"{split}.parquet", TAGGED, kept.rows(read), _size)
            counts[split] = {"sentences": count, "words": kept.words}
            if not count:
                skips = f" ({damage.summary()})" if damage.counts else facts.no_text()
                raise InputError(f"{source.path}: split {split!r} holds no sentence{skips}")
            longest = max(longest, kept.longest)
        if counts.get("all", {}).get("sentences") == 1 and longest[0] > ALONE:
            raise InputError(
                f"{source.path}: one sentence of {longest[0]:,} words in all files; a blank line ends a sentence; put "
                "blank lines in, or give more sentences"
            )
    if longest[0] > LONG:
        place = _below(source, longest[1])
        warnings.append(f"a sentence of {longest[0]:,} words ({place}); are blank lines between sentences missing?")
    report = {"splits": counts, "scheme": scheme, **facts.report()}
    if damage.counts:
        kinds = damage.report().items()
        report["damaged"] = {kind: one | {"first": _below(source, str(one["first"]))} for kind, one in kinds}
    report |= {"warnings": warnings} if warnings else {}
    return report | skipped(located(source.path), facts, source.endings)


def _below(source: TaggedSource, place: str) -> str:
    """A place in a file, its path from the folder that is read: the same wherever that folder is."""
    root = located(source.path)
    return place.removeprefix(f"{root if root.is_dir() else root.parent}/")


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
    strange = f"; these do not: {', '.join(others[:3])[:60]}" if others else ""
    return scheme, [
        f"{len(looks):,} tags look as if they bracket phrases ({', '.join(looks[:3])[:60]}{strange}), but all together "
        "are of no known scheme (IOB1, IOB2, IOBES, BILOU, BMES): phrases are not scored"
    ]


class _Kept:
    """The rows of a split's table: sentences of its fold, without those whose tags train does not have."""

    def __init__(self, source: TaggedSource, split: str, scheme: str, known: set[str], damage: Damage) -> None:
        self.source, self.split, self.scheme, self.known, self.damage = source, split, scheme, known, damage
        self.words, self.longest = 0, (0, "")

    def rows(self, read: Iterator[Sentence]) -> Iterator[dict[str, Any]]:
        """Those of some sentences; notes the tags of train in `known`."""
        for number, sentence in enumerate(read):
            columns = self.source.columns
            words, tags = sentence.column(columns.form), sentence.column(columns.tag)
            tags, heads = checked_tags(sentence, tags, self.scheme), heads_of(sentence, columns)
            if not in_split(self.source, self.split, " ".join(words), number):
                continue
            if self.split in ("train", "all"):
                self.known.update(tags)
            elif strange := [place for place, tag in enumerate(tags) if tag not in self.known]:
                place = f"{sentence.where(strange[0])} ({tags[strange[0]][:40]!r})"
                self.damage.found(place, UNKNOWN, "mend the tag, or give it training examples")
                continue
            self.words += len(words)
            self.longest = max(self.longest, (len(words), sentence.where(0)))
            yield {"words": words, "tags": tags, "heads": heads}


def checked_tags(sentence: Sentence, tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """The tags of a sentence, those of IOB1 as IOB2, of BILOU and BMES as IOBES.

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
    written = [as_iobes(tag, scheme) for tag in tags] if scheme in OTHER_LETTERS else tags
    for place in bad_steps(written, "IOB2" if scheme == "IOB2" else "IOBES"):
        before = repr(tags[place - 1][:40]) if place else "the beginning"
        after = repr(tags[place][:40]) if place < len(tags) else "the end"
        raise InputError(
            f"{sentence.where(min(place, len(tags) - 1))}: {after} must not follow {before} ({scheme}); mend it, or "
            "set scheme: IOB1, where I-X may open a phrase (written as IOB2), or none (conf/tags)"
        )
    return tuple(written)


def to_iob2(tags: Sequence[str]) -> tuple[str, ...]:
    """IOB1 → IOB2: the first word of each phrase is B-X.

    >>> to_iob2(["I-PER", "I-PER", "B-PER", "O", "I-LOC"])
    ('B-PER', 'I-PER', 'B-PER', 'O', 'B-LOC')
    """
    before = ["O", *tags]
    return tuple(
        f"B{tag[1:]}" if tag[0] == "I" and last[1:] != tag[1:] else tag for last, tag in zip(before, tags, strict=False)
    )


def _size(row: dict[str, Any]) -> int:
    return sum(map(len, row["words"]))
