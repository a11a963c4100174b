"""Accuracy by number of labels: subsets, intervals, verdicts that follow the numbers."""

from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from toy_rungs import MEAN

from langladder.experiments.experiment import Data
from langladder.experiments.reading import reading_training
from langladder.experiments.reading.by_labels import (
    LabelCurve,
    LabelCurveConfig,
    Measured,
    corpus,
    curve_findings,
    fitting,
    stratified,
    subset,
    vector_findings,
)
from langladder.experiments.reading.reading_training import Texts, fitted, right_labels, scored
from langladder.experiments.reading.small_vectors import small_vectors
from langladder.experiments.statistics import difference
from langladder.models.classification.neural_classifier import NeuralClassifier
from langladder.text.labelled.labelled import Example
from pipeline.tracking.code_version import files_of

LOGISTIC = {
    "name": "logistic",
    "title": "Logistic",
    "_target_": "langladder.models.classification.linear_classifier.LinearClassifier",
}


def settings(**changes: Any) -> LabelCurveConfig:
    values = {"rungs": {"mean": MEAN, "logistic": LOGISTIC}, "baseline": "logistic", "vectors": ["mean"]}
    return LabelCurveConfig.model_validate(values | {"effort": 0.1, "counts": [16, 64]} | changes)


def texts(*counts: int) -> Texts:
    """So many texts of each label a, b, …, all different."""
    labels = [chr(ord("a") + place) for place in range(len(counts))]
    rows = [Example(f"{label}{row}", label=label) for label, n in zip(labels, counts, strict=True) for row in range(n)]
    return Texts(labels, rows, rows[:3], rows)


def test_every_beginning_of_the_order_has_the_shares_of_the_whole() -> None:
    whole = texts(600, 300, 100)
    order = stratified(whole.train, 1)
    assert sorted(order) == list(range(1000))
    for count in (10, 50, 200):
        said = [whole.train[row].label for row in order[:count]]
        assert [said.count(label) for label in "abc"] == [round(share * count) for share in (0.6, 0.3, 0.1)]


def test_a_larger_subset_contains_a_smaller_one_and_a_fifth_is_held_out() -> None:
    whole = texts(60, 60)
    small, large = (subset(whole, count, 3) for count in (20, 60))
    assert {*small.train, *small.validation} < {*large.train, *large.validation}
    assert (len(small.train), len(small.validation)) == (16, 4)
    assert sorted(str(one.label) for one in small.validation) == ["a", "a", "b", "b"]
    assert not set(small.train) & set(small.validation)
    assert subset(whole, 20, 3) == small
    assert set(subset(whole, 20, 4).train) != set(small.train)


def test_numbers_of_labels_that_do_not_fit_are_left_out() -> None:
    assert fitting([5, 16, 64, 1024], texts(*[5] * 12)) == [16]


def test_the_interval_of_a_difference_holds_it_and_shrinks_with_the_texts() -> None:
    random = np.random.default_rng(0)
    few, many = (difference(random.random((3, n)) < 0.8, random.random((3, n)) < 0.6) for n in (50, 5000))
    for found in (few, many):
        assert found.low < found.mean < found.high
    assert many.high - many.low < few.high - few.low
    assert many.low > 0.15
    same = difference(np.ones((3, 10), dtype=bool), np.ones((3, 10), dtype=bool))
    assert (same.mean, same.low, same.high) == (0.0, 0.0, 0.0)
    assert str(many).startswith(f"{100 * many.mean:+.1f} points (")


def measured(**accuracies: list[float]) -> Measured:
    """Titles with their accuracy at 16, 64, 256 labels, on 400 texts by five seeds."""
    right = {
        title: {n: np.arange(400)[None].repeat(5, axis=0) % 100 < 100 * one for n, one in zip((16, 64, 256), some)}  # noqa: B905
        for title, some in accuracies.items()
    }
    return Measured(right, [title for title in accuracies if title != "base"], 0.95, 0.5)


@pytest.mark.parametrize(
    ("network", "holds", "start"),
    [
        ([0.5, 0.7, 0.9], True, "256"),
        ([0.5, 0.8, 0.9], True, "64"),
        ([0.6, 0.8, 0.9], False, "16"),
        ([0.5, 0.8, 0.8], False, "never"),
    ],
)
def test_the_verdict_says_from_how_many_labels_on_a_network_is_better(
    network: list[float], holds: bool, start: str
) -> None:
    found = curve_findings(measured(base=[0.5, 0.7, 0.8], net=network), "base", 0.01)
    assert found.holds is holds
    assert [row[-2] for row in found.rows] == ["baseline", start]
    assert (f"net from {start} labels on" in found.verdict) is (start != "never")
    assert found.plots[0].levels == {"most frequent label": 0.5, "best possible": 0.95}


def test_vectors_help_where_they_gain_and_less_with_all_labels() -> None:
    helped = {"net": [0.5, 0.6, 0.8], "net, pre-trained": [0.6, 0.8, 0.82]}
    assert vector_findings(measured(**helped), 0.01).holds is True
    assert vector_findings(measured(**{"net": helped["net"], "net, pre-trained": [0.5, 0.6, 0.9]}), 0.01).holds is False
    assert vector_findings(measured(**{"net": helped["net"], "net, pre-trained": helped["net"]}), 0.01).holds is False
    assert vector_findings(measured(net=helped["net"]), 0.01).holds is None


def test_a_network_ends_with_its_best_validation_weights(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    config = settings(effort=1.0, max_steps=60)
    whole, rung = corpus(data, config), config.rungs["mean"]
    seen: list[tuple[float, float]] = []

    def noted(classifier: Any, examples: Any) -> tuple[float, float]:
        seen.append(scored(classifier, examples))
        return seen[-1]

    monkeypatch.setattr(reading_training, "scored", noted)
    model = fitted(rung, whole, config.training_of(rung, lr=0.3, schedule="constant"), seed=1)
    assert len(seen) == reading_training.VALIDATIONS
    assert scored(model, whole.validation) == max(seen) != seen[-1]
    assert isinstance(model, NeuralClassifier)
    assert not model.training


def test_it_measures_what_the_seed_decides_whatever_the_state_of_torch(data: Data) -> None:
    config = settings()
    whole, rung = corpus(data, config), config.rungs["mean"]
    found = []
    for state in (1, 2):
        torch.manual_seed(state)
        found.append(right_labels(fitted(rung, whole, config.training_of(rung), seed=5), whole.test))
    assert (found[0] == found[1]).all()


def test_vectors_are_put_into_the_network_and_are_as_wide_as_its_table(data: Data) -> None:
    vectors = small_vectors(data, dim=12, epochs=1, lines=200, seed=1)
    assert vectors.matrix.std() == pytest.approx(12**-0.5, rel=1e-5)
    config = settings()
    whole, rung = corpus(data, config), config.rungs["mean"]
    model: Any = fitted(rung, whole, config.training_of(rung), seed=1, vectors=vectors, frozen=True)
    word = next(word for word in model.units.words if word in vectors)
    row = model.units.ids([word])[0]
    assert np.allclose(model.embedding.weight[row].detach().numpy(), vectors[word])


def test_every_line_is_measured_at_every_number_of_labels(data: Data) -> None:
    told: list[str] = []
    config = settings(seeds=20)  # effort 0.1: two of them
    found = LabelCurve(config).measure(data, seed=1, progress=told.append)
    assert list(found.right) == ["Mean", "Logistic", "Mean, pre-trained"]
    assert found.counts == [16, 64, 540]
    assert {array.shape for by in found.right.values() for array in by.values()} == {
        (2, len(found.right["Mean"][16][0]))
    }
    assert found.ceiling is not None
    assert 0.5 < found.ceiling <= 1
    assert len(told) == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"baseline": "svm"}, "baseline='svm' is none of the rungs; allowed: mean, logistic"),
        ({"vectors": ["logistic"]}, "have no embedding; name networks"),
        ({"vectors": ["cnn"]}, r"vectors: \['cnn'\] are none of the rungs"),
        ({"counts": [64, 16]}, "rising numbers"),
        ({"counts": [2]}, "the first at least 5"),
        ({"rungs": {"mean": MEAN | {"_target_": "langladder.models.language.gpt.GPT"}}}, "is no Classifier"),
        ({"rungs": {"mean": MEAN | {"model": {"widht": 3}}}}, "widht"),
        ({"rungs": {"mean": MEAN | {"input": {"vectors": "input/vectors"}}}}, "an experiment trains its own vectors"),
        ({"rungs": {"mean": MEAN | {"input": {"units": "subwords"}}}}, "an experiment reads words"),
    ],
)
def test_settings_that_say_something_wrong_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ValidationError, ValueError), match=message):
        settings(**changes)


def test_an_edit_of_a_rungs_code_runs_the_claim_again() -> None:
    value = {
        "experiment": {
            "_target_": "langladder.experiments.reading.by_labels.LabelCurve",
            "settings": {"rungs": {"m": MEAN}},
        }
    }
    names = {file.name for file in files_of("experiment", value)}
    assert {"mean_embedding.py", "by_labels.py", "neural_classifier.py", "inputs.py"} <= names
    assert "textcnn.py" not in names
