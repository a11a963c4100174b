"""What word vectors of unlabelled text are worth, by the number of labels (Turian et al. 2010; Kim 2014, section 4).

Each network begins with skip-gram vectors of the training text without labels, or at random; both are fine-tuned. The
gain is the difference in accuracy on the test texts (`by_labels`).
"""

from langladder.experiments.by_labels import WITH_VECTORS, ByLabels, Measured
from langladder.experiments.experiment import Data, Progress
from langladder.experiments.findings import Findings, opened
from langladder.experiments.gains import gain_figures, gain_plot, gain_rows, gains_of
from langladder.experiments.label_curve import accuracy_plot


class VectorsByLabels(ByLabels):
    """Pre-trained against random, a line a network."""

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        return findings(self.measure(data, seed=seed, progress=progress))


def findings(measured: Measured) -> Findings:
    """The claim holds where each network gains somewhere by more than chance, and less with all labels than at best."""
    counts = measured.counts
    begun = {title: WITH_VECTORS.format(title) for title in measured.right}
    pairs = {title: (line, title) for title, line in begun.items() if line in measured.right}
    gains = gains_of(measured, pairs)
    best = {title: max(by, key=lambda count: by[count].mean) for title, by in gains.items()}
    holds = all(by[best[title]].low > 0 and by[counts[-1]].mean < by[best[title]].mean for title, by in gains.items())
    said = "; ".join(
        f"{title} gains most with {best[title]:,} labels, {by[best[title]]}; with all {counts[-1]:,}, {by[counts[-1]]}"
        for title, by in gains.items()
    )
    decided = holds if gains and len(counts) > 1 else None
    return Findings(
        holds=decided,
        verdict=opened(decided, f"{said or 'no network was given vectors; 0 differences'}."),
        columns=["network", "labels", "random", "pre-trained", "gain (95 %)"],
        rows=gain_rows(measured, gains, pairs),
        plots=[gain_plot(gains, counts), accuracy_plot(measured)],
        figures=gain_figures(gains),
    )
