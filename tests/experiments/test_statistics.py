"""Differences and verdicts: degrees of freedom by hand and against SciPy, the three ways in which a claim ends."""

import numpy as np
import pytest
from scipy import stats

from langladder.experiments.statistics import Difference, difference


def test_one_axis_is_the_paired_t_interval() -> None:
    first, second = np.random.default_rng(0).normal(size=(2, 6))
    theirs = stats.ttest_rel(first, second).confidence_interval()
    found = difference(first, second)
    assert [found.low, found.high] == pytest.approx([theirs.low, theirs.high]) and found.seeds == 6


def test_golden_degrees_of_freedom_of_seeds_and_texts() -> None:
    """Two seeds, three texts: v = v_S + v_N, ν = v² / (v_S²/1 + v_N²/2) (Welch and Satterthwaite)."""
    values = np.array([[0.0, 2.0, 4.0], [3.0, 5.0, 7.0]])
    of_seeds, of_texts = 4.5 / 2, 4.0 / 3  # seeds 2 and 5: s² = 4.5; texts 1.5, 3.5, 5.5: s² = 4
    variance = of_seeds + of_texts
    freedom = variance**2 / (of_seeds**2 / 1 + of_texts**2 / 2)
    assert freedom == pytest.approx(2.1575, abs=1e-4)
    found = difference(values, 0.0)
    assert found.mean == pytest.approx(3.5)
    assert found.half == pytest.approx(float(stats.t.ppf(0.975, freedom)) * np.sqrt(variance))


@pytest.mark.parametrize(
    ("low", "high", "better", "as_good"),
    [
        (0.001, 0.01, False, True),  # surely above 0, surely too small to count
        (0.001, 0.03, True, True),  # above 0 is enough: it need not be above the margin of 0.02
        (0.03, 0.05, True, True),
        (-0.01, 0.03, None, True),
        (-0.03, 0.03, None, None),
        (-0.03, -0.01, False, None),
        (-0.05, -0.03, False, False),
    ],
)
def test_golden_verdicts(low: float, high: float, better: bool | None, as_good: bool | None) -> None:
    found = Difference((low + high) / 2, low, high, 5)
    assert (found.exceeds(0.02).holds, found.within(0.02).holds) == (better, as_good)
    assert found._replace(seeds=4).exceeds(0.02).holds is None
