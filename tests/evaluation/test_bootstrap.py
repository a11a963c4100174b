"""Intervals: against SciPy's own, by hand, and that they cover what they say."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest, bootstrap, spearmanr

from langladder.evaluation.significance import (
    crossed_interval,
    crossed_share_interval,
    ratio_interval,
    share_interval,
    spearman_interval,
)


def test_golden_interval_of_a_share_by_wilson() -> None:
    # 6 of 6: z²/n = 0.6402; (1 + 0.3201 ± 0.3201) / 1.6402
    assert share_interval(6, 6) == (0.609666, 1.0) and share_interval(0, 6) == (0.0, 0.390334)
    assert share_interval(50, 100) == (0.403832, 0.596168)
    assert share_interval(0, 0) is None


def test_interval_of_a_share_parity_with_scipy() -> None:
    for right, total in ((1, 2), (49, 50), (130, 400), (7, 7)):
        theirs = binomtest(right, total).proportion_ci(0.95, method="wilson")
        assert share_interval(right, total) == pytest.approx([theirs.low, theirs.high], abs=1e-5)


@pytest.mark.parametrize(("p", "n"), [(0.5, 20), (0.9, 20), (0.98, 50), (0.999, 50)])
def test_interval_of_a_share_covers_it_near_the_ends_too(p: float, n: int) -> None:
    """The bootstrap's covers 0.98 of 50 items in 63.5 % of the samples."""
    chances = binom.pmf(np.arange(n + 1), n, p)
    intervals = [share_interval(right, n) for right in range(n + 1)]
    covered = sum(chance for chance, item in zip(chances, intervals, strict=True) if item and item[0] <= p <= item[1])
    assert covered > 0.9


def test_interval_of_words_in_sentences() -> None:
    """Sentences that are right or wrong as a whole are so many items; words that err on their own so many words."""
    whole = np.full(100, 10)
    assert ratio_interval(np.repeat([0, 10], 50), whole) == pytest.approx(share_interval(49.5, 99), abs=1e-6)
    assert ratio_interval(np.tile([4, 6], 50), whole) == share_interval(500, 1000)  # never more than the words
    assert ratio_interval(whole, whole) == share_interval(100, 100)
    assert ratio_interval(np.array([3]), np.array([4])) == share_interval(0.75, 1)
    assert ratio_interval(np.zeros(3), np.zeros(3)) is None
    rng, inside = np.random.default_rng(1), 0
    for _ in range(400):
        lengths = rng.integers(1, 15, 60)
        rights = rng.binomial(lengths, rng.beta(19, 1, 60))  # sentences of their own difficulty, the mean 0.95
        low, high = ratio_interval(rights, lengths) or (1.0, 0.0)
        inside += low <= 0.95 <= high
    assert inside > 0.9 * 400


def test_interval_of_answers_in_several_orders() -> None:
    right = np.random.default_rng(0).random((3, 40)) < 0.7
    assert crossed_share_interval(right) == crossed_interval(right)
    assert crossed_share_interval(np.ones((3, 6))) == share_interval(6, 6)


@pytest.mark.parametrize("ties", [False, True])
def test_spearman_interval_parity_with_scipy(ties: bool) -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=60)
    second = first + rng.normal(size=60)
    if ties:
        second = np.round(second)
    peer = bootstrap(  # type: ignore[call-overload]
        (first, second),
        lambda item, two: spearmanr(item, two).statistic,
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
