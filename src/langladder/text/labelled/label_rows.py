"""The rows of labelled files, layout by layout: a text, or two, and its label, with the place where it stands.

columns     text TAB label                       first_word  DESC:manner How did serfdom develop ?
fields      {"text": …, "label": …}              trees       (4 (2 a) (4 (3 lovely) (2 film)))
folders     positive/17.txt                      conllu      # label = positive, then a word a line with its head
files       pos.txt, a text a line
"""

import csv
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from langladder.errors import InputError
from langladder.remote import File, located
from langladder.text.labelled.conll import heads_of, sentences
from langladder.text.labelled.label_sources import AUTO, LabelledSource, Place, TagColumns
from langladder.text.labelled.trees import Tree, parse_tree
from langladder.text.read.lines import FileFacts, read_lines
from langladder.text.read.records import json_row, named, parquet_rows, text_field
from langladder.text.read.sources import format_of

CONLLU = TagColumns(id=0, form=1, tag=3, head=6)
_LABEL = re.compile(r"#\s*label\s*=\s*(.*)")
_SPACE_IN_WORD = re.compile(r"[^\S \t]")  # a no-break space, as in 8 1/2
_CONFIG = "(conf/labels)"
DELIMITERS = (",", ";", "\t", "|")  # that a table may have instead of the one that is expected


class Row(NamedTuple):
    """A labelled text as its file has it. where: "file:line"."""

    where: str
    text: str
    label: str
    second: str | None = None
    tree: Tree | None = None
    heads: tuple[int, ...] | None = None


def rows(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[Row]:
    """The rows of a file, texts and labels without outer space.

    Raises:
        InputError: the file, or a line of it, is not what its layout wants; a text or a label is empty.
    """
    for row in _LAYOUTS[_layout(file, source)](file, source, facts):
        label = row.label.partition(source.label_before)[0] if source.label_before else row.label
        texts = [row.text.strip(), None if row.second is None else row.second.strip()]
        if not label.strip() or "" in texts:
            raise InputError(
                f"{row.where}: an empty {'label' if not label.strip() else 'text'}; fill it in, or take it out"
            )
        yield row._replace(text=_one_line(texts[0]), label=_one_line(label.strip()), second=_one_line(texts[1]))


def _one_line(text: Any) -> Any:
    return text and " ".join(text.splitlines())


def _layout(file: File, source: LabelledSource) -> str:
    if source.layout != "auto":
        return source.layout
    ending = file.name.lower().removesuffix(".gz").rpartition(".")[2]
    if source.format in ("jsonl", "parquet"):
        return "fields"
    if ending in AUTO:
        return AUTO[ending]
    if located(source.path).is_dir() and file.parent != located(source.path):
        return "folders"
    raise InputError(
        f"{file}: its name does not say where the labels stand; set layout to first_word (label text), files (a file a "
        f"label), trees or columns {_CONFIG}"
    )


def _lines(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    lines = read_lines(file, facts, source.max_line_bytes, source.encoding)
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _columns(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[Row]:
    comma = file.name.lower().removesuffix(".gz").endswith(".csv")
    delimiter = source.delimiter or ("," if comma else "\t")
    csv.field_size_limit(source.max_line_bytes)
    head: list[str] = []  # the first line that is not blank
    lines = _ended(read_lines(file, facts, source.max_line_bytes, source.encoding), head)
    if delimiter == "\t":  # a quote is a character like any other
        table = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
    else:
        table = csv.reader(lines, delimiter=delimiter, strict=True)
    wanted = [place for place in (source.text, source.label, source.second) if place is not None]
    at: list[int] = []
    width = 0
    number = 1
    try:
        for cells in table:
            where = f"{file}:{number}"
            number = table.line_num + 1
            if not "".join(cells).strip():
                continue
            if not at:
                _check_delimiter(where, head[0], cells, wanted, delimiter)
                at, width = _places(where, cells, wanted), len(cells)
                if isinstance(wanted[0], str):
                    continue
            if len(cells) != width:
                raise InputError(
                    f"{where}: {len(cells)} columns, but the first line has {width} (separated by {delimiter!r})"
                )
            yield Row(where, cells[at[0]], cells[at[1]], cells[at[2]] if len(at) > 2 else None)
    except csv.Error as error:
        if not at:
            _check_delimiter(f"{file}:{number}", head[0], [], wanted, delimiter)
        raise InputError(f"{file}:{number}: not a table ({error}; columns are separated by {delimiter!r})") from error


def _ended(lines: Iterator[str], head: list[str]) -> Iterator[str]:
    """Lines with their ends, as `csv` wants them; the first that is not blank is put into `head`."""
    for line in lines:
        if not head and line.strip():
            head.append(line)
        yield f"{line}\n"


def _check_delimiter(where: str, line: str, cells: list[str], wanted: list[Place], delimiter: str) -> None:
    """Raise InputError where the first line has the wanted columns if it is cut at another character."""
    if cells and not _lacking(cells, wanted):
        return
    for other in DELIMITERS:
        if other != delimiter and not _lacking([cell.strip().strip('"') for cell in line.split(other)], wanted):
            said = f"the columns are separated by {other!r}, not by {delimiter!r}"
            raise InputError(f"{where}: {said}; set delimiter: {json.dumps(other)} {_CONFIG}")


def _places(where: str, first: list[str], wanted: list[Place]) -> list[int]:
    """The numbers of the wanted columns."""
    names = [cell.strip() for cell in first]
    for place in _lacking(names, wanted):
        alike = [name for name in names if isinstance(place, str) and name.casefold() == place.casefold()]
        if alike:
            said = f"{len(alike)} columns may be {place!r}: {', '.join(alike)[:200]}"
            raise InputError(f"{where}: {said}; rename all but one, or name the one that is wanted {_CONFIG}")
        raise InputError(
            f"{where}: no column {place!r}; the first line has {', '.join(names)[:200]!r}. Say which columns hold "
            f"text and label: by name, or by number from 0 where the first line has no names {_CONFIG}"
        )
    found = [place if isinstance(place, int) else names.index(str(named(names, place))) for place in wanted]
    if len(set(found)) < len(found):
        raise InputError(f"{where}: {', '.join(map(repr, wanted))} are not columns of their own; name others {_CONFIG}")
    return found


def _lacking(names: list[str], wanted: list[Place]) -> list[Place]:
    """The wanted columns that are not there, or more than once."""
    names = [name.strip() for name in names]
    return [
        place
        for place in wanted
        if (place >= len(names) if isinstance(place, int) else names.count(place) > 1 or named(names, place) is None)
    ]


def _fields(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[Row]:
    wanted = [source.text, source.label, *([] if source.second is None else [source.second])]
    names = [name for name in wanted if isinstance(name, str)]
    if len(names) < len(wanted):
        raise InputError(f"{file}: has fields, not columns; text: and label: are to be their names {_CONFIG}")
    if format_of(file, source.format) == "parquet":
        found = ((f"{file}, row {number}", row) for number, row in parquet_rows(file, names, facts))
    else:
        lines = _lines(file, source, facts)
        found = ((f"{file}:{number}", json_row(file, number, line)) for number, line in lines)
    for where, row in found:
        second = text_field(row, names[2], where) if len(names) > 2 else None
        yield Row(where, text_field(row, names[0], where), _label_field(row, names[1], where), second)


def _label_field(row: Any, name: str, where: str) -> str:
    """A label, text or a whole number."""
    value = row.get(named(row, name)) if isinstance(row, dict) else None
    return str(value) if type(value) is int else text_field(row, name, where)


def _folders(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[Row]:
    if file.parent == located(source.path):
        raise InputError(f"{file}: stands in no folder of a label; put it into <label>/ (layout: folders)")
    lines = list(_lines(file, source, facts)) if source.texts == "file" else None
    if lines == []:  # nothing, or blank lines alone
        facts.nothing_in(file)
    elif lines is not None:
        yield Row(f"{file}:1", " ".join(line.strip() for _, line in lines), file.parent.name)
    else:
        yield from (Row(f"{file}:{number}", line, file.parent.name) for number, line in _lines(file, source, facts))


def _files(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[Row]:
    label = file.name.removesuffix(".gz").removesuffix(".txt").removesuffix(".text")
    yield from (Row(f"{file}:{number}", line, label) for number, line in _lines(file, source, facts))


def _first_word(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[Row]:
    for number, line in _lines(file, source, facts):
        label, _, text = line.strip().partition(" ")
        yield Row(f"{file}:{number}", text, label)


def _trees(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[Row]:
    for start, text in _bracketed(file, source, facts):
        where = f"{file}:{start}"
        try:
            tree = parse_tree(text)
        except ValueError as error:
            raise InputError(f"{where}: {error}") from error
        if (label := tree.label[-1]) is None:
            raise InputError(f"{where}: the tree has no label at its root; (label left right) is wanted")
        yield Row(where, " ".join(tree.words), label, None, tree)


def _bracketed(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[tuple[int, str]]:
    """Each tree as one line, with the number of its first line: lines go on while brackets are open."""
    open_, start, parts = 0, 0, list[str]()
    for number, line in _lines(file, source, facts):
        if open_ > 0 and line.startswith("("):  # a line that goes on is indented
            break
        start = start if parts else number
        parts.append(_SPACE_IN_WORD.sub("_", line).replace("\\/", "/").strip())
        open_ += line.count("(") - line.count(")")
        if open_ <= 0:
            yield start, " ".join(parts)
            open_, parts = 0, []
    if parts:
        raise InputError(f"{file}:{start}: {open_} bracket(s) of this tree are not closed")


def _conllu(file: File, source: LabelledSource, facts: FileFacts) -> Iterator[Row]:
    lines = read_lines(file, facts, source.max_line_bytes, source.encoding)
    for sentence in sentences(file, CONLLU, lines):
        labels = [match[1] for comment in sentence.comments if (match := _LABEL.fullmatch(comment.strip()))]
        where = f"{file}:{sentence.lines[0]}"
        if len(labels) != 1:
            raise InputError(f"{where}: {len(labels)} comments '# label = …' above the sentence; one is wanted")
        words = sentence.column(CONLLU.form)
        yield Row(where, " ".join(words), labels[0], None, None, heads_of(sentence, CONLLU))


_LAYOUTS: dict[str, Callable[[File, LabelledSource, FileFacts], Iterator[Row]]] = {
    "columns": _columns,
    "fields": _fields,
    "folders": _folders,
    "files": _files,
    "first_word": _first_word,
    "trees": _trees,
    "conllu": _conllu,
}
