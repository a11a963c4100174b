"""Models that follow instructions in the report, of the families `instruct` and `align`: they share their sections.
Reward models, which aligned ones learn from.

A tournament (who wins against whom on the same prompts), the alignment tax (how well a model still predicts plain
text, beside its base), sampled dialogues; over-optimisation: gold and proxy reward over √KL, with the forms that Gao et
al. (2022) fitted. Of reward models: their accuracy kind by kind, and how sure they may be.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes

from langladder.evaluation.instructed import GoldScores, InstructedPage, SampleDialogue
from langladder.evaluation.language_model import LanguageModelPage
from langladder.evaluation.over_optimisation import Form, RewardFit, fit_reward
from langladder.evaluation.page import Interval, Page
from langladder.evaluation.reward import KindScores, RewardPage
from langladder.evaluation.tournament import Standing, tournament
from langladder.faces.report import numbers
from langladder.faces.report.inputs import CurvePoint, Entry, ReportInputs
from langladder.faces.report.labels import reliability_plot
from langladder.faces.report.plots import LINE, LinePlot, Points, draw_line, line_of, line_plot
from langladder.faces.report.section import Section, drawn_lines
from langladder.faces.report.selection import BESIDE, COLOURED, Aligned, Choice, Loss, aligned, choice, ranked

KINDS_BESIDE = 4

LISTED = 10

SPLITS = {
    "test": "Test prompts",
    "unseen": "Kinds of instruction that were never shown",
    "reworded": "Kinds in training, with new wordings",
}
"""The sets of prompts, as `evaluation.instructed` has them, and what they are called."""

ENOUGH = 4  # points; fewer fit any form
CURVE_POINTS = 100  # of a fitted curve that is drawn
FORMS: dict[Form, str] = {"best_of_n": "d (α − β d)", "rl": "d (α − β log d)"}


def loss(page: InstructedPage | RewardPage) -> float | None:
    """1 − the gold reward, None where there is no gold judge; of a reward model the share of pairs ordered wrongly."""
    if isinstance(page, RewardPage):
        return 1 - page.scores["test"].accuracy if "test" in page.scores else None
    gold = page.scores["test"].gold if "test" in page.scores else None
    return None if gold is None else 1 - gold.reward


def headline(inputs: ReportInputs, family: str) -> tuple[str, str] | None:
    """Which answers best, and how well."""
    rungs = [rung for rung in inputs.rungs_with(family, InstructedPage) if loss(rung.page) is not None]
    if not rungs:
        return None
    best = min(rungs, key=lambda rung: loss(rung.page) or 0.0)
    gold = best.page.scores["test"].gold
    assert gold is not None
    text = f"{best.title_with_given}, whose answers have a mean gold reward of {gold.reward:.3f} of 1"
    return "Best at following instructions", text


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Those of models that follow instructions, then those of reward models."""
    yield from _instructed_sections(inputs, family)
    yield from _reward_sections(inputs, family)


def _instructed_sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Who wins against whom, kind by kind, what it costs elsewhere; gold beside proxy; what they answer."""
    rungs = inputs.rungs_with(family, InstructedPage)
    played, by_kind, paid = list(tournaments(rungs)), kinds(rungs), taxes(inputs, rungs)
    if played or by_kind.rows or paid:
        chosen = choice(rungs, loss, KINDS_BESIDE)
        context: dict[str, object] = {"tournaments": played, "kinds": by_kind, "chosen": chosen, "taxes": paid}
        yield Section("instructed", "Instructed models compared", "instructed.html.j2", context)
    if curves := courses(rungs):
        plot = picture_of(curves, loss)
        context = {"plot": plot and drawn_lines(plot), "fits": fitted(curves)}
        yield Section("over-optimisation", "Gold and proxy reward", "over_optimisation.html.j2", context)
    if answering := [rung for rung in rungs if rung.page.samples]:
        context = {"said": dialogues(answering), "chosen": beside(answering, loss)}
        yield Section("dialogues", "What the instructed models answer", "dialogues.html.j2", context)


def kinds(rungs: Sequence[Entry[InstructedPage]]) -> Aligned[tuple[str, str, int], GoldScores]:
    """A row a kind: (kind, split where that is not the test, prompts)."""

    def of(page: InstructedPage) -> Iterable[tuple[tuple[str, str, int], GoldScores]]:
        for split, scores in page.scores.items():
            for kind in scores.per_kind:
                if kind.gold is not None:
                    yield (kind.kind, "" if split == "test" or split == kind.kind else split, kind.prompts), kind.gold

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
        scored = [rung for rung in rungs if split in rung.page.scores and rung.page.scores[split].rewards]
        prompt_sets = Counter(rung.page.scores[split].asked for rung in scored)
        most = max(prompt_sets, key=lambda prompt_set: prompt_sets[prompt_set], default="")
        players = [rung for rung in scored if rung.page.scores[split].asked == most]
        if len(players) > 1:
            others = [rung.title for rung in scored if rung not in players]
            yield _played(title, split, players, others)


def _played(title: str, split: str, players: Sequence[Entry[InstructedPage]], others: list[str]) -> Tournament:
    rewards = [rung.page.scores[split].rewards or [] for rung in players]
    result = tournament(rewards)
    order = sorted(range(len(players)), key=lambda player: -result[player].rating)
    rows = [
        Placed(
            players[i].marked,
            numbers.whole(result[i].rating),
            _between(result[i].interval, numbers.whole),
            [_match(result[i], j) for j in order],
        )
        for i in order
    ]
    return Tournament(title, len(rewards[0]), rows, _leads(rows), others)


def _match(standing: Standing, other: int) -> Match | None:
    share, interval = standing.wins[other], standing.intervals[other]
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
        f"{first.title} leads with {first.rating} points, but this can be chance: against {second.title}, the next, "
        f"it wins {match.share} % ({match.interval})."
    )


@dataclass(frozen=True)
class Tax:
    """Perplexity per unit (word or grapheme) of the test text, before and after; change in per cent."""

    title: str
    base: str
    before: str
    after: str
    change: str
    unit: str


def taxes(inputs: ReportInputs, rungs: Sequence[Entry[InstructedPage]]) -> list[Tax]:
    """Of the rungs whose base is in the report; those that kept its weights (best-of-n) are left out."""
    bases = {f"{family.name}/{rung.page.name}": rung for family in inputs.families for rung in inputs.of(family.name)}
    results = []
    for rung in rungs:
        base = bases.get(rung.metadata.base or "")
        before = None if base is None else perplexity(base.page)
        after = perplexity(rung.page)
        if base is None or before is None or after is None or rung.page.method == "best_of_n":
            continue
        change = 100 * (after / before - 1)
        sign = "" if abs(change) < 0.05 else "+" if change > 0 else "−"
        results.append(
            Tax(
                rung.marked,
                base.title,
                numbers.perplexity(before),
                numbers.perplexity(after),
                sign + numbers.percent(abs(change)),
                rung.page.text_unit,
            )
        )
    return results


def perplexity(page: Page) -> float | None:
    """Per word of the test text; None of what was not asked to predict it."""
    if isinstance(page, LanguageModelPage):
        return page.scores.perplexity_per_word
    return page.text.perplexity_per_word if isinstance(page, InstructedPage) and page.text is not None else None


@dataclass(frozen=True)
class DialogueAnswer:
    """An answer; verdict: what is said of it, in a line; followed: nothing is wrong with it."""

    text: str
    verdict: str
    followed: bool


def dialogues(rungs: Sequence[Entry[InstructedPage]]) -> Aligned[tuple[str, str], DialogueAnswer]:
    """A row a prompt, (kind, prompt): `SHOWN` of them, evenly from all that were kept."""
    results = aligned(rungs, lambda page: (((sample.kind, sample.prompt), _answer(sample)) for sample in page.samples))
    rows = np.linspace(0, len(results.rows) - 1, min(LISTED, len(results.rows))).round().astype(int).tolist()
    return Aligned(results.rungs, [results.rows[row] for row in rows])


def beside(rungs: Sequence[Entry[InstructedPage]], loss: Loss[InstructedPage]) -> Choice:
    """Which stand there first: the best that was not aligned, so that what alignment changed is seen, and the best."""
    best = ranked(rungs, loss)
    plain = [rung.name for rung in best if rung.page.method == "sft"][:1]
    kept = [*plain, *(rung.name for rung in best if rung.name not in plain)][:BESIDE]
    return replace(choice(rungs, loss, BESIDE), chosen=[rung.name for rung in rungs if rung.name in kept])


def _answer(dialogue: SampleDialogue) -> DialogueAnswer:
    remarks = [] if dialogue.gold is None else [f"gold {dialogue.gold:.2f}"]
    remarks += [f"{part} {value:.2f}" for part, value in dialogue.parts.items() if part != "followed" and value < 1]
    remarks += [] if dialogue.proxy is None else [f"proxy {dialogue.proxy:.2f}".replace("-", "−")]
    return DialogueAnswer(dialogue.answer, " · ".join(remarks), dialogue.parts.get("followed", 0.0) == 1)


def _reward_sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Accuracy kind by kind, and the reliability diagram."""
    rungs = inputs.rungs_with(family, RewardPage)
    if not rungs:
        return

    def kinds(page: RewardPage) -> Iterable[tuple[tuple[str, str], KindScores]]:
        for split, scores in page.scores.items():
            yield from (((kind.kind, "" if split in ("test", kind.kind) else split), kind) for kind in scores.per_kind)

    scored = [rung for rung in rungs if "test" in rung.page.scores]
    reliability = reliability_plot(scored, lambda page: page.scores["test"].reliability, loss, "reward-reliability")
    context: dict[str, object] = {
        "kinds": aligned(rungs, kinds),
        "chosen": choice(rungs, loss, KINDS_BESIDE),
        "reliability": reliability and drawn_lines(reliability),
    }
    yield Section("rewards", "Reward models compared", "rewards.html.j2", context)


@dataclass(frozen=True)
class Course:
    """How far a rung went, and what that earned.

    Attributes:
        gold, proxy: (√KL, reward) in the order of training, or of n. fit: of the gold reward.
    """

    rung: Entry[InstructedPage]
    form: Form
    gold: Points
    proxy: Points
    fit: RewardFit | None


@dataclass(frozen=True)
class Fitted:
    """A rung's fit as the page's table says it; beyond: the peak lies where nothing was measured."""

    title: str
    form: str
    alpha: str
    beta: str
    peak: str
    reward: str
    highest: str
    last: str
    beyond: bool


def courses(rungs: Sequence[Entry[InstructedPage]]) -> list[Course]:
    """Of the rungs that have two points at least."""
    return [course for rung in rungs if len((course := _course(rung)).gold) > 1 or len(course.proxy) > 1]


def _course(rung: Entry[InstructedPage]) -> Course:
    test = rung.page.scores.get("test")
    form: Form = "rl"
    if test is not None and test.by_n:
        form = "best_of_n"
        gold = [(math.sqrt(point.kl), point.gold) for point in test.by_n]
        proxy: list[tuple[float, float | None]] = [(math.sqrt(point.kl), point.proxy) for point in test.by_n]
        proxy = proxy if test.proxy is not None else []  # the gold judge chose
    else:
        learnt = any(score.proxy is not None for score in rung.page.scores.values())
        gold, proxy = map(list, zip(*_curve_rewards(rung.curve, learnt), strict=True)) if rung.curve else ([], [])
    measured = [(d, reward) for d, reward in gold if reward is not None]
    fit = None
    if len(measured) >= ENOUGH:
        fit = fit_reward([d * d for d, _ in measured], [reward for _, reward in measured], form)
    return Course(rung, form, measured, [(d, reward) for d, reward in proxy if reward is not None], fit)


def _curve_rewards(
    curve: Sequence[CurvePoint], learnt: bool
) -> Iterable[tuple[tuple[float, float | None], tuple[float, float | None]]]:
    """Gold and proxy of each row; a rung that learnt from no reward model has the gold judge's as its reward.

    Args:
        learnt: whether it learnt from a reward model.
    """
    for row in curve:
        d = math.sqrt(max(0.0, row.validation_kl)) if row.validation_kl is not None else math.nan
        known = row.validation_kl is not None
        gold = row.validation_gold if learnt else row.validation_reward
        yield (d, gold if known else None), (d, row.validation_reward if known and learnt else None)


def picture_of(curves: Sequence[Course], loss: Loss[InstructedPage]) -> LinePlot | None:
    """At the left the gold reward with its fit, at the right the proxy, where there is one."""
    chosen = choice([curve.rung for curve in curves], loss, COLOURED)
    both = any(point.proxy for point in curves)

    def draw(*panels: Axes) -> None:
        for number, curve in enumerate(curves):
            draw_line(panels[0], curve.rung, curve.gold, number, chosen)
            _draw_fit(panels[0], curve)
            if both:
                draw_line(panels[1], curve.rung, curve.proxy, number, chosen)
        for axes, measured in zip(panels, ("gold reward", "proxy reward"), strict=False):
            axes.set_xlabel("d = √KL to the base (√nats)")
            axes.set_ylabel(measured)

    label = f"Gold {'and proxy ' if both else ''}reward by √KL to the base"
    return line_plot("over-optimisation", label, chosen, draw, 3.9, panels=2 if both else 1)


def _draw_fit(axes: Axes, course: Course) -> None:
    """The fitted curve as far as was measured, and its peak where that lies there."""
    if course.fit is None:
        return
    far = max(d for d, _ in course.gold)
    distances = np.linspace(0.0, far, CURVE_POINTS)
    axes.plot(
        distances,
        [course.fit.reward(d) for d in distances.tolist()],
        color=LINE,
        linewidth=1.2,
        linestyle="--",
        alpha=0.8,
    )
    axes.lines[-1].set_gid(line_of(course.rung.name, "fit"))
    peak = course.fit.peak
    if peak is not None and peak.d <= far:
        axes.plot([peak.d], [peak.reward], color=LINE, marker="*", markersize=13, linestyle="")
        axes.lines[-1].set_gid(line_of(course.rung.name, "fit"))


def fitted(curves: Sequence[Course]) -> list[Fitted]:
    """The table of those that could be fitted."""
    rows = []
    for curve in curves:
        if curve.fit is None:
            continue
        peak, three = curve.fit.peak, _three
        highest = max(curve.gold, key=lambda point: point[1])
        rows.append(
            Fitted(
                curve.rung.marked,
                FORMS[curve.form],
                three(curve.fit.alpha),
                three(curve.fit.beta),
                numbers.DASH if peak is None else numbers.significant(peak.d),
                numbers.DASH if peak is None else three(peak.reward),
                f"{three(highest[1])} at {highest[0]:.2f}",
                f"{three(curve.gold[-1][1])} at {curve.gold[-1][0]:.2f}",
                peak is not None and peak.d > max(d for d, _ in curve.gold),
            )
        )
    return rows


def _three(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
