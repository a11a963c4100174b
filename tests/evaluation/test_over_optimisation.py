"""Gao et al.'s fits: numbers worked by hand, points of a known curve, the peak as calculus and as a search have it."""

import math

import numpy as np
import pytest

from langladder.evaluation.over_optimisation import RewardFit, fit_reward

E = math.e


def test_golden_best_of_n_through_two_points() -> None:
    """d = 1, 2 and R = 3, 4 from R(0) = 0: α − β = 3 and 2α − 4β = 4, so α = 4, β = 1; peak at 4/2 = 2, R = 16/4."""
    fit = fit_reward([1.0, 4.0], [3.0, 4.0], "best_of_n", start=0.0)
    assert fit is not None and fit.peak is not None
    assert (fit.alpha, fit.beta, fit.start) == pytest.approx((4.0, 1.0, 0.0))
    assert (fit.peak.d, fit.peak.reward) == pytest.approx((2.0, 4.0))
    assert fit.error == pytest.approx(0.0, abs=1e-12)


def test_golden_rl_through_two_points() -> None:
    """d = 1, e and R = 2, e from 0: α = 2 and e(α − β) = e, so β = 1; peak at exp(2/1 − 1) = e, R = β e."""
    fit = fit_reward([1.0, E**2], [2.0, E], "rl", start=0.0)
    assert fit is not None and fit.peak is not None
    assert (fit.alpha, fit.beta) == pytest.approx((2.0, 1.0))
    assert (fit.peak.d, fit.peak.reward) == pytest.approx((E, E))


def test_golden_least_squares_of_three_points() -> None:
    """d = 1, 1, 2, R = 2, 4, 4: the mean 3 at d = 1 is met, as two unknowns meet two places; error √(2/3)."""
    fit = fit_reward([1.0, 1.0, 4.0], [2.0, 4.0, 4.0], "best_of_n", start=0.0)
    assert fit is not None
    assert (fit.alpha, fit.beta) == pytest.approx((4.0, 1.0))
    assert fit.error == pytest.approx(math.sqrt(2 / 3))


@pytest.mark.parametrize("form", ["best_of_n", "rl"])
@pytest.mark.parametrize("start", [None, 0.3])
def test_points_of_a_curve_give_it_back(form: str, start: float | None) -> None:
    """With the start known, and with it fitted."""
    true = RewardFit(form, 0.5, 0.2, 0.3, 0.0)  # type: ignore[arg-type]
    d = np.linspace(0.0, 3.0, 12)
    fit = fit_reward(list(d**2), [true.reward(item) for item in d], form, start=start)  # type: ignore[arg-type]
    assert fit is not None
    assert (fit.alpha, fit.beta, fit.start) == pytest.approx((0.5, 0.2, 0.3))
    assert fit.reward(0.0) == pytest.approx(0.3)


@pytest.mark.parametrize("form", ["best_of_n", "rl"])
def test_the_peak_is_the_highest_position(form: str) -> None:
    """A search over d finds none higher."""
    fit = RewardFit(form, 0.7, 0.4, 0.1, 0.0)  # type: ignore[arg-type]
    assert fit.peak is not None
    everywhere = [fit.reward(d) for d in np.linspace(0, 10, 5001)]
    assert max(everywhere) == pytest.approx(fit.peak.reward, abs=1e-5)
    assert fit.reward(fit.peak.d) == fit.peak.reward


def test_a_curve_that_rises_for_ever_has_no_peak() -> None:
    """β ≤ 0; of best-of-n also where it falls from the start; of RL where the peak is beyond all numbers."""
    assert RewardFit("best_of_n", 1.0, -0.1, 0.0, 0.0).peak is None
    assert RewardFit("best_of_n", -1.0, 0.1, 0.0, 0.0).peak is None
    assert RewardFit("rl", 1.0, 0.0, 0.0, 0.0).peak is None
    assert RewardFit("rl", 1.0, 1e-9, 0.0, 0.0).peak is None


def test_too_few_points_fit_nothing() -> None:
    """No point, one place, points at d = 0 only; with a start to be found two places are too few."""
    assert fit_reward([], [], "rl") is None
    assert fit_reward([4.0, 4.0], [1.0, 2.0], "rl", start=0.0) is None
    assert fit_reward([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], "best_of_n", start=0.0) is None
    assert fit_reward([1.0, 4.0], [1.0, 2.0], "best_of_n") is None
    assert fit_reward([0.0, 1.0, 4.0], [0.0, 1.0, 2.0], "best_of_n") is not None


def test_an_estimate_below_zero_is_zero() -> None:
    """As sampled estimates of a KL may be."""
    assert fit_reward([-0.01, 1.0, 4.0], [0.0, 3.0, 4.0], "best_of_n") == fit_reward(
        [0.0, 1.0, 4.0], [0.0, 3.0, 4.0], "best_of_n"
    )
