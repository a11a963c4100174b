"""Rungs side by side: which the page shows at first, and what each did with the same items.

Where all rungs would be too many, the best of each approach are shown, then the next best. The reader chooses others
with the page's script; without it everything stands on the page, and these are picked out.

Rungs may have been asked different things (one was evaluated with older prompts): rows are the union, in the order of
first mention, and a rung that lacks one has `None` there.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Generic, TypeVar

from langladder.faces.report.inputs import Entry, P

COLOURED = 6  # lines of one plot: as many as there are colours (`plots.SERIES`)

FLOOR = 1
"""The colour of the floor, and of what is wrong; a rung has it where no other is left."""

APPROACHES: Mapping[int, tuple[str, ...]] = {
    0: ("n-grams", "bags of n-grams", "counts", "counted", "counting labels", "hand-made features", "matching words"),
    5: ("window", "feed-forward", "bag of vectors", "prediction", "fitted to counts", "without text"),
    4: ("convolutional",),
    2: ("recurrent", "recurrent with attention", "trees"),
    3: ("Transformer",),
}
"""Number of a colour (`plots.SERIES`) → the approaches that have it, on the whole page."""

BESIDE = 3  # columns of text that can be read side by side

Loss = Callable[[P], float | None]
"""Of a page: a rung is better the lower it is; None where nothing was measured."""


@dataclass(frozen=True)
class Choice:
    """Rungs to choose from, by approach, as (name, title); those shown at first; how many can be shown together."""

    approaches: list[tuple[str, list[tuple[str, str]]]]
    chosen: list[str]
    most: int

    @property
    def titles(self) -> dict[str, str]:
        """The title of each rung."""
        return {name: title for _, rungs in self.approaches for name, title in rungs}

    @property
    def hues(self) -> dict[str, int | None]:
        """The colour of each rung's approach, of those shown together; None: it has none of its own."""
        return {name: hue_of(approach) for approach, rungs in self.approaches for name, _ in rungs}

    @property
    def colours(self) -> dict[str, int]:
        """The colour of each shown rung."""
        return colours_of({name: self.hues[name] for name in self.chosen})

    @property
    def open(self) -> bool:
        """Whether there is anything to choose."""
        return len(self.titles) > len(self.chosen)


def hue_of(approach: str) -> int | None:
    """The colour of an approach; None of one that `APPROACHES` does not name: a plug-in's."""
    return next((hue for hue, names in APPROACHES.items() if approach in names), None)


def colours_of(hues: Mapping[str, int | None]) -> dict[str, int]:
    """The colour of each rung in the report and the explorer: the first of an approach has that of its approach.

    The others have what is free then. The page's script does the same.

    Args:
        hues: rung → the colour of its approach, if it has one.
    """
    colours: dict[str, int] = {}
    for name, hue in hues.items():
        if hue is not None and hue not in colours.values():
            colours[name] = hue
    free = [hue for hue in (*APPROACHES, FLOOR) if hue not in colours.values()]
    others = [name for name in hues if name not in colours]
    return colours | dict(zip(others, cycle(free or [FLOOR]), strict=False))


def ranked(rungs: Sequence[Entry[P]], loss: Loss[P]) -> list[Entry[P]]:
    """The best first; those without a figure last."""

    def key(rung: Entry[P]) -> tuple[bool, float]:
        value = loss(rung.page)
        return value is None, value or 0.0

    return sorted(rungs, key=key)


def choice(rungs: Sequence[Entry[P]], loss: Loss[P], initial: int, most: int = COLOURED) -> Choice:
    """A choice of `initial` rungs at first."""
    best = ranked(rungs, loss)
    first = {rung.approach or rung.name: rung.name for rung in reversed(best)}.values()  # the best of each approach
    order = [rung.name for rung in best if rung.name in first] + [rung.name for rung in best]
    kept = list(dict.fromkeys(order))[:initial]
    names = dict.fromkeys(rung.approach for rung in rungs)
    approaches = [(name, [(rung.name, rung.title) for rung in rungs if rung.approach == name]) for name in names]
    return Choice(approaches, [rung.name for rung in rungs if rung.name in kept], max(most, initial))


K = TypeVar("K", bound=Hashable)

V = TypeVar("V")


@dataclass(frozen=True)
class Aligned(Generic[K, V]):
    """A row a key; in each row a value or `None` for each rung of `rungs`, which are (name, title)."""

    rungs: list[tuple[str, str]]
    rows: list[tuple[K, list[V | None]]]


def aligned(rungs: Sequence[Entry[P]], items: Callable[[P], Iterable[tuple[K, V]]]) -> Aligned[K, V]:
    """`items` gives the keys and values of a rung's page."""
    columns = [dict(items(rung.page)) for rung in rungs]
    keys = dict.fromkeys(key for column in columns for key in column)
    names = [(rung.name, rung.marked) for rung in rungs]
    return Aligned(names, [(key, [column.get(key) for column in columns]) for key in keys])
