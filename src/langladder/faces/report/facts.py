"""Any JSON report as small tables, so that the page shows what a stage reports without knowing its keys.

A mapping's plain values become one list of facts. A few like mappings (train, validation, test) stand side by side, a
column each; many (drops by reason) below each other, a row each, as do lists of mappings. What is nested deeper becomes
a part of its own under a heading.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langladder.faces.report.enclosed import plain
from langladder.faces.report.numbers import DASH, significant, whole

SIDE_BY_SIDE = 4
MAX_ROWS = 40  # of a grid or a list; the file holds the rest


_NUMBER = re.compile(r"[−-]?[\d,.]+(e[+-]?\d+)?|–")


@dataclass(frozen=True)
class Block:
    """One heading with its facts (name, value), or one grid: columns and rows."""

    title: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    left_out: int = 0  # rows that are not shown

    @property
    def numeric(self) -> bool:
        """Whether all that stands beside the first column is numbers, to be set flush right."""
        return all(_NUMBER.fullmatch(text) for row in self.rows for text in row[1:])


def blocks(report: Any, title: str = "") -> list[Block]:
    """The report in reading order."""
    if not isinstance(report, Mapping):
        report = {title or "value": report}
    plain = [(words(key), show(value)) for key, value in report.items() if _is_plain(value)]
    found = [Block(title, facts=plain)] if plain else []
    for key, value in report.items():
        if not _is_plain(value):
            found += _nested(f"{title}: {words(key)}" if title else words(key), value)
    return found


def _nested(title: str, value: Any) -> list[Block]:
    if isinstance(value, list):
        rows = [row if isinstance(row, Mapping) else {"": row} for row in value]
        columns = _keys(rows)
        return [_grid(title, list(map(words, columns)), [[show(row.get(key)) for key in columns] for row in rows])]
    if not all(isinstance(row, Mapping) and row for row in value.values()):
        return blocks(value, title)
    if _are_alike(value) and len(value) <= SIDE_BY_SIDE:
        return _compared(title, value)
    columns = _keys(value.values())
    if all(_is_plain(cell) for row in value.values() for cell in row.values()):
        cells = [[words(name), *(show(row.get(key)) for key in columns)] for name, row in value.items()]
        return [_grid(title, ["", *map(words, columns)], cells)]
    return blocks(value, title)


def _compared(title: str, sides: Mapping[str, Mapping[str, Any]]) -> list[Block]:
    """Like mappings side by side: a row a key, a column a mapping."""
    rows, deeper = [], []
    for key in _keys(sides.values()):
        values = {name: side.get(key) for name, side in sides.items()}
        if all(map(_is_plain, values.values())):
            rows.append([words(key), *map(show, values.values())])
        elif all(value is None or isinstance(value, Mapping) for value in values.values()):
            deeper += _compared(f"{title}: {words(key)}", {name: value or {} for name, value in values.items()})
        else:
            deeper += blocks({f"{name} {words(key)}": value for name, value in values.items()}, title)
    return ([_grid(title, ["", *map(words, sides)], rows)] if rows else []) + deeper


def _grid(title: str, columns: list[str], rows: list[list[str]]) -> Block:
    return Block(title, columns=columns, rows=rows[:MAX_ROWS], left_out=max(0, len(rows) - MAX_ROWS))


def _keys(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def _are_alike(value: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether there are several, each has at least half of all keys, and as rows they would be too wide or nested."""
    keys = len(_keys(value.values()))
    nested = any(isinstance(cell, Mapping) and cell for row in value.values() for cell in row.values())
    return len(value) > 1 and all(2 * len(row) >= keys for row in value.values()) and (nested or keys > len(value))


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return not value
    return not isinstance(value, list) or not any(isinstance(item, Mapping | list) for item in value)


def words(key: object) -> str:
    """`unknown_rate` → `unknown rate`."""
    return str(key).replace("_", " ")


def show(value: Any) -> str:
    """One value in a cell."""
    if value is None:
        return DASH
    if value in ({}, []):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return whole(value)
    if isinstance(value, float):
        return significant(value)
    if isinstance(value, list):
        shown = " · ".join(plain(show(item)) for item in value[:MAX_ROWS])
        return shown + (" …" if len(value) > MAX_ROWS else "")
    if isinstance(value, Mapping):
        return ", ".join(f"{words(key)} {show(item)}" for key, item in value.items())
    text = str(value)
    core = text.strip(" ")  # a token may begin with a space: show it
    start = len(text) - len(text.lstrip(" "))
    return "␣" * start + core + "␣" * (len(text) - start - len(core))
