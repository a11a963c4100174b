"""What the report tells of models that follow instructions: their table, of the families `instruct` and `align`.

Their sections show both families together: a tournament, rewards over how far a policy has gone, sampled dialogues.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langladder.evaluation.instructed import AnswerScores, GoldScores, InstructedPage
from langladder.faces.report import numbers
from langladder.faces.report.alignment_tax import taxes
from langladder.faces.report.choosing import choice
from langladder.faces.report.columns import Column, cost_columns, work_columns
from langladder.faces.report.dialogues import beside, dialogues
from langladder.faces.report.entries import Entry, Timing
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.over_optimisation import courses, fitted, picture_of
from langladder.faces.report.section import Section, drawn_lines
from langladder.faces.report.tournament import tournaments
from langladder.faces.report.views import Aligned, aligned

KINDS_BESIDE = 4


def loss(page: InstructedPage) -> float | None:
    """1 − the gold reward; None where there is no gold judge."""
    gold = page.scores["test"].gold if "test" in page.scores else None
    return None if gold is None else 1 - gold.reward


def _of(split: str, read: Callable[[AnswerScores], float | None]) -> Callable[[InstructedPage, Timing], float | None]:
    """A figure of a split; None where the split has no prompts."""
    return lambda page, _: read(page.scores[split]) if split in page.scores else None


def _gold(one: AnswerScores) -> float | None:
    return None if one.gold is None else one.gold.reward


def _part(name: str) -> Callable[[AnswerScores], float | None]:
    """A part of the gold reward."""
    return lambda one: None if one.gold is None else getattr(one.gold, name)


def _half_width(one: AnswerScores) -> float | None:
    interval = None if one.gold is None else one.gold.reward_interval
    return None if interval is None else (interval[1] - interval[0]) / 2


def _followed(one: AnswerScores) -> float | None:
    return None if one.greedy is None else one.greedy.followed


SCORES: tuple[Column[InstructedPage], ...] = (
    Column(
        "gold reward",
        "mean reward by the gold judge of an answer to each test prompt, drawn at temperature 1",
        _of("test", _gold),
        numbers.decimals(3),
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "±",
        "half the width of its 95 % interval, by drawing test prompts anew (bootstrap); not over seeds",
        _of("test", _half_width),
        numbers.decimals(3),
        None,
    ),
    Column(
        "unseen kinds",
        "the same on kinds of instruction that were never shown",
        _of("unseen", _gold),
        numbers.decimals(3),
        "higher",
        brief=True,
    ),
    Column(
        "reworded",
        "the same on kinds that were shown, in words that were not",
        _of("reworded", _gold),
        numbers.decimals(3),
        "higher",
    ),
    Column(
        "followed",
        "share of the greedy answers with which nothing is wrong; not measured of what chooses among answers",
        _of("test", _followed),
        numbers.share,
        "higher",
        brief=True,
    ),
    *(
        Column(name, f"{what}, mean over the test prompts", _of("test", _part(name)), numbers.decimals(3), "higher")
        for name, what in (
            ("grammatical", "part of the gold reward: the answer is a sentence of the grammar, or of the form asked"),
            ("true", "part of the gold reward: the world says so"),
            ("form", "part of the gold reward: it is what was asked for"),
            ("length", "part of the gold reward: it is as short as was asked"),
        )
    ),
    Column(
        "proxy reward",
        "mean reward by the reward model that the rung learnt from; comparable between rungs of one reward model",
        _of("test", lambda one: one.proxy),
        numbers.decimals(3),
        None,
        brief=True,
    ),
    Column(
        "KL",
        "how far whole answers are from those of the base, in nats",
        _of("test", lambda one: one.kl),
        numbers.decimals(2),
        None,
        brief=True,
    ),
    Column(
        "finished",
        "share of the answers that end by themselves",
        _of("test", lambda one: one.finished),
        numbers.share,
        None,
    ),
    Column("tokens", "mean length of an answer", _of("test", lambda one: one.tokens), numbers.decimals(1), None),
    Column(
        "distinct-1",
        "different words of all answers, as a share of all words",
        _of("test", lambda one: one.distinct_1),
        numbers.decimals(3),
        None,
    ),
    Column(
        "distinct-2",
        "different pairs of words of all answers, as a share of all pairs",
        _of("test", lambda one: one.distinct_2),
        numbers.decimals(3),
        None,
    ),
    Column(
        "perplexity of text",
        "per word of the test text, which is no dialogue: what alignment costs",
        lambda page, _: None if page.text is None else page.text.perplexity_per_word,
        numbers.perplexity,
        "lower",
        brief=True,
    ),
    Column("parameters", "numbers of the model", lambda page, _: page.parameters, numbers.compact, "lower"),
    *work_columns("token"),
    *cost_columns("tokens"),
)


def columns(pages: Sequence[InstructedPage]) -> tuple[Column[InstructedPage], ...]:
    """The columns; of proxy and KL where a rung has them."""
    scores = [one for page in pages for one in page.scores.values()]
    left_out = set() if any(one.proxy is not None for one in scores) else {"proxy reward"}
    left_out |= set() if any(one.kl is not None for one in scores) else {"KL"}
    return tuple(column for column in SCORES if column.title not in left_out)


def headline(inputs: ReportInputs, family: str) -> tuple[str, str] | None:
    """Which answers best, and how well."""
    rungs = [rung for rung in inputs.judged_alike(family, InstructedPage) if loss(rung.page) is not None]
    if not rungs:
        return None
    best = min(rungs, key=lambda rung: loss(rung.page) or 0.0)
    found = best.page.scores["test"].gold
    assert found is not None
    text = f"{best.title}, whose answers have a mean gold reward of {found.reward:.3f} of 1"
    return "Best at following instructions", text


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Who wins against whom, kind by kind, what it costs elsewhere; gold beside proxy; what they answer."""
    rungs = inputs.judged_alike(family, InstructedPage)
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
