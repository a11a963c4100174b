"""The tournament: ratings worked by hand, strengths given back, a rung that always wins, draws, intervals, parity."""

import numpy as np
import pytest
from scipy.optimize import minimize

from langladder.evaluation.tournament import MEAN, bradley_terry, elo, mm_step, tournament
from langladder.ground.errors import InputError


def test_golden_two_rungs() -> None:
    """3 wins and 1: odds 3; with one drawn game more 3.5 : 1.5 = 7/3, and 400 log₁₀ 7/3 = 147.19 points."""
    wins = np.array([[0.0, 3.0], [1.0, 0.0]])
    first, second = bradley_terry(wins, prior=0.0)
    assert first / second == pytest.approx(3.0)
    first, second = bradley_terry(wins)
    assert first / second == pytest.approx(7 / 3)
    ratings = elo(bradley_terry(wins))
    assert ratings[0] - ratings[1] == pytest.approx(147.1907, abs=1e-3) and ratings.mean() == pytest.approx(MEAN)


def test_golden_first_step_of_mm() -> None:
    """Three rungs, 4 games each two: W = 7, 4, 1. From p = 1: Σ n/(p + p) = 4/2 + 4/2 = 4, so p = 7/4, 1, 1/4."""
    wins = np.array([[0.0, 3.0, 4.0], [1.0, 0.0, 3.0], [0.0, 1.0, 0.0]])
    games = wins + wins.T
    p = mm_step(np.ones(3), wins.sum(axis=1), games)
    mean = (7 / 4 * 1 * 1 / 4) ** (1 / 3)
    assert p == pytest.approx(np.array([7 / 4, 1.0, 1 / 4]) / mean)


def test_strengths_are_recovered() -> None:
    """Where each wins as often as the model says: p = 4, 2, 1."""
    p = np.array([4.0, 2.0, 1.0])
    wins = 60 * p[:, None] / (p[:, None] + p[None, :])
    result = bradley_terry(wins, prior=0.0)
    assert result / result[2] == pytest.approx(p, rel=1e-6)


def test_parity_with_the_likelihood_maximised_by_scipy() -> None:
    """The same strengths where a general optimiser climbs the likelihood."""
    wins = np.random.default_rng(3).integers(1, 30, (5, 5)).astype(float)
    np.fill_diagonal(wins, 0.0)

    def loss(s: np.ndarray) -> float:
        return float((wins * np.logaddexp(0, s[None, :] - s[:, None])).sum())

    s = minimize(loss, np.zeros(5), method="BFGS", tol=1e-10).x
    assert np.log(bradley_terry(wins, prior=0.0)) == pytest.approx(s - s.mean(), abs=1e-4)


def test_a_rung_that_always_wins_does_not_diverge() -> None:
    """Its odds against one that it always beats are 2N + 1; a third that always loses stays finite too."""
    first, second = tournament([[1.0] * 50, [0.0] * 50])
    assert first.wins == [None, 1.0] and second.wins == [0.0, None]
    assert first.rating - second.rating == pytest.approx(400 * np.log10(101), abs=1e-2)
    assert first.interval == (first.rating, first.rating)  # whichever prompts are drawn
    three = tournament([[1.0] * 50, [0.5] * 50, [0.0] * 50])
    assert three[0].rating > three[1].rating > three[2].rating and np.isfinite([item.rating for item in three]).all()


def test_draws_are_half_a_win() -> None:
    """Equal answers: every rate is a half, every rating the mean."""
    for item in tournament([[0.2, 0.7, 1.0]] * 3):
        assert item.rating == MEAN and item.interval == (MEAN, MEAN)
        assert [win for win in item.wins if win is not None] == [0.5, 0.5]
    first, _ = tournament([[1.0, 0.5, 0.0, 0.5], [0.0, 0.5, 0.0, 0.5]])
    assert first.wins[1] == 0.625  # 1 + ½ + ½ + ½ of 4


def ahead(rewards: np.ndarray) -> np.ndarray:
    """The first rung's answers are better by 0.2 on average."""
    return rewards + np.array([[0.2], [0.0]])


def test_intervals_hold_what_was_found_and_narrow_with_prompts() -> None:
    """And win rates of a pair add up to one."""
    rng = np.random.default_rng(0)
    few, many = (tournament(ahead(rng.random((2, n)))) for n in (40, 1600))
    for item in (*few, *many):
        assert item.interval[0] <= item.rating <= item.interval[1]
    assert few[0].interval[1] - few[0].interval[0] > 4 * (many[0].interval[1] - many[0].interval[0])
    assert (few[0].wins[1] or 0) + (few[1].wins[0] or 0) == pytest.approx(1.0)
    assert few == tournament(ahead(np.random.default_rng(0).random((2, 40))))  # the same every time


@pytest.mark.parametrize("rewards", [[[1.0]], [[], []], [[1.0], [1.0, 0.0]], []])
def test_uncomparable_answers_are_refused(rewards: list[list[float]]) -> None:
    """One rung, no prompts, other prompts."""
    with pytest.raises(InputError, match="a comparison needs two or more"):
        tournament(rewards)
