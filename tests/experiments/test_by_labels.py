"""Accuracy by number of labels: subsets, intervals, verdicts that follow the numbers."""

from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from toy_rungs import MEAN

from claims.reading import reading_training
from claims.reading.by_labels import ByLabels, ByLabelsConfig
from claims.reading.reading_training import (
    Texts,
    corpus,
    fitted,
    fitting,
    right_labels,
    scored,
    stratified,
    subset,
)
from claims.reading.small_vectors import small_vectors
from langladder.experiments.experiment import Data
from langladder.experiments.findings import Findings
from langladder.experiments.statistics import difference
from langladder.ground.errors import InputError
from langladder.models.classification.neural_classifier import NeuralClassifier
from langladder.text.labelled.labelled import Example
from pipeline.tracking.code_version import files_of
from tests.experiments.declared import findings_from as declared

LOGISTIC = {
    "name": "logistic",
    "title": "Logistic",
    "_target_": "langladder.models.classification.linear_classifier.LinearClassifier",
}


VARIANTS: dict[str, Any] = {
    "Mean": {"rung": "mean"},
    "Logistic": {"rung": "logistic"},
    "begun": {"rung": "mean", "vectors": True},
}


def settings(**changes: Any) -> ByLabelsConfig:
    expect = [{"each": ["begun"], "is": "better", "than": "Mean", "margin": 0.01}]
    values = {"rungs": {"mean": MEAN, "logistic": LOGISTIC}, "bases": ["classifier"], "variants": VARIANTS}
    return ByLabelsConfig.model_validate(values | {"expect": expect, "effort": 0.1, "counts": [16, 64]} | changes)


def texts(*counts: int) -> Texts:
    """So many texts of each label a, b, …, all different."""
    labels = [chr(ord("a") + number) for number in range(len(counts))]
    rows = [Example(f"{label}{row}", label=label) for label, n in zip(labels, counts, strict=True) for row in range(n)]
    return Texts(labels, rows, rows[:3], rows)


def test_every_beginning_of_the_order_has_the_shares_of_the_whole() -> None:
    whole = texts(600, 300, 100)
    order = stratified(whole.train, 1)
    assert sorted(order) == list(range(1000))
    for count in (10, 50, 200):
        labels_so_far = [whole.train[row].label for row in order[:count]]
        assert [labels_so_far.count(label) for label in "abc"] == [round(share * count) for share in (0.6, 0.3, 0.1)]


def test_a_larger_subset_contains_a_smaller_one_and_a_fifth_is_held_out() -> None:
    whole = texts(60, 60)._replace(validation=[])
    small, large = (subset(whole, count, 3) for count in (20, 60))
    assert {*small.train, *small.validation} < {*large.train, *large.validation}
    assert (len(small.train), len(small.validation)) == (16, 4)
    assert sorted(str(item.label) for item in small.validation) == ["a", "a", "b", "b"]
    assert not set(small.train) & set(small.validation)
    assert subset(whole, 20, 3) == small
    assert set(subset(whole, 20, 4).train) != set(small.train)


def test_numbers_of_labels_that_do_not_fit_are_left_out_and_named() -> None:
    whole = texts(*[5] * 12)
    assert whole.size == 63
    assert fitting([5, 16, 62, 64, 1024], whole) == ([16, 62], "; 5, 64, 1,024 labels are not possible: there are 63")
    assert fitting([16], whole) == ([16], "")
    with pytest.raises(InputError, match=r"claim.settings.labels=64: there are 63 labels for training and validation"):
        subset(whole, 64, 1)


def test_all_labels_hold_out_the_same_share_as_a_subset(data: Data) -> None:
    """Of 432 texts for training and 108 for validation, no matter how the corpus divides them."""
    whole = corpus(data, settings())
    parts = {split: data.examples(split) for split in ("train", "validation", "test")}
    assert whole.size == len(parts["train"]) + len(parts["validation"])
    assert len(whole.validation) == whole.size // 5 and not set(whole.train) & set(whole.validation)
    assert {*whole.train, *whole.validation} == {*parts["train"], *parts["validation"]}
    assert (
        whole.remark()
        == f"; {len(whole.train):,} texts to train on, {len(whole.validation):,} others select the weights"
    )


def test_the_interval_of_a_difference_holds_it_and_shrinks_with_the_texts() -> None:
    random = np.random.default_rng(0)
    few, many = (difference(random.random((3, n)) < 0.8, random.random((3, n)) < 0.6) for n in (50, 5000))
    for result in (few, many):
        assert result.low < result.mean < result.high
    assert many.high - many.low < few.high - few.low
    assert many.low > 0.15
    same = difference(np.ones((3, 10), dtype=bool), np.ones((3, 10), dtype=bool))
    assert same.mean == 0.0 and same.low < 0 < same.high
    assert str(many).startswith(f"{100 * many.mean:+.1f} points (")


def right(few: float, all_labels: float) -> dict[str, np.ndarray]:
    """Of 400 texts by five seeds, with the fewest labels and with all."""
    item, every = (np.arange(400)[None].repeat(5, axis=0) % 100 < 100 * share for share in (few, all_labels))
    return {"few": item, "all": every, "fades": item.astype(float) - every}


@pytest.mark.parametrize(
    ("network", "holds"),
    [((0.5, 0.9), True), ((0.6, 0.9), False), ((0.5, 0.8), False), ((0.5, 0.4), False)],
)
def test_the_curves_verdict_follows_the_numbers(network: tuple[float, float], holds: bool) -> None:
    """Networks are no better than logistic regression with few labels, and one is with all."""
    base, nets = right(0.5, 0.8), ("Mean", "TextCNN", "BiLSTM", "TextCNN, begun")
    cells = {"Naive Bayes": base, "Logistic": base, **dict.fromkeys(nets, right(0.5, 0.7))}
    assert declared("label_curve", cells | {"TextCNN": right(*network)}, {"all": 0.5}).holds is holds
    assert declared("label_curve", cells | {"TextCNN": right(*network)}, {"all": 0.95}).holds is None


def vectors(*begun: float) -> Findings:
    plain = right(0.5, 0.8)
    rows = {"Mean, pre-trained": right(*begun), "TextCNN, pre-trained": right(0.6, 0.82)}
    return declared("vectors_by_labels", {"Mean": plain, "TextCNN": plain} | rows, {"all": 0.5})


def test_vectors_help_where_they_gain_and_less_with_all_labels() -> None:
    assert vectors(0.6, 0.82).holds is True
    assert vectors(0.5, 0.9).holds is False
    assert vectors(0.5, 0.8).holds is False
    assert vectors(0.6, 0.9).holds is None  # as much with all labels


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
    result = []
    for state in (1, 2):
        torch.manual_seed(state)
        result.append(right_labels(fitted(rung, whole, config.training_of(rung), seed=5), whole.test))
    assert (result[0] == result[1]).all()


def test_vectors_are_put_into_the_network_and_are_as_wide_as_its_table(data: Data) -> None:
    vectors = small_vectors(data, dim=12, epochs=1, lines=200, seed=1)
    assert vectors.matrix.std() == pytest.approx(12**-0.5, rel=1e-5)
    config = settings()
    whole, rung = corpus(data, config), config.rungs["mean"]
    model: Any = fitted(rung, whole, config.training_of(rung), seed=1, vectors=vectors, frozen=True)
    word = next(word for word in model.units.words if word in vectors)
    row = model.units.ids([word])[0]
    assert np.allclose(model.embedding.weight[row].detach().numpy(), vectors[word])


def test_every_variant_is_measured_at_every_number_of_labels(data: Data) -> None:
    progress: list[str] = []
    completed = ByLabels(settings(seeds=20)).run(data, seed=1, progress=progress.append)  # effort 0.1: two of them
    (curve,) = [plot for plot in completed.plots if plot.x_label == "labels"]
    assert [line.name for line in curve.series] == list(VARIANTS) and len(progress) == 3
    for row, line in zip(completed.rows, curve.series, strict=True):
        assert line.x == [16.0, 64.0, 540.0] and line.error is not None
        assert (line.y[-1], line.y[0]) == (row[3], row[5])
        assert row[6] == pytest.approx(float(str(row[5])) - float(str(row[3])), abs=1e-5)
    assert "; of all 540 labels 108 select the weights." in completed.verdict
    entry = ByLabels(settings(counts=[5000])).run(data, seed=1, progress=progress.append)
    assert [row[6] for row in entry.rows] == [None] * 3  # of one number nothing is said of what changes with it


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variants": VARIANTS | {"svm": {"rung": "svm"}}}, "'svm' is not one of the rungs; allowed: mean, logistic"),
        ({"variants": VARIANTS | {"odd": {"rung": "mean", "vectors": "yes"}}}, "vectors='yes' is not allowed"),
        ({"counts": [64, 16]}, "increasing numbers"),
        ({"counts": [2]}, "the first at least 5"),
        ({"rungs": {"mean": MEAN | {"_target_": "langladder.models.language.gpt.GPT"}}}, "is not a Classifier"),
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
        "claim": {
            "_target_": "claims.reading.by_labels.ByLabels",
            "settings": {"rungs": {"m": MEAN}},
        }
    }
    names = {file.name for file in files_of("claim", value)}
    assert {"mean_embedding.py", "by_labels.py", "neural_classifier.py", "inputs.py"} <= names
    assert "textcnn.py" not in names
