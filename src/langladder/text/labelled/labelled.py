"""Labelled text as tables: text → label, and word → tag, with what a grammar knows of them.

| column | what |
| --- | --- |
| text, second | the text, and the other one where pairs are labelled |
| label | its name; labels.json beside the tables has them in the order of their ids |
| tree, heads | one bracketed tree over the words, or the head of each word (1-based, 0 = root), where there is one |
| words, tags | a sentence and the tag of each of its words |
| log_prob | ln P(label | text), ln P(tags | words) under the grammar that drew them, where that is known |
| ceiling(s) | how often the best guess of the label (of each tag) is right under that grammar |

Tags may bracket phrases, such as names in a text; then not every tag may follow every other:

    IOB2     B-X opens a phrase of kind X, I-X goes on with it, O is outside (Tjong Kim Sang & Veenstra 1999)
    IOBES    E-X is a phrase's last word, S-X a phrase of one word; a phrase of several is B-X (I-X …) E-X

Any other tags, such as parts of speech, may follow one another freely.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa

from langladder.ground.artefacts import read_json, word_list, write_json
from langladder.ground.errors import InputError
from langladder.text.storage.shards import SPLITS
from langladder.text.storage.tables import owner_of, read_table
from langladder.text.words.conventions import CONVENTIONS

LABELLED = pa.schema(
    [
        *(("text", pa.string()), ("second", pa.string()), ("label", pa.string()), ("tree", pa.string())),
        *(("heads", pa.list_(pa.int32())), ("log_prob", pa.float64()), ("ceiling", pa.float64())),
    ]
)
TAGGED = pa.schema(
    [
        *(("words", pa.list_(pa.string())), ("tags", pa.list_(pa.string())), ("heads", pa.list_(pa.int32()))),
        *(("log_prob", pa.float64()), ("ceilings", pa.list_(pa.float64()))),
    ]
)
LABELS = "labels.json"
LABELLED_TABLES = owner_of(
    "labelled tables", (LABELS, CONVENTIONS, *(f"{split}.parquet" for split in (*SPLITS, "all"))), LABELLED, TAGGED
)

Scheme = Literal["IOB2", "IOBES"]
_TAG = re.compile(r"O|[BIES](?:-.*)?", re.DOTALL)


class Example(NamedTuple):
    """A text, or two, with its label; None: not known. The words of a tree are separated by single spaces."""

    text: str
    second: str | None = None
    label: str | None = None
    tree: str | None = None
    heads: tuple[int, ...] | None = None
    log_prob: float | None = None
    ceiling: float | None = None


class Tagged(NamedTuple):
    """A sentence and the tag of each word; tags of None are not known."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    heads: tuple[int, ...] | None = None
    log_prob: float | None = None
    ceilings: tuple[float, ...] | None = None


def read_labelled(path: Path) -> list[Example]:
    """The examples of a split. Raises InputError as `read_table`."""
    rows = read_table(path, LABELLED).to_pylist()
    return [Example(**row | {"heads": row["heads"] and tuple(row["heads"])}) for row in rows]


def read_tagged(path: Path) -> list[Tagged]:
    """The sentences of a split. Raises InputError as `read_table`."""
    lists = ("words", "tags", "heads", "ceilings")
    rows = read_table(path, TAGGED).to_pylist()
    return [Tagged(**row | {name: row[name] and tuple(row[name]) for name in lists}) for row in rows]


def read_labels(folder: Path) -> list[str]:
    """The labels or tags of a clean corpus, in the order of their ids.

    Raises:
        InputError: labels.json is missing or holds something else.
    """
    path = Path(folder) / LABELS
    value = read_json(path)
    if not isinstance(value, dict) or "labels" not in value:
        raise InputError(f"{path}: holds no labels; make the corpus first (stage `clean`)")
    return word_list(path, value["labels"])


def write_labels(folder: Path, labels: Sequence[str], counts: Mapping[str, Counter[str]]) -> None:
    """Write labels.json: the labels in the order of their ids, and how many each split has of each."""
    by_split = {split: {label: found[label] for label in labels} for split, found in counts.items()}
    write_json(folder / LABELS, {"labels": list(labels), "counts": by_split})


def ordered(labels: Iterable[str]) -> list[str]:
    """Different labels in the order of their ids: by number where all are numbers, else by name."""
    names = set(labels)
    numbers = all(name.isdecimal() and name.isascii() for name in names)
    return sorted(names, key=lambda name: (int(name) if numbers else 0, name))


def bayes_accuracy(path: Path) -> float | None:
    """The accuracy on a split, in [0, 1], that no classifier or tagger beats on average; None where it is unknown."""
    table = read_table(path)
    values = (
        table.column("ceiling").to_pylist()
        if "ceiling" in table.column_names
        else [value for values in table.column("ceilings").to_pylist() for value in values or [None]]
    )
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


# -- tags that bracket phrases -----------------------------------------------------------------------------------


def scheme_of(tags: Iterable[str]) -> Scheme | None:
    """The scheme that the names of a tag set speak of; None where they bracket nothing."""
    names = set(tags)
    if not all(_TAG.fullmatch(name) for name in names) or names <= {"O"}:
        return None
    letters = {name[0] for name in names}
    if letters & {"E", "S"}:
        return "IOBES"
    return "IOB2" if "B" in letters else None


def may_follow(before: str | None, after: str | None, scheme: Scheme) -> bool:
    """Whether a tag may follow another; None: the beginning or the end of the sentence."""
    inside = before is not None and before[0] in ("BI" if scheme == "IOBES" else "BIES")  # a phrase is open
    goes_on = after is not None and after[0] in "IE"
    if goes_on:
        return inside and before is not None and after is not None and before[1:] == after[1:]
    return scheme == "IOB2" or not inside  # IOBES: what is open must be closed


def bad_steps(tags: Sequence[str], scheme: Scheme) -> list[int]:
    """Positions of tags (from 0; the number of tags for the end) that must not follow the tag before them."""
    path = [None, *tags, None]
    return [number for number in range(len(tags) + 1) if not may_follow(path[number], path[number + 1], scheme)]
