"""Differences and verdicts: against SciPy and published examples, the three ways in which a claim ends, how often."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from claims.comparison import Measured
from claims.declaration import Expectation
from claims.translation.translator_comparison import TranslatorComparison, TranslatorComparisonConfig
from langladder.experiments.statistics import (
    Difference,
    Verdict,
    difference,
    every,
    from_best,
    gated,
    of_shares,
    some,
)


def test_one_axis_is_the_paired_t_interval() -> None:
    first, second = np.random.default_rng(0).normal(size=(2, 6))
    theirs = stats.ttest_rel(first, second).confidence_interval()
    result = difference(first, second)
    assert [result.low, result.high] == pytest.approx([theirs.low, theirs.high]) and result.seeds == 6


def test_golden_degrees_of_freedom_of_seeds_and_texts() -> None:
    """Two seeds, three texts: v = v_S + v_N, ν = v² / (v_S²/1 + v_N²/2) (Welch and Satterthwaite)."""
    values = np.array([[0.0, 2.0, 4.0], [3.0, 5.0, 7.0]])
    of_seeds, of_texts = 4.5 / 2, 4.0 / 3  # seeds 2 and 5: s² = 4.5; texts 1.5, 3.5, 5.5: s² = 4
    variance = of_seeds + of_texts
    freedom = variance**2 / (of_seeds**2 / 1 + of_texts**2 / 2)
    assert freedom == pytest.approx(2.1575, abs=1e-4)
    result = difference(values, 0.0)
    assert result.mean == pytest.approx(3.5)
    assert result.half == pytest.approx(float(stats.t.ppf(0.975, freedom)) * np.sqrt(variance))


def test_seeds_and_texts_have_the_variance_and_the_freedom_of_welchs_test() -> None:
    """s²/S + s²/N and its ν are those of a t test of the means of seeds against the means of texts."""
    values = np.random.default_rng(3).normal(size=(5, 40)) + np.linspace(0, 2, 5)[:, None]
    theirs = stats.ttest_ind(values.mean(axis=1), values.mean(axis=0), equal_var=False).confidence_interval()
    result = difference(values, 0.0)
    assert result.half == pytest.approx((theirs.high - theirs.low) / 2)


@pytest.mark.parametrize(("right", "count"), [(0, 20), (7, 20), (20, 20), (199, 200)])
def test_the_interval_of_a_share_is_wilsons(right: int, count: int) -> None:
    """Beside a fixed level; at a confidence of its own."""
    for confidence in (0.95, 0.99):
        theirs = stats.binomtest(right, count).proportion_ci(confidence, method="wilson")
        result = of_shares((right / count, count), (0.5, 0), confidence)
        assert (result.low, result.high) == pytest.approx((theirs.low - 0.5, theirs.high - 0.5), abs=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "interval"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((0, 10), (0, 20), (-0.1611, 0.2775)),
        ((10, 10), (0, 20), (0.6791, 1.0)),
    ],
)
def test_golden_intervals_of_differences_of_shares(
    first: tuple[int, int], second: tuple[int, int], interval: tuple[float, float]
) -> None:
    """Newcombe 1998, table II, method 10."""
    result = of_shares((first[0] / first[1], first[1]), (second[0] / second[1], second[1]))
    assert (result.low, result.high) == pytest.approx(interval, abs=1e-4)


def test_where_every_text_is_right_an_interval_has_width() -> None:
    right = np.ones((5, 200), dtype=bool)
    for result in (difference(right, right), difference(right, 0.5)):
        assert 0.001 < result.half < 0.02
    assert difference(right, right).within(0.001).holds is None, "as good to a tenth of a point, of 200 texts"
    few = right[:, :4]
    assert difference(few, 0.9).exceeds().holds is None


@pytest.mark.parametrize("share", [0.5, 0.9, 0.98, 1.0])
def test_intervals_of_shares_contain_them_at_every_level(share: float) -> None:
    """Of 2,000 drawn shares of 60 texts, at least 92 % have the true one in their interval."""
    drawn = np.random.default_rng(1).random((2000, 60)) < share
    inside = 0
    for right in drawn:
        result = difference(right[None], share)
        inside += result.low <= 0 <= result.high
    assert inside / len(drawn) > 0.92


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
        (0.0, 0.03, None, True),  # at the limits themselves nothing holds
        (0.0, 0.02, False, True),
        (-0.02, 0.03, None, None),
        (-0.03, -0.02, False, None),
    ],
)
def test_golden_verdicts(low: float, high: float, better: bool | None, as_good: bool | None) -> None:
    result = Difference((low + high) / 2, low, high, 5)
    assert (result.exceeds(0.02).holds, result.within(0.02).holds) == (better, as_good)
    assert result._replace(seeds=4).exceeds(0.02).holds is None


@pytest.mark.parametrize(
    ("low", "high", "holds"),
    [(-0.01, 0.01, True), (-0.01, 0.03, None), (0.021, 0.03, False), (-0.03, -0.021, False), (-0.03, 0.03, None)],
)
def test_golden_equal_is_within_the_margin_on_both_sides(low: float, high: float, holds: bool | None) -> None:
    same = Difference((low + high) / 2, low, high, 5).equals(0.02)
    assert same.holds is holds and len(same.rests_on) == 1


def test_verdicts_are_joined_and_gated() -> None:
    yes, no, unknown = Verdict(True), Verdict(False), Verdict(None, "few")
    assert [every(pair).holds for pair in ((yes, yes), (yes, unknown), (unknown, no))] == [True, None, False]
    assert [some(pair).holds for pair in ((no, no), (no, unknown), (unknown, yes))] == [False, None, True]
    assert [gated([gate], no).holds for gate in (yes, no, unknown)] == [False, None, None]


# ---- the best of the others ------------------------------------------------------------------------------------------


def test_golden_difference_from_the_best_of_the_others() -> None:
    """The least difference decides; of the interval, the least of the lower and of the upper limits."""
    best = from_best([Difference(0.3, 0.1, 0.5, 5), Difference(0.2, -0.1, 0.6, 5), Difference(0.4, 0.2, 0.45, 5)])
    assert best[:4] == (0.2, -0.1, 0.45, 5)


ARMS: dict[str, Any] = {"bases": ["attention"], "variants": {"a": {}, "b": {"width": 8}, "c": {"width": 12}}}


def outcomes(first: float, outcome: str, margin: float, times: int = 600) -> Counter[bool | None]:
    """How often `a`, whose mean is `first`, is so beside the best of the others, whose means are 0; s is 1."""
    expected = Expectation.model_validate({"each": ["a"], "is": outcome, "than": "best", "margin": margin})
    config = TranslatorComparisonConfig.model_validate(
        ARMS | {"metric": "bleu", "expect": [expected.model_dump(by_alias=True)]}
    )
    comparison, random = TranslatorComparison(config), np.random.default_rng(7)
    counts = Counter[bool | None]()
    for _ in range(times):
        rows = random.normal(size=(3, 5)) + np.array([[first], [0.0], [0.0]])
        by = {name: Measured(1, {"bleu": row.tolist()}) for name, row in zip("abc", rows, strict=True)}
        counts[comparison.judged(expected, by)[0].holds] += 1
    return counts


@pytest.mark.parametrize(
    ("first", "outcome", "margin", "wrong"),
    [
        (0.0, "better", 0.1, True),
        (0.0, "as good", 0.0, True),
        (-3.0, "as good", 3.0, True),  # worse by just the margin
        (0.0, "worse", 0.1, True),
        (3.0, "better", 3.0, False),  # better by just the margin
    ],
)
def test_of_equal_arms_a_verdict_is_wrong_as_seldom_as_promised(
    first: float, outcome: str, margin: float, wrong: bool
) -> None:
    """If a variant was compared with the best of all, itself included, it would be as good in a third of the runs."""
    assert outcomes(first, outcome, margin)[wrong] / 600 <= 0.05


@pytest.mark.parametrize(
    ("first", "outcome", "margin", "right"),
    [
        (6.0, "better", 0.5, True),
        (6.0, "as good", 0.5, True),
        (-6.0, "as good", 0.5, False),
        (-6.0, "worse", 0.5, True),
    ],
)
def test_a_real_difference_from_the_best_of_the_others_is_seen(
    first: float, outcome: str, margin: float, right: bool
) -> None:
    assert outcomes(first, outcome, margin)[right] / 600 > 0.9
