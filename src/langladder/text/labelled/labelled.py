"""Labelled text as tables: text → label, and word → tag, with the probabilities of a grammar.

| column | what |
| --- | --- |
| text, second | the text, and the other one where pairs are labelled |
| label | its name; labels.json beside the tables has them in the order of their ids |
| labels | instead of `label` where texts are multi-label: none, one or several names, each once, sorted |
| tree, heads | one bracketed tree over the words, or the head of each word (1-based, 0 = root), where there is one |
| words, tags | a sentence and the tag of each of its words |
| id | of a row that is read from a file: its id there, else "file:line"; drawn text has no such column |
| log_prob | ln P(label | text), ln P(tags | words) under the grammar that drew them, if known |
| ceiling(s) | how often the best guess of the label (of each tag) is right under that grammar |

Tags may bracket phrases, such as names in a text; then not every tag may follow every other:

    IOB2     B-X opens a phrase of kind X, I-X continues it, O is outside (Tjong Kim Sang & Veenstra 1999)
    IOBES    E-X is a phrase's last word, S-X a phrase of one word; a phrase of several is B-X (I-X …) E-X

Any other tags, such as parts of speech, may follow one another freely.

Trees over the words of a sentence are bracketed (Penn style) or by heads (dependencies); both become one flat
structure.

    (3 (2 the) (4 (3 good) (2 film)))     a node is a label and either a word or its parts
    1-based heads, 0 = root               a node is a word, its children are the words that depend on it

Nodes are numbered children first, the root last, so that one pass from left to right meets every child before its
parent. A bracketed node without a label of its own is `None` there.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import regex  # type: ignore[import-untyped]

from langladder.ground.artefacts import read_json, word_list, write_json
from langladder.ground.errors import InputError
from langladder.text.storage.shards import SPLITS, owner_of
from langladder.text.storage.tables import read_table
from langladder.text.words.segmentation import CONVENTIONS

LABELLED = pa.schema(
    [
        *(("text", pa.string()), ("second", pa.string()), ("label", pa.string()), ("tree", pa.string())),
        *(("heads", pa.list_(pa.int32())), ("log_prob", pa.float64()), ("ceiling", pa.float64())),
    ]
)
MULTI_LABELLED = pa.schema(
    [pa.field("labels", pa.list_(pa.string())) if field.name == "label" else field for field in LABELLED]
)
TAGGED = pa.schema(
    [
        *(("words", pa.list_(pa.string())), ("tags", pa.list_(pa.string())), ("heads", pa.list_(pa.int32()))),
        *(("log_prob", pa.float64()), ("ceilings", pa.list_(pa.float64()))),
    ]
)
ID = pa.field("id", pa.string())
"""The last column of a table that is read from files."""
LABELS = "labels.json"
LABELLED_TABLES = owner_of(
    "labelled tables",
    (LABELS, CONVENTIONS, *(f"{split}.parquet" for split in (*SPLITS, "all"))),
    *(schema for entry in (LABELLED, MULTI_LABELLED, TAGGED) for schema in (entry, entry.append(ID))),
)

Scheme = Literal["IOB2", "IOBES"]
_TAG = re.compile(r"O|[BIES](?:-.*)?", re.DOTALL)


class Example(NamedTuple):
    """A text, or two, with its label; None: not known. The words of a tree are separated by single spaces.

    labels: of a multi-label text, whose `label` is None: none, one or several. id: see the table above.
    """

    text: str
    second: str | None = None
    label: str | None = None
    tree: str | None = None
    heads: tuple[int, ...] | None = None
    log_prob: float | None = None
    ceiling: float | None = None
    labels: tuple[str, ...] | None = None
    id: str = ""

    @property
    def truth(self) -> str:
        """Its label, or its labels, for display."""
        return str(self.label) if self.labels is None else joined_labels(self.labels)

    def dealt_by(self) -> tuple[str, str]:
        """Its text, and the label by which folds are stratified; multi-label texts are not stratified."""
        text = self.text if self.second is None else f"{self.text}\t{self.second}"
        return text, str(self.label) if self.labels is None else ""


class Tagged(NamedTuple):
    """A sentence and the tag of each word; tags of None are not known."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    heads: tuple[int, ...] | None = None
    log_prob: float | None = None
    ceilings: tuple[float, ...] | None = None
    id: str = ""

    def dealt_by(self) -> tuple[str, str]:
        """Its text; folds of sentences are not stratified."""
        return " ".join(self.words), ""


def read_labelled(path: Path) -> list[Example]:
    """The examples of a split. Raises InputError as `read_table`."""
    schema = labelled_schema(path)
    lists = ("heads", "labels") if "labels" in schema.names else ("heads",)
    rows = read_table(path, schema).to_pylist()
    return [Example(**row | {name: None if row[name] is None else tuple(row[name]) for name in lists}) for row in rows]


def labelled_schema(path: Path) -> pa.Schema:
    """`MULTI_LABELLED` of a table of multi-label texts; else `LABELLED`. Either has an `id` if the table has it."""
    schema = MULTI_LABELLED if "labels" in _columns(path) else LABELLED
    return schema.append(ID) if ID.name in _columns(path) else schema


def tagged_schema(path: Path) -> pa.Schema:
    """`TAGGED`, with an `id` if the table has it."""
    return TAGGED.append(ID) if ID.name in _columns(path) else TAGGED


def _columns(path: Path) -> list[str]:
    """The columns of a table; none of one that cannot be read."""
    names: list[str] = []
    with suppress(pa.ArrowException, OSError):
        names = pq.read_schema(path).names
    return names


def joined_labels(labels: Sequence[str]) -> str:
    """The labels of a multi-label text, for display.

    >>> joined_labels(["animals", "food"]), joined_labels([])
    ('animals, food', '(none)')
    """
    return ", ".join(labels) or "(none)"


def read_tagged(path: Path) -> list[Tagged]:
    """The sentences of a split. Raises InputError as `read_table`."""
    lists = ("words", "tags", "heads", "ceilings")
    rows = read_table(path, tagged_schema(path)).to_pylist()
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
    by_split = {split: {label: count[label] for label in labels} for split, count in counts.items()}
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


# -- words with their position -----------------------------------------------------------------------------------

_POSITION = re.compile(r"(\D+|\d)(\d{1,2})")


def without_position(word: str) -> str:
    """A word without the number at its end: Chinese characters with their position in a word (Weibo NER).

    >>> without_position("科0"), without_position("20"), without_position("科")
    ('科', '2', '科')
    """
    match = _POSITION.fullmatch(word)
    return match[1] if match else word


def have_positions(words: Sequence[str]) -> bool:
    """Whether all words end in a number that counts up from 0 again and again, and not always 0.

    >>> have_positions("科0 技1 全0 方1 位2".split()), have_positions(["a0", "b2"]), have_positions(["a0", "b0"])
    (True, False, False)
    """
    matches = [_POSITION.fullmatch(word) for word in words]
    numbers = [int(match[2]) for match in matches if match]
    counts = all(number in (0, before + 1) for before, number in pairwise([-1, *numbers]))
    return len(numbers) == len(words) and counts and any(numbers)


# -- tags that bracket phrases -----------------------------------------------------------------------------------


def scheme_of(tags: Iterable[str]) -> Scheme | None:
    """The scheme of a tag set, by its names; None if they bracket nothing."""
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


def to_iob2(tags: Sequence[str]) -> tuple[str, ...]:
    """IOB1 → IOB2: the first word of each phrase is B-X.

    >>> to_iob2(["I-PER", "I-PER", "B-PER", "O", "I-LOC"])
    ('B-PER', 'I-PER', 'B-PER', 'O', 'B-LOC')
    """
    before = ["O", *tags]
    return tuple(
        f"B{tag[1:]}" if tag[0] == "I" and last[1:] != tag[1:] else tag for last, tag in zip(before, tags, strict=False)
    )


class Phrase(NamedTuple):
    """Words `first` to `last` of a sentence, both included, and what they are."""

    kind: str
    first: int
    last: int


def phrases_of(tags: Sequence[str]) -> list[Phrase]:
    """The phrases that the tags of a sentence bracket, as conlleval counts them, even if tags break their scheme.

    >>> phrases_of(["B-PER", "I-PER", "O", "I-LOC"])
    [Phrase(kind='PER', first=0, last=1), Phrase(kind='LOC', first=3, last=3)]
    """
    if not any(len(tag) > 1 and tag[0] in "BIES" for tag in tags):  # fast for sentences without phrases
        return []
    from seqeval.metrics.sequence_labeling import get_entities

    return [Phrase(*entity) for entity in get_entities(list(tags))]


# ---- trees


_TOKEN = regex.compile(r"[()]|[^\s()]+")
DEEPEST = 2000  # nested parts; more is not a sentence


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
        """The height of each node: 0 without children, else 1 above its highest child."""
        heights: list[int] = []
        for below in self.children:
            heights.append(1 + max((heights[child] for child in below), default=-1))
        return heights


def parse_tree(text: str) -> Tree:
    """A bracketed tree.

    Raises:
        ValueError: brackets that do not match, an empty node, text outside the tree (names the character).
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
        ValueError: a head that is no word, no root or two, a cycle (names the words).
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
        raise ValueError(f"{len(below[0])} words have head 0 (the root): {below[0][:5]}; exactly one is needed")
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
        InputError: it has none, or an invalid one.
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
    """The heads after runs of words are joined: each joined word has the head of its word nearest to the root.

    Args:
        heads: 1-based, 0 for the root; a tree before and after.

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
