"""Models that follow instructions in the report, of the families `instruct` and `align`: they share their sections.

A tournament (who wins against whom on the same prompts), the alignment tax (how well a model still predicts plain
text, beside its base), rewards over how far a policy has gone, sampled dialogues.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from langladder.evaluation.instructed import GoldScores, InstructedPage, SampleDialogue
from langladder.evaluation.language_model import LanguageModelPage
from langladder.evaluation.page import Interval
from langladder.evaluation.tournament import Standing, tournament
from langladder.faces.report import numbers
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.labels import ranked
from langladder.faces.report.over_optimisation import courses, fitted, picture_of
from langladder.faces.report.section import Section, drawn_lines
from langladder.faces.report.selection import BESIDE, Aligned, Choice, Loss, aligned, choice

KINDS_BESIDE = 4

SHOWN = 10

SPLITS = {
    "test": "Test prompts",
    "unseen": "Kinds of instruction that were never shown",
    "reworded": "Kinds that were shown, in words that were not",
}
"""The sets of prompts, as `evaluation.instructed` has them, and what they are called."""


def loss(page: InstructedPage) -> float | None:
    """1 − the gold reward; None where there is no gold judge."""
    gold = page.scores["test"].gold if "test" in page.scores else None
    return None if gold is None else 1 - gold.reward


def headline(inputs: ReportInputs, family: str) -> tuple[str, str] | None:
    """Which answers best, and how well."""
    rungs = [rung for rung in inputs.rungs_with(family, InstructedPage) if loss(rung.page) is not None]
    if not rungs:
        return None
    best = min(rungs, key=lambda rung: loss(rung.page) or 0.0)
    found = best.page.scores["test"].gold
    assert found is not None
    text = f"{best.title}, whose answers have a mean gold reward of {found.reward:.3f} of 1"
    return "Best at following instructions", text


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Who wins against whom, kind by kind, what it costs elsewhere; gold beside proxy; what they answer."""
    rungs = inputs.rungs_with(family, InstructedPage)
    context: dict[str, Any] = {
        "tournaments": list(tournaments(rungs)),
        "kinds": kinds(rungs),
        "chosen": choice(rungs, loss, KINDS_BESIDE),
        "taxes": taxes(inputs, rungs),
    }
    if context["tournaments"] or context["kinds"].rows or context["taxes"]:
        yield Section("instructed", "Instructed models compared", "instructed.html.j2", context)
    if found := courses(rungs):
        plot = picture_of(found, loss)
        context = {"plot": plot and drawn_lines(plot), "fits": fitted(found)}
        yield Section("over-optimisation", "Gold and proxy reward", "over_optimisation.html.j2", context)
    if answering := [rung for rung in rungs if rung.page.samples]:
        context = {"said": dialogues(answering), "chosen": beside(answering, loss)}
        yield Section("dialogues", "What the instructed models answer", "dialogues.html.j2", context)


def kinds(rungs: Sequence[Entry[InstructedPage]]) -> Aligned[tuple[str, str, int], GoldScores]:
    """A row a kind: (kind, split where that is not the test, prompts)."""

    def of(page: InstructedPage) -> Iterable[tuple[tuple[str, str, int], GoldScores]]:
        for split, scores in page.scores.items():
            for one in scores.per_kind:
                if one.gold is not None:
                    yield (one.kind, "" if split == "test" or split == one.kind else split, one.prompts), one.gold

    return aligned(rungs, of)


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
    return Tournament(title, len(rewards[0]), rows, _leads(rows), others)


def _match(one: Standing, other: int) -> Match | None:
    share, interval = one.wins[other], one.intervals[other]
    if share is None or interval is None:
        return None
    return Match(f"{100 * share:.1f}", _between(interval, numbers.share), interval[0] > 0.5)


def _between(interval: Interval, style: numbers.Style) -> str:
    return f"{style(interval[0])} to {style(interval[1])}"


def _leads(rows: Sequence[Placed]) -> str:
    first, second = rows[0], rows[1]
    match = first.matches[1]
    assert match is not None
    if match.wins:
        return f"{first.title} leads: against {second.title}, the next, it wins {match.share} % ({match.interval})."
    return (
        f"{first.title} leads with {first.rating} points, and chance may explain it: against {second.title}, the next, "
        f"it wins {match.share} % ({match.interval})."
    )


@dataclass(frozen=True)
class Tax:
    """Perplexity per word of the test text, before and after; change in per cent."""

    title: str
    base: str
    before: str
    after: str
    change: str


def taxes(inputs: ReportInputs, rungs: Sequence[Entry[InstructedPage]]) -> list[Tax]:
    """Of the rungs whose base is in the report; those that kept its weights (best-of-n) are left out."""
    bases = {f"{family.name}/{rung.page.name}": rung for family in inputs.families for rung in inputs.of(family.name)}
    found = []
    for rung in rungs:
        base = bases.get(rung.metadata.base or "")
        before = None if base is None else perplexity(base.page)
        after = perplexity(rung.page)
        if base is None or before is None or after is None or rung.page.method == "best_of_n":
            continue
        change = 100 * (after / before - 1)
        sign = "" if abs(change) < 0.05 else "+" if change > 0 else "−"
        found.append(
            Tax(
                rung.title,
                base.title,
                numbers.perplexity(before),
                numbers.perplexity(after),
                sign + numbers.percent(abs(change)),
            )
        )
    return found


def perplexity(page: Any) -> float | None:
    """Per word of the test text; None of what was not asked to predict it."""
    if isinstance(page, LanguageModelPage):
        return page.scores.perplexity_per_word
    return page.text.perplexity_per_word if isinstance(page, InstructedPage) and page.text is not None else None


@dataclass(frozen=True)
class Answer:
    """An answer; verdict: what is said of it, in a line; followed: nothing is wrong with it."""

    text: str
    verdict: str
    followed: bool


def dialogues(rungs: Sequence[Entry[InstructedPage]]) -> Aligned[tuple[str, str], Answer]:
    """A row a prompt, (kind, prompt): `SHOWN` of them, evenly from all that were kept."""
    found = aligned(rungs, lambda page: (((one.kind, one.prompt), _answer(one)) for one in page.samples))
    rows = np.linspace(0, len(found.rows) - 1, min(SHOWN, len(found.rows))).round().astype(int).tolist()
    return Aligned(found.rungs, [found.rows[row] for row in rows])


def beside(rungs: Sequence[Entry[InstructedPage]], loss: Loss) -> Choice:
    """Which stand there first: the best that was not aligned, so that what alignment changed is seen, and the best."""
    best = ranked(rungs, loss)
    plain = [rung.name for rung in best if rung.page.method == "sft"][:1]
    kept = [*plain, *(rung.name for rung in best if rung.name not in plain)][:BESIDE]
    return replace(choice(rungs, loss, BESIDE), chosen=[rung.name for rung in rungs if rung.name in kept])


def _answer(one: SampleDialogue) -> Answer:
    said = [] if one.gold is None else [f"gold {one.gold:.2f}"]
    said += [f"{part} {value:.2f}" for part, value in one.parts.items() if part != "followed" and value < 1]
    said += [] if one.proxy is None else [f"proxy {one.proxy:.2f}".replace("-", "−")]
    return Answer(one.answer, " · ".join(said), one.parts.get("followed", 0.0) == 1)
