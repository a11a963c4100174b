"""Classifiers that are counted or solved: against scikit-learn's own pipelines, saved and read back, refused."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.classification.counted_classifier import CountedClassifier, make
from langladder.models.classification.linear_classifier import LinearClassifier, LinearConfig
from langladder.models.classification.majority import Majority, MajorityConfig
from langladder.text.labelled.labelled import Example

TEXTS = [
    *(("the film was good .", "positive"), ("a very good film .", "positive"), ("not a bad play .", "positive")),
    *(("the play was bad .", "negative"), ("a very dull film .", "negative"), ("not good at all .", "negative")),
    *(("the soup was good .", "positive"), ("so dull a soup .", "negative")),
]
TRAIN = [Example(text, label=label) for text, label in TEXTS]
LABELS = ["negative", "positive"]
THREE = [*TRAIN, Example("who knows ?", label="unsure"), Example("hard to say ?", label="unsure")]


def linear(method: str, train: list[Example] = TRAIN, labels: list[str] = LABELS, **more: object) -> CountedClassifier:
    config = LinearConfig.model_validate({"method": method, "words": "whitespace", **more})
    model, _ = make(LinearClassifier, labels, train, train, settings=SimpleNamespace(model=config))
    return model


def words(text: str) -> list[str]:
    return text.lower().split()


@pytest.mark.parametrize("train", [TRAIN, THREE], ids=["two", "three"])
def test_parity_of_logistic_regression_with_scikit_learn(train: list[Example]) -> None:
    labels = sorted({str(item.label) for item in train})
    texts, gold = [item.text for item in train], [str(item.label) for item in train]
    peer = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), analyzer="word", token_pattern=r"\S+"), LogisticRegression(C=3.0)
    )
    peer.fit(texts, gold)
    own = linear("logistic", train, labels, strengths=[3.0]).log_probs(train)
    assert np.abs(own - peer.predict_log_proba(texts)).max() < 1e-3  # two solutions of one convex problem


@pytest.mark.parametrize("train", [TRAIN, THREE], ids=["two", "three"])
def test_parity_of_naive_bayes_with_scikit_learn(train: list[Example]) -> None:
    labels = sorted({str(item.label) for item in train})
    texts, gold = [item.text for item in train], [str(item.label) for item in train]
    peer = make_pipeline(CountVectorizer(analyzer=words), MultinomialNB(alpha=1.0)).fit(texts, gold)
    own = linear("naive_bayes", train, labels, ngrams=[1, 1], strengths=[1.0]).log_probs(train)
    np.testing.assert_allclose(own, peer.predict_log_proba(texts), atol=1e-9)


def test_nb_svm_counts_a_word_once_a_text_and_is_symmetric_for_two_labels() -> None:
    model = linear("nb_svm", ngrams=[1, 1], strengths=[1.0])
    assert isinstance(model, LinearClassifier)
    x = model.inputs(model.counts(TRAIN))
    assert set(np.unique(x.data)) == {1.0}  # a word counts once
    weights = model.weight[model.index["good"]]
    assert weights[1] > 0 > weights[0]
    assert weights[0] == pytest.approx(-weights[1])


def test_golden_nb_svm_between_naive_bayes_and_the_svm() -> None:
    def fitted(beta: float) -> LinearClassifier:
        settings = {"method": "nb_svm", "words": "whitespace", "ngrams": [1, 1], "strengths": [1.0], "smoothing": 0.5}
        model = LinearClassifier(LinearConfig.model_validate({**settings, "interpolation": beta}), LABELS)
        model.fit(TRAIN, [])
        return model

    bayes, half, svm = fitted(0.0), fitted(0.5), fitted(1.0)
    both = {
        word: [sum(word in e.text.split() and e.label == label for e in TRAIN) for label in LABELS]
        for word in bayes.index
    }
    sums = [sum(0.5 + counts[side] for counts in both.values()) for side in (0, 1)]
    ratios = np.array(
        [np.log((0.5 + both[w][0]) / sums[0]) - np.log((0.5 + both[w][1]) / sums[1]) for w in bayes.index]
    )
    scored = ratios != 0
    steps = bayes.weight[scored, 0] / ratios[scored]  # ‖w‖₁ / F, of each word
    np.testing.assert_allclose(steps, steps[0])
    np.testing.assert_allclose(np.abs(svm.weight[scored, 0] / ratios[scored]).sum() / len(scored), steps[0])
    np.testing.assert_allclose(half.weight, (bayes.weight + svm.weight) / 2)
    np.testing.assert_array_equal(half.bias, svm.bias)


@pytest.mark.parametrize("train", [TRAIN, THREE], ids=["two", "three"])
@pytest.mark.parametrize("method", ["naive_bayes", "logistic", "nb_svm"])
def test_learns_and_gives_probabilities(method: str, train: list[Example]) -> None:
    labels = sorted({str(item.label) for item in train})
    log_probs = linear(method, train, labels).log_probs(train)
    assert np.exp(log_probs).sum(axis=1) == pytest.approx(1.0)
    assert (log_probs.argmax(axis=1) == [labels.index(str(item.label)) for item in train]).mean() >= 0.75


def test_majority_gives_the_shares_of_the_labels() -> None:
    model, record = make(
        Majority,
        ["a", "b", "c"],
        [Example("x", label=item) for item in "aab"],
        [],
        settings=SimpleNamespace(model=MajorityConfig()),
    )
    assert record.curve == []
    np.testing.assert_allclose(np.exp(model.log_probs([Example("y")]))[0], np.array([2, 1, 0.5]) / 3.5)


@pytest.mark.parametrize("method", ["naive_bayes", "logistic", "nb_svm", "majority"])
def test_predictions_survive_save_and_load(method: str, tmp_path: Path) -> None:
    if method == "majority":
        model, _ = make(Majority, LABELS, TRAIN, TRAIN, settings=SimpleNamespace(model=MajorityConfig()))
    else:
        model = linear(method)
    model.save(tmp_path / "model")
    loaded = Classifier.load(tmp_path / "model")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.log_probs(TRAIN), model.log_probs(TRAIN))
    assert loaded.labels == LABELS
    assert loaded.number_of_parameters() == model.number_of_parameters()


def test_weights_of_words_add_up_to_the_score() -> None:
    model = linear("logistic")
    assert isinstance(model, LinearClassifier)
    example = Example("the film was not good .")
    explained = model.explain(example, 1)
    scores = (model.inputs(model.counts([example])) @ model.weight)[0]
    assert sum(explained.weights) == pytest.approx(scores[1] - scores.mean())
    assert explained.pieces == example.text.split()
    assert dict(zip(explained.pieces, explained.weights, strict=True))["good"] > 0


def test_words_of_the_second_text_are_reported_from_those_of_the_first() -> None:
    pairs = [Example("a dog barks", "a cat sleeps", label="no"), Example("a cat sleeps", "a dog barks", label="yes")]
    model = linear("naive_bayes", pairs, ["no", "yes"], ngrams=[1, 1])
    assert (model.log_probs(pairs).argmax(axis=1) == [0, 1]).all()


def test_missing_texts_and_damaged_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no training text"):
        make(Majority, LABELS, [], [], settings=SimpleNamespace(model=MajorityConfig()))
    model = linear("logistic")
    model.save(tmp_path / "model")
    for damage in ({"labels": ["a"]}, {"labels": ["a", "a"]}, [], {"labels": LABELS, "units": {}, "features": []}):
        (tmp_path / "model" / "reading.json").write_text(json.dumps(damage))
        with pytest.raises(InputError, match=r"reading\.json|arrays"):
            Classifier.load(tmp_path / "model")


def test_parity_of_balanced_logistic_regression_with_scikit_learn() -> None:
    labels = sorted({str(item.label) for item in THREE})
    texts, gold = [item.text for item in THREE], [str(item.label) for item in THREE]
    peer = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), analyzer="word", token_pattern=r"\S+"),
        LogisticRegression(C=3.0, class_weight="balanced"),
    )
    peer.fit(texts, gold)
    own, plain = (
        linear("logistic", THREE, labels, strengths=[3.0], class_weights=choice).log_probs(THREE)
        for choice in ("balanced", "none")
    )
    assert np.abs(own - peer.predict_log_proba(texts)).max() < 1e-3 < np.abs(own - plain).max()


@pytest.mark.parametrize("method", ["naive_bayes", "logistic", "nb_svm"])
def test_balanced_weights_say_a_rare_label_more_often(method: str) -> None:
    texts = ["good", "good", "good", "bad"] * 10
    train = [
        Example(f"it is {word}", label="negative" if index % 10 == 3 else "positive")
        for index, word in enumerate(texts)
    ]
    rare = {
        choice: linear(method, train, class_weights=choice, strengths=[1.0]).log_probs([Example("it is bad")])[0, 0]
        for choice in ("none", "balanced")
    }
    assert rare["balanced"] > rare["none"] + 0.1
