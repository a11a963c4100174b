"""Figures of classifiers: against scikit-learn and statsmodels' definitions, by hand where they are small."""

import numpy as np
import pytest
from scipy.stats import binomtest, permutation_test
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support
from stated_answers import Says

from langladder.evaluation.classifier import evaluate_classifier
from langladder.evaluation.label_scores import (
    SHARES,
    calibration_error,
    confusion,
    coverage,
    macro_f1,
    per_label,
    reliability,
)
from langladder.evaluation.significance import LEVEL, holm, mcnemar, paired_randomisation
from langladder.ground.errors import InputError
from langladder.text.labelled.labelled import Example


def test_parity_of_confusion_and_f1_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    gold, predicted = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    matrix = confusion(gold, predicted, 4)
    np.testing.assert_array_equal(matrix, confusion_matrix(gold, predicted))
    scores = per_label(matrix, "abcd")
    wanted = precision_recall_fscore_support(gold, predicted)
    for index, name in enumerate(("precision", "recall", "f1", "support")):
        assert [getattr(score, name) for score in scores] == pytest.approx(wanted[index], abs=1e-6)
    assert macro_f1(scores) == pytest.approx(f1_score(gold, predicted, average="macro"), abs=1e-6)


def test_macro_f1_counts_labels_that_are_only_predicted() -> None:
    gold, predicted = np.array([0, 0, 1, 1]), np.array([0, 2, 1, 1])
    result = macro_f1(per_label(confusion(gold, predicted, 4), ["a", "b", "c", "never"]))
    assert result == pytest.approx(f1_score(gold, predicted, average="macro"), abs=1e-6)  # (2/3 + 1 + 0) / 3


def test_golden_calibration_by_hand() -> None:
    """Four answers at 0.9, two right; one at 0.5, right: ECE = 4/5 · |0.5 − 0.9| + 1/5 · |1 − 0.5| = 0.42."""
    bins = reliability(np.array([0.9, 0.9, 0.9, 0.9, 0.5]), np.array([True, True, False, False, True]))
    assert [item.count for item in bins] == [1, 4]
    assert calibration_error(bins) == pytest.approx(0.42)


def test_parity_of_mcnemar_with_the_binomial_test() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random(300) < 0.8, rng.random(300) < 0.7
    b, c = int((first & ~second).sum()), int((~first & second).sum())
    assert mcnemar(first, second) == pytest.approx(binomtest(b, b + c, 0.5).pvalue, rel=1e-9)
    assert mcnemar(first, first) == 1.0


def test_paired_randomisation_tells_a_difference_from_none() -> None:
    rng = np.random.default_rng(2)
    first = rng.random(400) < 0.8
    assert paired_randomisation(first, first & (rng.random(400) < 0.8)) < 0.01
    assert paired_randomisation(first, rng.permutation(first)) > 0.05
    assert paired_randomisation(first, first) == 1.0


@pytest.mark.parametrize("n", [1, 2, 5, 16])
def test_golden_randomisation_gives_no_verdict_that_n_cannot(n: int) -> None:
    """Of 2ⁿ choices of signs, two are as far from 0 as n equal differences of one sign."""
    assert paired_randomisation(np.full(n, 0.3), np.full(n, 0.1)) == pytest.approx(2 / 2**n)
    assert paired_randomisation(np.array([3, 1, 0]), np.array([0, 2, 0])) == 1.0  # 3 − 1: of ±2, ±4 none is nearer


def test_parity_of_the_randomisation_test_with_scipy() -> None:
    rng = np.random.default_rng(3)
    for size in (12, 150):
        first, second = rng.integers(0, 9, size), rng.integers(0, 8, size)
        theirs = permutation_test((first, second), lambda a, b: (a - b).mean(), permutation_type="samples", rng=1)
        assert paired_randomisation(first, second) == pytest.approx(theirs.pvalue, abs=0.01)


def test_a_clear_difference_stands_among_many_rungs() -> None:
    """Of 30 rungs, 435 pairs: the least p that drawn signs can give must be below 0.05 / 435."""
    first, second = np.ones(400), np.zeros(400)
    result = {(str(i), "other"): 1.0 for i in range(434)}
    adjusted = holm(result | {("best", "worst"): paired_randomisation(first, second)})
    assert [pair for pair, p in adjusted.items() if p <= LEVEL] == [("best", "worst")]


def test_golden_holm() -> None:
    """0.01 ≤ 0.05/3, 0.02 ≤ 0.05/2, 0.06 > 0.05."""
    result = holm({("a", "b"): 0.02, ("a", "c"): 0.01, ("b", "c"): 0.06})
    assert result == pytest.approx({("a", "c"): 0.03, ("a", "b"): 0.04, ("b", "c"): 0.06})


def test_page_of_a_classifier() -> None:
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    test = [Example(str(n), label=label, ceiling=0.9, log_prob=np.log(0.9)) for n, label in enumerate("aab")]
    page = evaluate_classifier(Says(probabilities, "ab"), test, name="says")
    assert page.scores.accuracy == pytest.approx(1 / 3, abs=1e-6)
    assert page.right == "100"
    assert page.confusion == [[1, 1], [1, 0]]
    assert page.scores.cross_entropy == pytest.approx(-np.log([0.9, 0.2, 0.4]).mean(), abs=1e-6)
    assert page.bayes_accuracy == pytest.approx(0.9)
    assert [(mistake.text, mistake.said) for mistake in page.mistakes] == [("1", "b"), ("2", "a")]  # the surest first
    assert page.figures()["accuracy"] == page.scores.accuracy
    assert type(page).model_validate_json(page.model_dump_json()) == page and "multi_label" not in page.model_dump()


def test_refuses_a_label_that_training_never_had() -> None:
    with pytest.raises(InputError, match="'c' is not one of the classifier's: a, b"):
        evaluate_classifier(Says(np.ones((1, 2)) / 2, "ab"), [Example("0", label="c")], name="says")
    with pytest.raises(InputError, match="no test text"):
        evaluate_classifier(Says(np.ones((1, 2)) / 2, "ab"), [], name="says")


def test_golden_accuracy_by_share_answered() -> None:
    sure = np.array([0.5, 0.95, 0.9, 0.7000009, 0.8, 0.9, 0.6, 0.99, 0.55, 0.3])
    right = np.array([0, 1, 1, 0, 1, 1, 0, 1, 1, 0], dtype=bool)
    result = coverage(sure, right)
    assert [(entry.threshold, entry.share, entry.accuracy) for entry in result] == [
        (0.8, 0.5, 1.0),
        (0.6, 0.7, 0.714286),
        (0.55, 0.8, 0.75),
        (0.5, 0.9, 0.666667),
        (0.3, 1.0, 0.6),  # of 0.95, too: half a text is a whole one
    ]
    assert coverage(sure[3:4], right[3:4])[0].threshold == 0.7  # rounded down, and still reached
    (item,) = coverage(np.full(4, 0.25), np.array([True, False, False, False]))  # equally sure: all or none
    assert (item.share, item.accuracy) == (1.0, 0.25)
    assert coverage(np.zeros(0), np.zeros(0, dtype=bool)) == [] and SHARES[-1] == 1.0
