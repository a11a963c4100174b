"""What the report tells of reward models: their table, their accuracy kind by kind, how sure they may be."""

from collections.abc import Iterable
from typing import Any

from langladder.evaluation.reward import KindScores, RewardPage
from langladder.faces.report import numbers
from langladder.faces.report.choosing import choice
from langladder.faces.report.columns import Column, cost_columns, half_width, work_columns
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.reliability_plot import reliability_plot
from langladder.faces.report.section import Section, drawn_lines
from langladder.faces.report.views import aligned

BESIDE = 4


def loss(page: RewardPage) -> float | None:
    """The share of the test pairs that are ordered wrongly."""
    return 1 - page.scores["test"].accuracy if "test" in page.scores else None


def _accuracy(page: RewardPage, split: str) -> float | None:
    return 100 * page.scores[split].accuracy if split in page.scores else None


SCORES: tuple[Column[RewardPage], ...] = (
    Column(
        "accuracy",
        "share of the pairs of answers to test prompts whose better one has the higher reward, in per cent",
        lambda page, _: _accuracy(page, "test"),
        numbers.decimals(1),
        "higher",
        brief=True,
        compared=True,
    ),
    Column(
        "±",
        "half the width of its 95 % interval, in points, by drawing prompts anew (bootstrap); not over seeds",
        lambda page, _: half_width(page.scores["test"].accuracy_interval) if "test" in page.scores else None,
        numbers.decimals(1),
        None,
    ),
    Column(
        "unseen kinds",
        "the same on kinds of instruction that were never shown, and on new wordings",
        lambda page, _: _accuracy(page, "unseen"),
        numbers.decimals(1),
        "higher",
        brief=True,
    ),
    Column(
        "loss",
        "−log σ of the difference of the two rewards of a pair, in nats; of a coin log 2 = 0.693",
        lambda page, _: page.scores["test"].loss if "test" in page.scores else None,
        numbers.decimals(3),
        "lower",
    ),
    Column(
        "calibration error",
        "how far the share of right pairs is from how sure the model was, on average (ECE)",
        lambda page, _: page.scores["test"].calibration_error if "test" in page.scores else None,
        numbers.decimals(3),
        "lower",
        brief=True,
    ),
    Column("parameters", "numbers of the model", lambda page, _: page.parameters, numbers.compact, "lower", brief=True),
    *work_columns("token"),
    *cost_columns("prompts"),
)


def columns(_: object) -> tuple[Column[RewardPage], ...]:
    """The columns."""
    return SCORES


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Accuracy kind by kind, and the reliability diagram."""
    rungs = inputs.judged_alike(family, RewardPage)
    if not rungs:
        return

    def kinds(page: RewardPage) -> Iterable[tuple[tuple[str, str], KindScores]]:
        for split, scores in page.scores.items():
            yield from (((one.kind, "" if split in ("test", one.kind) else split), one) for one in scores.per_kind)

    judged = [rung for rung in rungs if "test" in rung.page.scores]
    reliability = reliability_plot(judged, lambda page: page.scores["test"].reliability, loss, "reward-reliability")
    context: dict[str, Any] = {
        "kinds": aligned(rungs, kinds),
        "chosen": choice(rungs, loss, BESIDE),
        "reliability": reliability and drawn_lines(reliability),
    }
    yield Section("rewards", "Reward models compared", "rewards.html.j2", context)
