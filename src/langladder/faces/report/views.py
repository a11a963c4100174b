"""What rungs did with the same words, side by side: continuations, neighbours, translations, analogy sections.

Rungs may have been asked different things (one was evaluated with older prompts): rows are the union, in the order of
first mention, and a rung that lacks one has `None` there.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from langladder.faces.report.entries import Entry

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True)
class Aligned(Generic[K, V]):
    """A row a key; in each row a value or `None` for each rung of `rungs`, which are (name, title)."""

    rungs: list[tuple[str, str]]
    rows: list[tuple[K, list[V | None]]]


def aligned(rungs: Sequence[Entry[Any]], items: Callable[[Any], Iterable[tuple[K, V]]]) -> Aligned[K, V]:
    """`items` gives the keys and values of a rung's page."""
    columns = [dict(items(rung.page)) for rung in rungs]
    keys = dict.fromkeys(key for column in columns for key in column)
    names = [(rung.name, rung.title) for rung in rungs]
    return Aligned(names, [(key, [column.get(key) for column in columns]) for key in keys])
