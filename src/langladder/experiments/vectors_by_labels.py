"""What word vectors of unlabelled text are worth, by the number of labels (Turian et al. 2010; Kim 2014, section 4).

Each network begins with skip-gram vectors of the training text without labels, or at random; both are fine-tuned. The
gain is the difference in accuracy on the test texts (`by_labels`).
"""

from langladder.experiments.by_labels import WITH_VECTORS, ByLabels, Measured
from langladder.experiments.experiment import Data, Progress
from langladder.experiments.findings import Findings, opened
from langladder.experiments.gains import change, gain_figures, gain_plot, gain_rows, gains_of, several
from langladder.experiments.label_curve import accuracy_plot
from langladder.experiments.statistics import Verdict, every, gated


class VectorsByLabels(ByLabels):
    """Pre-trained against random, a line a network."""

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        return findings(self.measure(data, seed=seed, progress=progress), self.config.margin)


def findings(measured: Measured, margin: float) -> Findings:
    """The claim holds where each network gains with the fewest labels, and less so with all."""
    counts = measured.counts
    begun = {title: WITH_VECTORS.format(title) for title in measured.right}
    pairs = {title: (line, title) for title, line in begun.items() if line in measured.right}
    gains = gains_of(measured, pairs)
    best = {title: max(by, key=lambda count: by[count].mean) for title, by in gains.items()}
    less = {title: change(measured, pair, counts[0], counts[-1]) for title, pair in pairs.items()}
    given = Verdict(True) if pairs else Verdict(None, "no network begins with vectors")
    gates = [several(counts), given, *(measured.learnt(line) for line, _ in pairs.values())]
    expected = (one.exceeds(margin) for title in pairs for one in (gains[title][counts[0]], less[title]))
    verdict = gated(gates, every(expected))
    said = "; ".join(
        f"{title} gains {by[counts[0]]} with {counts[0]:,} labels, most with {best[title]:,}, {by[best[title]]}, and "
        f"with all {counts[-1]:,} {by[counts[-1]]}"
        for title, by in gains.items()
    )
    return Findings(
        **opened(verdict, f"{said or 'no network was given vectors; 0 differences'}."),
        columns=["network", "labels", "random", "pre-trained", "gain (95 %)"],
        rows=gain_rows(measured, gains, pairs),
        plots=[gain_plot(gains, counts), accuracy_plot(measured)],
        figures=gain_figures(gains),
    )
