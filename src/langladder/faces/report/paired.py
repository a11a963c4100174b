"""Which rungs differ on the same test items: one test decides every sentence of the report that compares two rungs.

Each two rungs of a kind are compared by McNemar's exact test where they get an item right or wrong, and by the paired
randomisation test where there is more than that, see `evaluation.significance`. p is adjusted for the number of pairs
(Holm 1979). Two rungs differ where p is at most 5 %. Of a rung with several seeds the first training is tested; then
the mean scores must also differ by more than the seeds let expect: by √(s² + s'²), with s half of the 95 % interval
over the seeds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import hypot
from typing import NamedTuple

import numpy as np

from langladder.evaluation.page import Page
from langladder.evaluation.significance import LEVEL, holm, mcnemar, paired_randomisation
from langladder.faces.report import numbers
from langladder.faces.report.inputs import Entry, P
from langladder.faces.report.selection import ranked

NAMED = 5
"""Rungs that a sentence names one by one."""

MCNEMAR, RANDOMISATION = "McNemar's exact test", "Paired randomisation test"


class Pair(NamedTuple):
    """Two rungs on the same items.

    Attributes:
        p: adjusted. ahead: whether the first gets more of the items right.
        over_seeds: whether its mean score is ahead by more than the seeds let expect; true if both were trained once.
    """

    p: float
    ahead: bool
    over_seeds: bool

    @property
    def differs(self) -> bool:
        """Whether the first is better, not by chance."""
        return self.ahead and self.p <= LEVEL and self.over_seeds


Pairs = Mapping[tuple[str, str], Pair]
"""Names of two rungs, in both orders, → their test. Rungs that are not judged by the same items are not there."""


def tested(rungs: Sequence[Entry[P]]) -> Pairs:
    """Each two rungs of a kind compared on the same items."""
    pairs: dict[tuple[str, str], Pair] = {}
    pages = {rung.name: rung.page for rung in rungs}
    for group in dict.fromkeys(rung.page.judged_among for rung in rungs):
        scores = _scores([rung for rung in rungs if rung.page.judged_among == group])
        values = {(a, b): _p(scores[a], scores[b]) for a, b in combinations(scores, 2)}
        for (a, b), p in holm(values).items():
            gain = sum(scores[a]) - sum(scores[b])
            pairs[a, b] = Pair(p, gain > 0, _over_seeds(pages[a], pages[b]))
            pairs[b, a] = Pair(p, gain < 0, _over_seeds(pages[b], pages[a]))
    return pairs


def _over_seeds(page: Page, other: Page) -> bool:
    """Whether a mean score is ahead of another by more than √(s² + s'²); true where both were trained once."""
    if max(page.seeds, other.seeds) == 1:
        return True
    figure = type(page).item_figure
    ahead: float = page.figures()[figure] - other.figures()[figure]
    return ahead > hypot(page.spread.get(figure, 0.0), other.spread.get(figure, 0.0))


def _scores(rungs: Sequence[Entry[P]]) -> dict[str, tuple[float, ...]]:
    """How much each rung gets right of each item; a rung that was judged on fewer items is left out."""
    scores = {rung.name: tuple(rung.page.item_scores) for rung in rungs}
    items = max(map(len, scores.values()), default=0)
    return {name: score for name, score in scores.items() if items and len(score) == items}


@lru_cache(maxsize=10_000)  # sections, advice and the rungs' pages ask for the same pairs
def _p(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    binary = {*first, *second} <= {0, 1}
    first_scores, other = np.array(first), np.array(second)
    return mcnemar(first_scores == 1, other == 1) if binary else paired_randomisation(first_scores, other)


@dataclass(frozen=True)
class Difference:
    """A better rung against a worse one: the difference in points, p, whether it counts as a difference."""

    difference: str
    p: str
    differs: bool


@dataclass(frozen=True)
class Paired:
    """Rungs against each other, the best first.

    Attributes:
        rows: of each rung its title, its score as shown, and for each rung below it how they compare.
        sentence: which rungs are best and cannot be told apart.
        test: its name. items: how many the test has; comparisons: how many pairs were tested.
        seeds: whether a score is the mean over several trainings, of which the first alone is tested.
    """

    rows: list[tuple[str, str, list[Difference]]]
    sentence: str
    test: str
    items: int
    comparisons: int
    seeds: bool = False


def paired(rungs: Sequence[Entry[P]], score: Callable[[P], float]) -> Paired | None:
    """Every two rungs compared on the same test; None where there are no two.

    Args:
        rungs: of which all are judged among each other.
        score: of a page, 0..1, the higher the better: what is shown.
    """
    scores, pairs = _scores(rungs), tested(rungs)
    order = ranked([rung for rung in rungs if rung.name in scores], lambda page: -score(page))
    if len(order) < 2:
        return None
    rows = []
    for index, rung in enumerate(order):
        below = [
            Difference(
                f"{100 * (score(rung.page) - score(other.page)):+.1f}".replace("+0.0", "0.0"),
                numbers.p_value(pairs[rung.name, other.name].p),
                pairs[rung.name, other.name].differs,
            )
            for other in order[index + 1 :]
        ]
        rows.append((rung.marked, numbers.share(score(rung.page)), below))
    test = MCNEMAR if all({*score} <= {0, 1} for score in scores.values()) else RANDOMISATION
    items = len(scores[order[0].name])
    return Paired(rows, _sentence(rows), test, items, len(pairs) // 2, any(rung.page.seeds > 1 for rung in order))


def _sentence(rows: Sequence[tuple[str, str, list[Difference]]]) -> str:
    best, score, below = rows[0]
    level = f"{100 * LEVEL:.0f} %"
    equal = [title for (title, _, _), compared in zip(rows[1:], below, strict=True) if not compared.differs]
    if not equal:
        return f"{best} ({score}) is better than every other rung, at the level of {level}."
    named = equal if len(equal) <= NAMED else [*equal[: NAMED - 1], f"{len(equal) - NAMED + 1} more"]
    text = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    others = "; it is better than all others" if len(equal) < len(rows) - 1 else ""
    return f"{best} ({score}) cannot be told apart from {text} at the level of {level}{others}."
