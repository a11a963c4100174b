"""Readers of labelled text: from files in several layouts to raw tables, one or two texts and a label per row.

columns     text TAB label                       trees       (4 (2 a) (4 (3 lovely) (2 film)))
fields      {"text": …, "label": …}              conllu      # label = positive, then a word a line with its head
folders     positive/17.txt

In columns and fields a text may have none, one or several labels (`multi_label`): a list, or names with a separator.

The training split is read first: a label that only a held-out split has cannot be learnt, and is an error at its line.
If any file is bad, nothing is written.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.remote import File, located
from langladder.text.labelled.labelled import (
    ID,
    LABELLED,
    LABELLED_TABLES,
    MULTI_LABELLED,
    Tree,
    bracketed,
    ordered,
    parse_tree,
    phrase_texts,
)
from langladder.text.labelled.tag_files import FoldedSource, TagColumns, heads_of, in_split, sentences, splits_of
from langladder.text.read.files import ending, files_of, folder_of, format_of, json_rows, numbered_lines, skipped
from langladder.text.read.lines import FileFacts, ReadReport, named, parquet_rows, read_lines, text_field
from langladder.text.storage.tables import Row, write_rows

Layout = Literal["auto", "columns", "fields", "folders", "trees", "conllu"]
AUTO = {"tsv": "columns", "csv": "columns", "jsonl": "fields", "ndjson": "fields", "parquet": "fields"}
AUTO |= {"ptb": "trees", "mrg": "trees", "conllu": "conllu"}
Column = int | str
"""A column: its number from 0, or its name in the first line."""
CONLLU = TagColumns(id=0, form=1, tag=3, head=6)
_LABEL = re.compile(r"#\s*label\s*=\s*(.*)")
_SPACE_IN_WORD = re.compile(r"[^\S \t]")  # a no-break space, as in 8 1/2
_CONFIG = "(conf/labels)"
LIST = "list"
"""As `multi_label`: labels are a list in their field."""
_MULTI_LABEL = "(params.yaml: data: {{labels: {{multi_label: {}}}}}, or conf/labels)"
DELIMITERS = (",", ";", "\t", "|")  # tried if a table does not have the expected one


class LabelledSource(FoldedSource):
    """Texts with a label each."""

    endings: ClassVar[tuple[str, ...]] = (*AUTO, "txt", "text")

    # columns: tab- or comma-separated; fields: jsonl or parquet; folders: <label>/<file>; trees: bracketed, the root's
    # label; conllu: heads, and a comment "# label = …"; auto: by the name's ending, .txt inside folders by folders
    layout: Layout = "auto"
    text: Column = "text"  # columns and fields
    label: Column = "label"
    second: Column | None = None  # the other text, of pairs
    id: Column | None = None  # what predictions name a row by; null: file and line
    # null: each text has one label. Else a text has none, one or several: "list" if fields have lists, or the
    # separator of the names in a column or field, such as ";"
    multi_label: str | None = Field(default=None, min_length=1, max_length=10)
    delimiter: str | None = Field(default=None, min_length=1, max_length=1)  # null: comma of .csv, else tab
    texts: Literal["line", "file"] = "line"  # of folders: what one text is
    label_before: str | None = Field(default=None, min_length=1)  # ":" reads DESC:manner as DESC
    rename: dict[str, str | None] = Field(default_factory=dict)  # label → its name here; null: the example is left out
    phrases: bool = False  # of trees: each different labelled phrase of the training trees is an example, too

    @model_validator(mode="after")
    def _columns_are_named_one_way(self) -> Self:
        wanted = [column for column in (self.text, self.label, self.second, self.id) if column is not None]
        if len(set(map(type, wanted))) > 1 or len(set(wanted)) < len(wanted):
            raise ValueError(
                f"text: {self.text!r}, label: {self.label!r}, second: {self.second!r}, id: {self.id!r}; give different "
                "columns, all by name (the first line has the names) or all by number from 0 (there are no names)"
            )
        if any(isinstance(column, int) and column < 0 for column in wanted):
            raise ValueError(f"columns {wanted}: numbers count from 0")
        if self.id is not None and self.layout not in ("auto", "columns", "fields"):
            raise ValueError(
                f"id: {self.id!r} with layout: {self.layout}, where a text has no other columns; allowed with layout: "
                "columns, fields and auto; id: null takes file and line"
            )
        if self.multi_label is not None and self.layout not in ("auto", "columns", "fields"):
            raise ValueError(
                f"multi_label: {self.multi_label!r} with layout: {self.layout}, where a text has one label; allowed "
                "with layout: columns, fields and auto"
            )
        return self


class LabelledText(NamedTuple):
    """A labelled text as its file has it. where: "file:line"; labels: of a multi-label text; id: "" if it has none."""

    where: str
    text: str
    label: str
    second: str | None = None
    tree: Tree | None = None
    heads: tuple[int, ...] | None = None
    labels: tuple[str, ...] | None = None
    id: str = ""


def read_labels(source: LabelledSource, out_folder: Path) -> ReadReport:
    """Read a labelled corpus into `out_folder`: train, validation, test.parquet, or all.parquet.

    Returns:
        Counts by split, files read, and what was corrected while reading them.

    Raises:
        InputError: missing path, empty glob, a bad file or line, a label of a held-out split
            that train does not have.
    """
    facts, results = FileFacts(), files_of(source, source.files)
    if source.phrases and "all" in results and source.folds is None:
        raise InputError(
            "phrases: true needs splits of the corpus' own (files: {train: …}): phrases of held-out trees leak"
        )
    counts: dict[str, dict[str, int]] = {}
    known: set[str] = set()
    with atomic_folder(out_folder, LABELLED_TABLES) as folder:
        for split, files in splits_of(source, results).items():
            counts[split] = {"examples": 0, "left_out": 0}
            examples = _examples(files, split, source, facts, known, counts[split])
            schema = (LABELLED if source.multi_label is None else MULTI_LABELLED).append(ID)
            counts[split]["examples"] = write_rows(folder / f"{split}.parquet", schema, examples, _size)
            if not counts[split]["examples"]:
                raise InputError(f"{source.path}: split {split!r} holds no example{facts.no_text()}")
    return {"splits": counts, **facts.report(), **skipped(located(source.path), facts, source.endings)}


def _examples(
    files: list[File], split: str, source: LabelledSource, facts: FileFacts, known: set[str], counts: dict[str, int]
) -> Iterator[Row]:
    """The rows of a split's table; notes the labels of train in `known`, and how many examples are left out."""
    numbers: Counter[str] = Counter()
    phrases: set[tuple[str, str]] = set()
    folder = folder_of(source)
    for row in (row for file in files for row in rows(file, source, facts)):
        identifier = row.id or row.where.removeprefix(folder)
        number, label = numbers[row.label], source.rename.get(row.label, row.label)
        numbers[row.label] += 1
        if not in_split(source, split, row.text, number):
            continue
        if split == "train" and source.phrases:
            for text, name, tree in _phrases(row, source):
                if (text, name) not in phrases:
                    phrases.add((text, name))
                    known.add(name)
                    yield {"text": text, "label": name, "tree": tree, "id": identifier}
            continue
        if label is None:
            counts["left_out"] += 1
            continue
        named = [label] if row.labels is None else [source.rename.get(label, label) for label in row.labels]
        labels = {entry for entry in named if entry is not None}
        if split in ("train", "all"):
            known |= labels
        elif strange := labels - known:
            raise InputError(
                f"{row.where}: {min(strange)[:60]!r} is not a label of the training split, which has "
                f"{', '.join(ordered(known))[:300]}; fix it, or give it training examples"
            )
        if row.labels is not None:
            yield {"text": row.text, "second": row.second, "labels": sorted(labels), "id": identifier}
            continue
        whole = bracketed(row.tree, source.rename)[-1] if row.tree else None
        fields = {"text": row.text, "second": row.second, "label": label, "tree": whole, "heads": row.heads}
        yield fields | {"id": identifier}


def _phrases(row: LabelledText, source: LabelledSource) -> Iterator[tuple[str, str, str]]:
    """Text, label and tree of each labelled phrase of a tree, the whole sentence first."""
    if row.tree is None:
        raise InputError(f"{row.where}: phrases: true, but this file has no trees (conf/labels)")
    nodes = list(zip(phrase_texts(row.tree), row.tree.label, bracketed(row.tree, source.rename), strict=True))
    for text, name, tree in reversed(nodes):
        label = source.rename.get(name, name) if name is not None else None
        if label is not None:
            yield text, label, tree


def _size(row: Row) -> int:
    return len(row["text"]) + len(row.get("second") or "")


# -- the rows of a file ------------------------------------------------------------------------------------------


def rows(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[LabelledText]:
    """The rows of a file, texts and labels without outer space, each on one line.

    Raises:
        InputError: the file, or a line of it, does not fit its layout; a text or a label is empty.
    """
    layout = _layout(file, source)
    if source.multi_label is not None and layout not in ("columns", "fields"):
        raise InputError(
            f"{file}: multi_label: {source.multi_label!r}, but this file has one label per text (layout: {layout}); "
            f"texts with several labels are read from columns (tsv, csv) and fields (jsonl, parquet) {_CONFIG}"
        )
    if source.id is not None and layout not in ("columns", "fields"):
        raise InputError(
            f"{file}: id: {source.id!r}, but this file has no other columns (layout: {layout}); set id: null, which "
            f"takes file and line {_CONFIG}"
        )
    for row in _LAYOUTS[layout](file, source, facts):
        text, label, labels = _one_line(row.text), _label(row.label, source), row.labels
        second = None if row.second is None else _one_line(row.second)
        if source.multi_label is not None:
            names = row.label.split(source.multi_label) if labels is None else labels
            label, labels = "", tuple(filter(None, (_label(name, source) for name in names)))
        unlabelled = labels is None and not label
        if unlabelled or not text or second == "":
            raise InputError(f"{row.where}: an empty {'label' if unlabelled else 'text'}; fill it in, or remove it")
        yield row._replace(text=text, label=label, second=second, labels=labels)


def _label(text: str, source: LabelledSource) -> str:
    return _one_line(text.partition(source.label_before)[0] if source.label_before else text)


def _one_line(text: str) -> str:
    return " ".join(text.strip().splitlines())


def _layout(file: File, source: LabelledSource) -> str:
    if source.layout != "auto":
        return source.layout
    if source.format in ("jsonl", "parquet"):
        return "fields"
    if ending(file) in AUTO:
        return AUTO[ending(file)]
    if located(source.path).is_dir() and file.parent != located(source.path):
        return "folders"
    raise InputError(
        f"{file}: its name does not show where the labels are; set layout to columns or trees {_CONFIG}, or put the "
        "texts of each label into a folder of its own"
    )


def _columns(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[LabelledText]:
    delimiter = source.delimiter or ("," if ending(file) == "csv" else "\t")
    if source.multi_label == LIST:
        raise InputError(
            f"{file}: multi_label: list, but a cell of a table is not a list; give the separator of the labels "
            + _MULTI_LABEL.format('";"')
        )
    # Between tabs, a quote is a character like any other.
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    csv.field_size_limit(source.max_line_bytes)
    head: list[str] = []  # the first line that is not blank
    lines = _ended(read_lines(file, facts, source.max_line_bytes, source.encoding), head)
    table = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
    wanted = [column for column in (source.text, source.label, source.second, source.id) if column is not None]
    at: list[int] = []
    width, number = 0, 1
    try:
        for cells in table:
            where = f"{file}:{number}"
            number = table.line_num + 1
            if not "".join(cells).strip():
                continue
            if not at:
                _check_delimiter(where, head[0], cells, wanted, delimiter)
                at, width = _positions(where, cells, wanted), len(cells)
                if isinstance(wanted[0], str):
                    continue
            if len(cells) != width:
                raise InputError(
                    f"{where}: {len(cells)} columns, but the first line has {width} (separated by {delimiter!r})"
                )
            second = None if source.second is None else cells[at[2]]
            yield LabelledText(
                where, cells[at[0]], cells[at[1]], second, id=cells[at[-1]] if source.id is not None else ""
            )
    except csv.Error as error:
        if not at:
            _check_delimiter(f"{file}:{number}", head[0], [], wanted, delimiter)
        raise InputError(f"{file}:{number}: not a table ({error}; columns are separated by {delimiter!r})") from error


def _ended(lines: Iterator[str], head: list[str]) -> Iterator[str]:
    """Lines with their ends, as `csv` needs them; the first that is not blank is put into `head`."""
    for line in lines:
        if not head and line.strip():
            head.append(line)
        yield f"{line}\n"


def _check_delimiter(where: str, line: str, cells: list[str], wanted: list[Column], delimiter: str) -> None:
    """Raise InputError if the first line has the wanted columns with another delimiter."""
    if cells and not _lacking(cells, wanted):
        return
    for other in DELIMITERS:
        if other != delimiter and not _lacking([cell.strip().strip('"') for cell in line.split(other)], wanted):
            raise InputError(
                f"{where}: the columns are separated by {other!r}, not by {delimiter!r}; set delimiter: "
                f"{json.dumps(other)} {_CONFIG}"
            )


def _positions(where: str, first: list[str], wanted: list[Column]) -> list[int]:
    """The numbers of the wanted columns."""
    names = [cell.strip() for cell in first]
    for column in _lacking(names, wanted):
        similar = [name for name in names if isinstance(column, str) and name.casefold() == column.casefold()]
        if similar:
            raise InputError(
                f"{where}: {len(similar)} columns may be {column!r}: {', '.join(similar)[:200]}; rename all but one, "
                f"or name the one that is needed {_CONFIG}"
            )
        raise InputError(
            f"{where}: no column {column!r}; the first line has {', '.join(names)[:200]!r}. Say which columns hold "
            f"text and label: by name, or by number from 0 where the first line has no names {_CONFIG}"
        )
    positions = [column if isinstance(column, int) else names.index(str(named(names, column))) for column in wanted]
    if len(set(positions)) < len(positions):
        raise InputError(f"{where}: {', '.join(map(repr, wanted))} are not columns of their own; name others {_CONFIG}")
    return positions


def _lacking(names: list[str], wanted: list[Column]) -> list[Column]:
    """The wanted columns that are not there, or more than once."""
    names = [name.strip() for name in names]

    def lacks(column: Column) -> bool:
        if isinstance(column, int):
            return column >= len(names)
        return names.count(column) > 1 or named(names, column) is None

    return list(filter(lacks, wanted))


def _fields(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[LabelledText]:
    wanted = [column for column in (source.text, source.label, source.second, source.id) if column is not None]
    names = [name for name in wanted if isinstance(name, str)]
    if len(names) < len(wanted):
        raise InputError(f"{file}: has fields, not columns; set text: and label: to their names {_CONFIG}")
    results: Iterator[tuple[str, Any]]
    if format_of(file, source.format) == "parquet":
        results = ((f"{file}, row {number}", row) for number, row in parquet_rows(file, names, facts))
    else:
        results = json_rows(file, source, facts)
    for where, row in results:
        text = text_field(row, names[0], where)
        second = text_field(row, names[2], where) if source.second is not None else None
        own = "" if source.id is None else _name(row, names[-1], where)
        label = row.get(named(row, names[1]))
        if isinstance(label, list) != (source.multi_label == LIST):
            raise InputError(_mixed(label, names[1], where, source))
        if isinstance(label, list):
            found_in = [{"label": str(entry) if type(entry) is int else entry} for entry in label]
            labels = tuple(text_field(entry, "label", f"{where}: {names[1]}") for entry in found_in)
            yield LabelledText(where, text, "", second, labels=labels, id=own)
            continue
        yield LabelledText(where, text, _name(row, names[1], where), second, id=own)


def _name(row: Any, field: str, where: str) -> str:
    """A field that holds text or a whole number."""
    value = row.get(named(row, field))
    return str(value) if type(value) is int else text_field(row, field, where)


def _mixed(label: object, field: str, where: str, source: LabelledSource) -> str:
    """The error for a label that must not be a list but is one, or must be one but is not."""
    if isinstance(label, list):
        set_to = "null, one label per text" if source.multi_label is None else repr(source.multi_label)
        return (
            f"{where}: field {field!r} is a list, but multi_label is {set_to}; set multi_label: list and give every "
            f"text a list {_MULTI_LABEL.format('list')}"
        )
    return (
        f"{where}: field {field!r} is of type {type(label).__name__}, but multi_label: list needs a list in every row: "
        f"[] for a text without labels; if each text has one label, set multi_label: null {_MULTI_LABEL.format('null')}"
    )


def _folders(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[LabelledText]:
    if file.parent == located(source.path):
        raise InputError(f"{file}: is in no folder of a label; put it into <label>/ (layout: folders)")
    lines = numbered_lines(file, source, facts)
    if source.texts == "line":
        yield from (LabelledText(f"{file}:{number}", line, file.parent.name) for number, line in lines)
    elif text := " ".join(line.strip() for _, line in lines):
        yield LabelledText(f"{file}:1", text, file.parent.name)
    else:
        facts.nothing_in(file)


def _trees(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[LabelledText]:
    for start, text in _bracketed(file, source, facts):
        where = f"{file}:{start}"
        try:
            tree = parse_tree(text)
        except ValueError as error:
            raise InputError(f"{where}: {error}") from error
        if (label := tree.label[-1]) is None:
            raise InputError(f"{where}: the tree has no label at its root; (label left right) is needed")
        yield LabelledText(where, " ".join(tree.words), label, None, tree)


def _bracketed(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[tuple[int, str]]:
    """Each tree as one line, with the number of its first line: lines go on while brackets are open."""
    open_, start, parts = 0, 0, list[str]()
    for number, line in numbered_lines(file, source, facts):
        if open_ > 0 and line.startswith("("):  # a continued line is indented
            break
        start = start if parts else number
        parts.append(_SPACE_IN_WORD.sub("_", line).replace("\\/", "/").strip())
        open_ += line.count("(") - line.count(")")
        if open_ <= 0:
            yield start, " ".join(parts)
            open_, parts = 0, []
    if parts:
        raise InputError(f"{file}:{start}: {open_} bracket(s) of this tree are not closed")


def _conllu(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[LabelledText]:
    lines = read_lines(file, facts, source.max_line_bytes, source.encoding)
    for sentence in sentences(file, CONLLU, lines):
        labels = [match[1] for comment in sentence.comments if (match := _LABEL.fullmatch(comment.strip()))]
        where = f"{file}:{sentence.lines[0]}"
        if len(labels) != 1:
            raise InputError(f"{where}: {len(labels)} comments '# label = …' above the sentence; one is needed")
        words = sentence.column(CONLLU.form)
        yield LabelledText(where, " ".join(words), labels[0], None, None, heads_of(sentence, CONLLU))


_LAYOUTS: dict[str, Callable[[File, LabelledSource, FileFacts], Iterator[LabelledText]]] = {
    "columns": _columns,
    "fields": _fields,
    "folders": _folders,
    "trees": _trees,
    "conllu": _conllu,
}
