"""What word vectors of unlabelled text are worth, by the number of labels (Turian et al. 2010; Kim 2014, section 4).

Each network begins with skip-gram vectors of the training text without labels, or at random; both are fine-tuned. The
gain is the difference in accuracy on the test texts (`by_labels`).
"""

from langladder.experiments.by_labels import WITH_VECTORS, ByLabels, Difference, Measured, difference
from langladder.experiments.experiment import Data, Progress
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.label_curve import accuracy_plot


class VectorsByLabels(ByLabels):
    """Pre-trained against random, a line a network."""

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        return findings(self.measure(data, seed=seed, progress=progress))


def findings(measured: Measured) -> Findings:
    """The claim holds where each network gains somewhere by more than chance, and less with all labels than at best."""
    counts, gains = measured.counts, dict[str, dict[int, Difference]]()
    for title in measured.right:
        if (begun := WITH_VECTORS.format(title)) in measured.right:
            right = measured.right
            gains[title] = {count: difference(right[begun][count], right[title][count]) for count in counts}
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
        rows=[
            [
                title,
                float(count),
                rounded(measured.mean(title, count)),
                rounded(measured.mean(WITH_VECTORS.format(title), count)),
                str(gain),
            ]
            for title, by in gains.items()
            for count, gain in by.items()
        ],
        plots=[
            Plot(
                title="Gain by number of labels",
                x_label="labels",
                y_label="gain in accuracy",
                log_x=True,
                levels={"none": 0.0},
                series=[
                    series(
                        title,
                        [float(count) for count in counts],
                        [by[count].mean for count in counts],
                        [(by[count].high - by[count].low) / 2 for count in counts],
                    )
                    for title, by in gains.items()
                ],
            ),
            accuracy_plot(measured),
        ],
        figures={
            figure(title, "gain", str(count)): rounded(gain.mean) or 0.0
            for title, by in gains.items()
            for count, gain in by.items()
        },
    )
