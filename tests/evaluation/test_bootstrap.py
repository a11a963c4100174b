"""Bootstrap intervals: against SciPy's own bootstrap, by hand, and that they cover what they say."""

import numpy as np
import pytest
from scipy.stats import bootstrap, spearmanr

from langladder.evaluation.significance import share_interval, spearman_interval


def test_share_interval_golden() -> None:
    # Binomial(4, 1/2): P(0) = .0625, P(≤ 3) = .9375
    assert share_interval(2, 4) == (0.0, 1.0)
    # Binomial(100, 1/2): P(≤ 39) = .0176, P(≤ 40) = .0284; P(≤ 59) = .9716, P(≤ 60) = .9824
    assert share_interval(50, 100) == (0.4, 0.6)
    assert share_interval(0, 7) == (0, 0) and share_interval(7, 7) == (1, 1)
    assert share_interval(0, 0) is None


def test_share_interval_parity_with_scipy() -> None:
    items = np.repeat([1.0, 0.0], [130, 270])
    theirs = bootstrap((items,), np.mean, method="percentile", n_resamples=20_000, rng=0).confidence_interval
    ours = share_interval(130, 400)
    assert ours == pytest.approx(list(theirs), abs=0.003)


@pytest.mark.parametrize("ties", [False, True])
def test_spearman_interval_parity_with_scipy(ties: bool) -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=60)
    second = first + rng.normal(size=60)
    if ties:
        second = np.round(second)
    peer = bootstrap(  # type: ignore[call-overload]
        (first, second),
        lambda one, two: spearmanr(one, two).statistic,
        paired=True,
        vectorized=False,
        method="percentile",
        n_resamples=2000,
        rng=0,
    ).confidence_interval
    ours = spearman_interval(first, second)
    assert ours == pytest.approx(list(peer), abs=0.03)
    assert ours == spearman_interval(first, second)  # no chance between two calls


def test_spearman_interval_where_it_is_undefined() -> None:
    assert spearman_interval(np.arange(2), np.arange(2)) is None
    assert spearman_interval(np.ones(5), np.arange(5)) is None
    assert spearman_interval(np.arange(5), np.arange(5)) == (1, 1)


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    truth = 6 / np.pi * np.arcsin(0.5 / 2)  # Spearman's ρ of normal figures with correlation 0.5
    inside = 0
    for _ in range(100):
        first = rng.normal(size=80)
        second = 0.5 * first + np.sqrt(0.75) * rng.normal(size=80)
        interval = spearman_interval(first, second, resamples=400)
        assert interval is not None
        inside += interval[0] <= truth <= interval[1]
    assert 88 <= inside <= 100
