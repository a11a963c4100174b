"""The picture of over-optimisation: gold and proxy reward over √KL, with the forms that Gao et al. (2022) fitted."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from langladder.evaluation.instructed import InstructedPage
from langladder.evaluation.over_optimisation import Form, RewardFit, fit_reward
from langladder.faces.report import numbers
from langladder.faces.report.inputs import CurvePoint, Entry
from langladder.faces.report.plots import LINE, LinePlot, Points, draw_line, line_of, line_plot
from langladder.faces.report.selection import COLOURED, Loss, choice

ENOUGH = 4  # points; fewer fit any form
PLACES = 100  # of a fitted curve that is drawn
FORMS: dict[Form, str] = {"best_of_n": "d (α − β d)", "rl": "d (α − β log d)"}


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
    return [one for rung in rungs if len((one := _course(rung)).gold) > 1 or len(one.proxy) > 1]


def _course(rung: Entry[InstructedPage]) -> Course:
    test = rung.page.scores.get("test")
    form: Form = "rl"
    if test is not None and test.by_n:
        form = "best_of_n"
        gold = [(math.sqrt(one.kl), one.gold) for one in test.by_n]
        proxy: list[tuple[float, float | None]] = [(math.sqrt(one.kl), one.proxy) for one in test.by_n]
        proxy = proxy if test.proxy is not None else []  # the gold judge chose
    else:
        learnt = any(one.proxy is not None for one in rung.page.scores.values())
        gold, proxy = map(list, zip(*_watched(rung.curve, learnt), strict=True)) if rung.curve else ([], [])
    measured = [(d, reward) for d, reward in gold if reward is not None]
    fit = None
    if len(measured) >= ENOUGH:
        fit = fit_reward([d * d for d, _ in measured], [reward for _, reward in measured], form)
    return Course(rung, form, measured, [(d, reward) for d, reward in proxy if reward is not None], fit)


def _watched(
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


def picture_of(found: Sequence[Course], loss: Loss) -> LinePlot | None:
    """At the left the gold reward with its fit, at the right the proxy, where there is one."""
    chosen = choice([one.rung for one in found], loss, COLOURED)
    both = any(one.proxy for one in found)

    def draw(*panels: Axes) -> None:
        for number, one in enumerate(found):
            draw_line(panels[0], one.rung, one.gold, number, chosen)
            _draw_fit(panels[0], one)
            if both:
                draw_line(panels[1], one.rung, one.proxy, number, chosen)
        for axes, measured in zip(panels, ("gold reward", "proxy reward"), strict=False):
            axes.set_xlabel("d = √KL to the base (√nats)")
            axes.set_ylabel(measured)

    label = f"Gold {'and proxy ' if both else ''}reward over the root of the KL to the base"
    return line_plot("over-optimisation", label, chosen, draw, 3.9, panels=2 if both else 1)


def _draw_fit(axes: Axes, one: Course) -> None:
    """The fitted curve as far as was measured, and its peak where that lies there."""
    if one.fit is None:
        return
    far = max(d for d, _ in one.gold)
    places = np.linspace(0.0, far, PLACES)
    axes.plot(
        places, [one.fit.reward(d) for d in places.tolist()], color=LINE, linewidth=1.2, linestyle="--", alpha=0.8
    )
    axes.lines[-1].set_gid(line_of(one.rung.name, "fit"))
    peak = one.fit.peak
    if peak is not None and peak.d <= far:
        axes.plot([peak.d], [peak.reward], color=LINE, marker="*", markersize=13, linestyle="")
        axes.lines[-1].set_gid(line_of(one.rung.name, "fit"))


def fitted(found: Sequence[Course]) -> list[Fitted]:
    """The table of those that could be fitted."""
    rows = []
    for one in found:
        if one.fit is None:
            continue
        peak, three = one.fit.peak, _three
        highest = max(one.gold, key=lambda point: point[1])
        rows.append(
            Fitted(
                one.rung.title,
                FORMS[one.form],
                three(one.fit.alpha),
                three(one.fit.beta),
                numbers.DASH if peak is None else numbers.significant(peak.d),
                numbers.DASH if peak is None else three(peak.reward),
                f"{three(highest[1])} at {highest[0]:.2f}",
                f"{three(one.gold[-1][1])} at {one.gold[-1][0]:.2f}",
                peak is not None and peak.d > max(d for d, _ in one.gold),
            )
        )
    return rows


def _three(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
