"""What one line of a picture gains over another, by the number of labels (`by_labels`): table, plot, figures.

gain_n = accuracy of the line − accuracy of its baseline, both with n labels
"""

from collections.abc import Mapping, Sequence

from langladder.experiments.by_labels import Measured
from langladder.experiments.findings import Plot, figure, rounded, series
from langladder.experiments.statistics import Difference, Verdict, difference

Pairs = Mapping[str, tuple[str, str]]
"""Name → title of the line, title of its baseline."""
Gains = Mapping[str, Mapping[int, Difference]]
"""Name → number of labels → what the line gains."""


def gains_of(measured: Measured, pairs: Pairs) -> dict[str, dict[int, Difference]]:
    """The gain of each pair at every number of labels."""
    right = measured.right
    return {
        name: {count: difference(right[line][count], right[base][count]) for count in measured.counts}
        for name, (line, base) in pairs.items()
    }


def change(measured: Measured, pair: tuple[str, str], first: int, second: int) -> Difference:
    """How much larger a gain is with `first` labels than with `second`."""
    line, base = (measured.right[title] for title in pair)
    # (a_n − b_n) − (a_m − b_m)
    each = [line[count].astype(int) - base[count] for count in (first, second)]  # (S, N)
    return difference(*each)


def several(counts: Sequence[int]) -> Verdict:
    """A gate: one number of labels says nothing of what changes with it."""
    return Verdict(True) if len(counts) > 1 else Verdict(None, f"{len(counts)} number of labels, two are needed")


def gain_rows(measured: Measured, gains: Gains, pairs: Pairs) -> list[list[str | float | None]]:
    """Name, labels, accuracy of the baseline and of the line, gain."""
    return [
        [
            name,
            float(count),
            rounded(measured.mean(pairs[name][1], count)),
            rounded(measured.mean(pairs[name][0], count)),
            str(gain),
        ]
        for name, by in gains.items()
        for count, gain in by.items()
    ]


def gain_plot(gains: Gains, counts: Sequence[int]) -> Plot:
    """A line a pair, with half of its interval as error."""
    return Plot(
        title="Gain by number of labels",
        x_label="labels",
        y_label="gain in accuracy",
        log_x=True,
        levels={"none": 0.0},
        series=[
            series(
                name,
                [float(count) for count in counts],
                [by[count].mean for count in counts],
                [by[count].half for count in counts],
            )
            for name, by in gains.items()
        ],
    )


def gain_figures(gains: Gains) -> dict[str, float]:
    """For the metrics."""
    return {
        figure(name, "gain", str(count)): rounded(gain.mean) or 0.0
        for name, by in gains.items()
        for count, gain in by.items()
    }
