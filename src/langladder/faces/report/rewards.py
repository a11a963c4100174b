"""What the report tells of reward models: their table, their accuracy kind by kind, how sure they may be."""

from collections.abc import Iterable
from typing import Any

from langladder.evaluation.reward import KindScores, RewardPage
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.labels import reliability_plot
from langladder.faces.report.section import Section, drawn_lines
from langladder.faces.report.selection import aligned, choice

BESIDE = 4


def loss(page: RewardPage) -> float | None:
    """The share of the test pairs that are ordered wrongly."""
    return 1 - page.scores["test"].accuracy if "test" in page.scores else None


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Accuracy kind by kind, and the reliability diagram."""
    rungs = inputs.rungs_with(family, RewardPage)
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
