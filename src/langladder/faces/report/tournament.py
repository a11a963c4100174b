"""The tournament of instructed models: who wins against whom on the same prompts, and the rating of each."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langladder.evaluation.instructed import InstructedPage
from langladder.evaluation.page import Interval
from langladder.evaluation.tournament import Standing, tournament
from langladder.faces.report import numbers
from langladder.faces.report.entries import Entry

SPLITS = {
    "test": "Test prompts",
    "unseen": "Kinds of instruction that were never shown",
    "reworded": "Kinds that were shown, in words that were not",
}
"""The sets of prompts, as `evaluation.instructed` has them, and what they are called."""


@dataclass(frozen=True)
class Match:
    """How often one rung wins against another: the share, its interval, whether it does so beyond chance."""

    share: str
    interval: str
    wins: bool


@dataclass(frozen=True)
class Placed:
    """A rung in its place; of every rung, in the same order, the match against it, None against itself."""

    title: str
    rating: str
    interval: str
    matches: list[Match | None]


@dataclass(frozen=True)
class Tournament:
    """All rungs that answered the same prompts, the best first.

    Attributes:
        sentence: who leads, and whether the next one can be told apart.
        left_out: rungs that answered others.
    """

    title: str
    prompts: int
    rows: list[Placed]
    sentence: str
    left_out: list[str]


def tournaments(rungs: Sequence[Entry[InstructedPage]]) -> Iterable[Tournament]:
    """One for each set of prompts that two rungs answered."""
    for split, title in SPLITS.items():
        judged = [rung for rung in rungs if split in rung.page.scores and rung.page.scores[split].rewards]
        asked = Counter(rung.page.scores[split].asked for rung in judged)
        most = max(asked, key=lambda one: asked[one], default="")
        players = [rung for rung in judged if rung.page.scores[split].asked == most]
        if len(players) > 1:
            others = [rung.title for rung in judged if rung not in players]
            yield _played(title, split, players, others)


def _played(title: str, split: str, players: Sequence[Entry[InstructedPage]], others: list[str]) -> Tournament:
    rewards = [rung.page.scores[split].rewards or [] for rung in players]
    found = tournament(rewards)
    order = sorted(range(len(players)), key=lambda place: -found[place].rating)
    rows = [
        Placed(
            players[i].title,
            numbers.whole(found[i].rating),
            _between(found[i].interval, numbers.whole),
            [_match(found[i], j) for j in order],
        )
        for i in order
    ]
    return Tournament(title, len(rewards[0]), rows, _sentence(rows), others)


def _match(one: Standing, other: int) -> Match | None:
    share, interval = one.wins[other], one.intervals[other]
    if share is None or interval is None:
        return None
    return Match(f"{100 * share:.1f}", _between(interval, numbers.share), interval[0] > 0.5)


def _between(interval: Interval, style: numbers.Style) -> str:
    return f"{style(interval[0])} to {style(interval[1])}"


def _sentence(rows: Sequence[Placed]) -> str:
    first, second = rows[0], rows[1]
    match = first.matches[1]
    assert match is not None
    if match.wins:
        return f"{first.title} leads: against {second.title}, the next, it wins {match.share} % ({match.interval})."
    return (
        f"{first.title} leads with {first.rating} points, and chance may explain it: against {second.title}, the next, "
        f"it wins {match.share} % ({match.interval})."
    )
