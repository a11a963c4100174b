"""Is a network worth it over TF-IDF and logistic regression, and from how many labels on?

Accuracy on the test texts by the number of labels (`by_labels`). A rung is better than the baseline from n labels on
where the 95 % interval of the difference lies above 0 at n and at every larger number.
"""

from typing import ClassVar, Self

from pydantic import model_validator

from langladder.experiments.by_labels import ByLabels, ByLabelsConfig, Measured
from langladder.experiments.experiment import Data, Progress
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.gains import several
from langladder.experiments.statistics import Difference, difference, every, gated, some
from langladder.ground import schema


class LabelCurveConfig(ByLabelsConfig):
    """Settings of `LabelCurve`."""

    baseline: str  # of the rungs: what the others are compared with

    @model_validator(mode="after")
    def _is_a_rung(self) -> Self:
        if self.baseline not in self.rungs:
            raise ValueError(f"baseline={self.baseline!r} is none of the rungs; allowed: {', '.join(self.rungs)}")
        return self


class LabelCurve(ByLabels):
    """A line a rung; the verdict says from how many labels on which is better than the baseline."""

    Config: ClassVar[type[schema.Config]] = LabelCurveConfig
    config: LabelCurveConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config = self.config
        found = self.measure(data, seed=seed, progress=progress)
        return findings(found, config.rungs[config.baseline].title, config.margin)


def findings(measured: Measured, baseline: str, margin: float) -> Findings:
    """It holds where the baseline is as good as each network with the fewest labels, and one is better with all."""
    counts = measured.counts
    against = {title: _against(measured, title, baseline) for title in measured.right if title != baseline}
    since = {title: _since(by) for title, by in against.items()}
    networks = [title for title in measured.networks if title in against]
    winners = {title: start for title in networks if (start := since[title]) is not None}
    early = every((-against[title][counts[0]]).within(margin) for title in networks)
    late = some(against[title][counts[-1]].exceeds(margin) for title in networks)
    gates = [several(counts), *([measured.learnt(max(networks, key=lambda one: measured.mean(one, counts[-1])))])]
    verdict = gated(gates, every([early, late]))
    said = [f"{title} from {start:,} labels on, {against[title][start]}" for title, start in winners.items()]
    never = [title for title in networks if title not in winners]
    best = {count: max(measured.right, key=lambda title: measured.mean(title, count)) for count in counts}
    ends = ", ".join(f"{title} {measured.mean(title, n):.1%} with {n:,} labels" for n, title in _ends(best))
    parts = [f"better than {baseline} by more than chance: {'; '.join(said) if said else 'no network'}"]
    parts += [f"not so: {', '.join(never)}"] if never else []
    return Findings(
        **opened(verdict, f"{'; '.join(parts)}. Best are {ends}{_known(measured)}."),
        columns=["rung", *(f"{count:,} labels" for count in counts), "better from", "by, with all (95 %)"],
        rows=[
            [title, *(rounded(measured.mean(title, count)) for count in counts), *_cells(title, since, against, counts)]
            for title in measured.right
        ],
        plots=[accuracy_plot(measured)],
        figures={
            figure(title, str(count)): rounded(measured.mean(title, count)) or 0.0
            for title in measured.right
            for count in counts
        },
    )


def accuracy_plot(measured: Measured) -> Plot:
    """Accuracy by labels, a line a rung, with the spread between seeds."""
    counts = measured.counts
    levels = {"most frequent label": measured.majority}
    return Plot(
        title="Accuracy by number of labels",
        x_label="labels",
        y_label="accuracy (test)",
        log_x=True,
        levels=levels | ({} if measured.ceiling is None else {"best possible": measured.ceiling}),
        series=[
            series(
                title,
                [float(count) for count in counts],
                [measured.mean(title, count) for count in counts],
                [measured.spread(title, count) for count in counts],
            )
            for title in measured.right
        ],
    )


def _against(measured: Measured, title: str, baseline: str) -> dict[int, Difference]:
    right = measured.right
    return {count: difference(right[title][count], right[baseline][count]) for count in measured.counts}


def _since(by: dict[int, Difference]) -> int | None:
    """The smallest number of labels from which on the interval lies above 0."""
    start = None
    for count in reversed(by):
        if by[count].low <= 0:
            break
        start = count
    return start


def _ends(best: dict[int, str]) -> list[tuple[int, str]]:
    counts = list(best)
    return [(count, best[count]) for count in dict.fromkeys((counts[0], counts[-1]))]


def _known(measured: Measured) -> str:
    return "" if measured.ceiling is None else f"; {measured.ceiling:.1%} can be known"


def _cells(
    title: str, since: dict[str, int | None], against: dict[str, dict[int, Difference]], counts: list[int]
) -> list[str | float | None]:
    if title not in against:
        return ["baseline", None]
    start = since[title]
    return ["never" if start is None else f"{start:,}", str(against[title][counts[-1]])]
