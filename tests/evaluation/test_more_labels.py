"""The gain of more labels: a known law is recovered, its interval covers, too few points give no result."""

import numpy as np
import pytest

from langladder.evaluation.more_labels import MoreLabels, _fitted, more_labels

TEXTS = [125] * 3 + [250] * 3 + [500] * 2 + [1000]


def drawn(
    seed: int, law: tuple[float, float, float], test: int = 1000, spread: float = 0.2
) -> tuple[MoreLabels, float]:
    """The prediction for models whose errors follow a law, and the accuracy of one that is trained on twice the texts.

    Texts are hard or easy for all models.
    """
    rng, (a, b, c) = np.random.default_rng(seed), law
    hard = rng.random(test)
    shares = [a + b * n**-c + rng.normal(0, spread / n**0.5) for n in TEXTS]
    result = more_labels(TEXTS, np.array([hard > share for share in shares]))
    assert result is not None
    return result, float(
        np.mean(hard > a + b * (2.0 * TEXTS[-1]) ** -c + rng.normal(0, spread / (2 * TEXTS[-1]) ** 0.5))
    )


def test_the_law_is_found_where_errors_follow_it() -> None:
    n = np.array([100.0, 200.0, 400.0, 800.0])
    for a, b, c in ((0.1, 2.0, 0.5), (0.0, 1.0, 0.25), (0.2, 10.0, 1.0)):
        assert _fitted(n, (a + b * n**-c)[None], np.array([1600.0]))[0, 0] == pytest.approx(a + b * 1600**-c, abs=1e-3)
    flat = _fitted(n, np.array([[0.2, 0.21, 0.22, 0.23]]), np.array([1600.0, 1e9]))[0]
    assert flat == pytest.approx([0.334 / 1.5] * 2)  # never rising: b = 0, and a is the mean weighted by n
    assert _fitted(n, np.array([[0.4, 0.2, 0.1, 0.05]]), np.array([1e9]))[0, 0] >= 0  # never below 0


@pytest.mark.long
@pytest.mark.parametrize("law", [(0.1, 2.0, 0.5), (0.05, 0.9, 0.2)])
def test_the_interval_covers_what_the_law_gives(law: tuple[float, float, float]) -> None:
    result, reached = zip(*(drawn(seed, law) for seed in range(60)), strict=True)
    inside = [item.low <= new - item.accuracy <= item.high for item, new in zip(result, reached, strict=True)]
    assert sum(inside) >= 50  # of 60
    assert np.mean([item.high - item.low for item in result]) < 0.15  # and says something
    assert np.mean([item.accuracy + item.gain for item in result]) == pytest.approx(np.mean(reached), abs=0.012)
    assert all(item.low <= item.high and item.texts == 1000 for item in result)
    assert [(point.texts, point.models) for point in result[0].points] == [(125, 3), (250, 3), (500, 2), (1000, 1)]
    assert result[0].accuracy == result[0].points[-1].accuracy


def test_a_curve_that_is_flat_promises_nothing() -> None:
    result = [drawn(seed, (0.2, 0.0, 0.5))[0] for seed in range(20)]
    assert sum(item.low > 0 for item in result) <= 1 and abs(np.mean([item.gain for item in result])) < 0.01


def test_too_few_points_give_no_curve() -> None:
    right = np.ones((3, 10), dtype=bool)
    assert more_labels([50, 100], right[:2]) is None  # two numbers of texts are no curve
    assert more_labels([8, 16, 32], right) is None
    assert more_labels([16, 32, 64], right[:, :0]) is None
    result = more_labels([16, 32, 64], right)
    assert result is not None and (result.gain, result.low) == (0.0, 0.0)


def test_accuracy_at_chance_level_predicts_no_gain() -> None:
    right = np.random.default_rng(0).random((9, 400)) < 0.53
    result = [more_labels(TEXTS, right, chance) for chance in (0.5, 0.3)]
    assert [item is not None and item.learnt for item in result] == [False, True]
    shares = np.array([0.5] * 3 + [0.4] * 3 + [0.3] * 2 + [0.25])  # at first it learns nothing: no part of the law
    hard = np.random.default_rng(0).random(4000)
    late = more_labels(TEXTS, hard > shares[:, None], chance=0.5)
    whole = more_labels(TEXTS[3:], hard > shares[3:, None])
    assert late is not None and whole is not None and late.learnt and late.gain == whole.gain
