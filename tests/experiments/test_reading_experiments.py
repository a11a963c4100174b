"""Claims about classifiers and taggers: variants, inputs, verdicts by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from toy_rungs import MEAN

from claims.comparison import Comparison, Measured
from claims.reading.composition import Composition, CompositionConfig
from claims.reading.drawn_reviews import drawn_reviews, operators
from claims.reading.reading_comparison import (
    LabelComparison,
    ReadingComparisonConfig,
    ReviewComparison,
    ReviewComparisonConfig,
    VectorComparison,
    VectorComparisonConfig,
    shuffled,
)
from claims.reading.tagger_comparison import (
    HIDDEN,
    NameComparison,
    NameComparisonConfig,
    TaggerComparisonConfig,
    fitted_tagger,
    hidden,
    words_right,
)
from langladder.experiments.experiment import Data
from langladder.experiments.findings import Findings
from langladder.models.tagging.tagger import Tagger
from langladder.text.labelled.labelled import Example, Tagged
from tests.experiments.declared import findings_from as declared

COUNTED = {"name": "majority", "title": "Majority", "_target_": "langladder.models.classification.majority.Majority"}
CNN = MEAN | {
    "name": "textcnn",
    "title": "CNN",
    "_target_": "langladder.models.classification.textcnn.TextCNN",
    "model": {"embedding_dim": 12, "filters": 4},
}
TREE = MEAN | {
    "name": "tree_lstm",
    "title": "Tree",
    "_target_": "langladder.models.classification.tree_lstm.TreeLSTM",
    "model": {"embedding_dim": 12, "width": 12, "cell": "n_ary"},
}
TAGGER = {
    "name": "lstm",
    "title": "LSTM",
    "_target_": "langladder.models.tagging.recurrent.RecurrentTagger",
    "model": {"embedding_dim": 8, "width": 8},
    "training": {"lr": 0.02, "max_steps": 10},
}
READING: dict[str, Any] = {
    "rungs": {"mean": MEAN, "majority": COUNTED, "cnn": CNN},
    "effort": 0.1,
    "max_steps": 60,
    "bases": ["mean"],
    "variants": {"plain": {}, "wide": {"width": 16}, "counted": {"rung": "majority"}, "slow": {"lr": 0.001}},
    "metric": "accuracy",
    "expect": [{"each": ["plain"], "is": "better", "than": "counted", "margin": 0.01}],
}
TAGGING: dict[str, Any] = {
    "rungs": {"lstm": TAGGER},
    "effort": 0.1,
    "max_steps": 60,
    "bases": ["lstm"],
    "variants": {"softmax": {}, "crf": {"output": "crf"}},
    "expect": [
        {"each": ["crf"], "is": "better", "than": "softmax", "margin": 0.01},
        {"each": ["crf"], "is": "better", "than": "softmax", "metric": "invalid", "margin": 0.01},
    ],
    "metric": "f1",
}


def judged(comparison: Comparison[Any], **values: dict[str, list[float]]) -> Findings:
    """What a comparison finds in these values: variant → metric → a value a seed."""
    by = {name: Measured(10, some) for name, some in values.items()}
    return comparison.findings({next(iter(comparison.titles.values())): by})


def test_a_variant_is_a_rung_its_settings_its_training_and_what_it_is_given() -> None:
    config = ReadingComparisonConfig.model_validate(
        READING
        | {"variants": {"a": {"rung": "cnn", "filters": 8, "lr": 0.1, "shuffled": True}, "plain": {}, "counted": {}}}
    )
    rung, model, rest = config.variant("mean", config.changes()["a"])
    assert (rung.name, model) == ("textcnn", {"filters": 8})
    assert config.trained(rest) == {"lr": 0.1}
    assert config.extra(rest) == {"shuffled": True}
    assert config.training_of(rung, lr=0.1).max_steps == 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bases": ["cnm"]}, "'cnm' is not one of the rungs; allowed: mean, majority, cnn"),
        ({"variants": {"plain": {}, "counted": {"rung": "svm"}}}, "'svm' is not one of the rungs"),
        (
            {"variants": {"plain": {"filters": 3}, "counted": {}}},
            "'filters' is not a setting of mean_embedding; allowed: .*width",
        ),
        ({"variants": {"plain": {"rung": "majority", "lr": 0.1}, "counted": {}}}, "'lr' is not a setting of majority"),
        ({"variants": {"plain": {"width": 0}, "counted": {}}}, "width: 0 is not allowed"),
        ({"variants": {"plain": {"lr": -1.0}, "counted": {}}}, "lr: -1.0 is not allowed"),
        ({"variants": {"plain": {"shuffled": "yes"}, "counted": {}}}, "shuffled='yes' is not allowed"),
        ({"variants": {"plain": {"vectors": True}, "counted": {}}}, "'vectors' is not a setting of mean_embedding"),
        ({"model": {"depth": 3}}, "'depth' is not a setting of mean_embedding"),
        ({"metric": "f1"}, "'accuracy' or 'loss'"),
        (
            {"expect": [{"each": ["plain"], "is": "better", "than": "counted", "metric": "f1", "margin": 0}]},
            "metric='f1' is not allowed: one of accuracy, loss",
        ),
    ],
)
def test_a_yaml_that_says_something_wrong_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ReadingComparisonConfig.model_validate(READING | changes)


def test_unknown_bases_are_refused_by_name() -> None:
    variants = {"plain": {"rung": "mean"}, "counted": {"rung": "majority"}}
    config = ReadingComparisonConfig.model_validate(READING | {"bases": ["reviews"], "variants": variants})
    assert LabelComparison(config).titles == {"reviews": "reviews"}
    assert LabelComparison(ReadingComparisonConfig.model_validate(READING)).titles == {"mean": "Mean"}


def test_classifiers_are_compared_on_the_labelled_texts(data: Data) -> None:
    config = ReadingComparisonConfig.model_validate(READING | {"effort": 1.0, "max_steps": 200, "seeds": 2})
    completed = LabelComparison(config).run(data, seed=1, progress=lambda _: None)
    by = {str(row[1]): row for row in completed.rows}
    assert set(by) == {"plain", "wide", "counted", "slow"}
    assert by["counted"][2] == 5.0  # parameters: a count of each label
    assert float(by["plain"][3] or 0) > float(by["counted"][3] or 1)
    assert completed.reason == "2 seeds, 5 are needed" or "has not learnt" in completed.reason


def test_a_seed_sees_texts_of_its_own_where_not_all_are_read(data: Data) -> None:
    comparison = LabelComparison(ReadingComparisonConfig.model_validate(READING | {"labels": 400}))
    whole = comparison.texts(data)
    item, two = (comparison.part(whole, seed) for seed in (1, 2))
    assert len(item.train) == len(two.train) == 32 and len(item.validation) == len(two.validation) == 8
    assert set(item.train) != set(two.train)
    assert item.test == whole.test


def test_frozen_vectors_are_not_among_what_is_learnt(data: Data) -> None:
    variants = {"plain": {"vectors": True}, "counted": {"vectors": True, "frozen": True}}
    config = VectorComparisonConfig.model_validate(READING | {"variants": variants, "vector_lines": 200})
    (_, tuned, *_), (_, frozen, *_) = (
        row[1:] for row in VectorComparison(config).run(data, seed=1, progress=lambda _: None).rows
    )
    assert isinstance(tuned, float)
    assert isinstance(frozen, float)
    assert frozen == 12 * 12 + 12 + 5 * 12 + 5
    assert tuned > frozen


def test_shuffled_texts_hold_the_same_words_without_their_trees() -> None:
    texts = [Example("a b c d e f", label="x", tree="(a)"), Example("g h i j k", label="y")]
    result = shuffled(texts, 1)
    assert [sorted(item.text.split()) for item in result] == [text.text.split() for text in texts]
    assert [item.text for item in result] != [text.text for text in texts]
    assert [(item.label, item.tree) for item in result] == [("x", None), ("y", None)]
    assert shuffled(texts, 1) == result


def test_reviews_are_drawn_again_and_their_operators_counted() -> None:
    before: set[str] = set()
    first = drawn_reviews(50, seed=1, degrees=False, before=before)
    second = drawn_reviews(50, seed=1, degrees=True, before=before)
    assert not {item.text for item in first} & {item.text for item in second}
    assert {item.label for item in first} == {"negative", "positive"}
    assert {item.label for item in second} <= set("01234")
    assert operators(Example("anna doubted that the cake was not ugly , but the pie was lovely .")) == 3
    assert operators(Example("the cake was very lovely .")) == 0


def test_on_drawn_reviews_the_train_texts_hold_no_test_text(data: Data) -> None:
    values = READING | {"train_texts": 1000, "test_texts": 400, "metric": "composed"}
    comparison = ReviewComparison(ReviewComparisonConfig.model_validate(values))
    texts = comparison.texts(data)
    assert [len(part) for part in texts[1:]] == [100, 40, 40]
    assert not {item.text for item in texts.train} & {item.text for item in [*texts.validation, *texts.test]}


def findings_from(tree: tuple[float, float], sequence: tuple[float, float], noise: float = 0.0) -> Findings:
    """Accuracy within the trained lengths, and beyond."""
    cells = {
        title: {"within": [within] * 5, "beyond": [beyond + s * apart for s in (-1, 1, 0, 1, -1)]}
        for title, (within, beyond), apart in (("Tree-LSTM", tree, noise), ("LSTM", sequence, -noise))
    }
    for by in cells.values():
        by["further"] = [beyond - within for beyond, within in zip(by["beyond"], by["within"], strict=True)]
    return declared("composition", cells, {"within": 0.3})


def test_trees_lead_where_they_do_beyond_what_was_trained() -> None:
    assert findings_from((1.0, 0.95), (0.95, 0.75)).holds is True
    assert findings_from((1.0, 0.75), (1.0, 0.75)).holds is False
    assert findings_from((1.0, 0.9), (0.8, 0.7), noise=0.001).holds is False
    assert findings_from((0.3, 0.95), (0.3, 0.75)).holds is None
    result = findings_from((1.0, 0.95), (0.95, 0.75))
    assert (
        "0.950 (Tree-LSTM) against 0.750 (LSTM), 0.200 apart" in result.verdict
        and result.figures["tree_lstm_beyond"] == 0.95
    )


def test_composition_measures_as_many_reviews_of_every_length_and_trains_on_short_ones() -> None:
    expect = [{"each": ["tree"], "is": "better", "than": "mean", "margin": 0.01}]
    variants = {"tree": {"rung": "tree"}, "mean": {"rung": "mean"}}
    settings: dict[str, Any] = {"rungs": {"mean": MEAN, "tree": TREE}, "bases": ["reader"]}
    settings |= {"variants": variants, "expect": expect}
    config = CompositionConfig.model_validate(settings | {"effort": 0.02, "longest": 3, "most_trained": 1})
    experiment = Composition(config)
    before: set[str] = set()
    tests = experiment._tests(before)
    assert {number: len(reviews) for number, reviews in tests.items()} == dict.fromkeys(range(4), 20)
    assert all(operators(review) == number for number, reviews in tests.items() for review in reviews)
    assert max(map(operators, experiment._short(40, 1, before))) == 1
    with pytest.raises(ValidationError, match=r"most_trained=7, longest=7: some test reviews must be longer"):
        CompositionConfig.model_validate(settings | {"most_trained": 7})


def test_hidden_words_show_nothing_of_themselves() -> None:
    sentences = [Tagged(("a", "b", "c", "d"), ("X", "Y", "X", "Y"))] * 100
    gone = hidden(sentences, 0.25, 1)
    share = np.mean([word == HIDDEN for sentence in gone for word in sentence.words])
    assert 0.18 < share < 0.32
    assert [item.tags for item in gone] == [sentence.tags for sentence in sentences]
    assert hidden(sentences, 0.25, 1) == gone
    assert hidden(sentences, 0.0, 1) == sentences


def test_a_tagger_learns_in_the_bare_loop_and_its_hidden_words_are_counted_apart(data: Data) -> None:
    variants = {"softmax": {}, "crf": {"output": "crf"}}
    values = TAGGING | {"effort": 1.0, "max_steps": 200, "train_sentences": 200, "test_sentences": 60}
    comparison = NameComparison(NameComparisonConfig.model_validate(values | {"variants": variants}))
    sentences = comparison.sentences(data)
    assert set(sentences.tags) >= {"B-PER", "I-PER", "O"}
    assert not {item.words for item in sentences.train} & {item.words for item in sentences.test}
    rung = comparison.config.rungs["lstm"]
    tagger = fitted_tagger(rung, sentences, comparison.config.training_of(rung), seed=1, model={})
    right = words_right(tagger, sentences.test)
    outside = np.mean([tag == "O" for item in sentences.test for tag in item.tags or ()])
    assert right.mean() > outside
    measures = comparison.measures(tagger, hidden(sentences.test, 0.3, 1))
    assert measures["hidden"] < measures["accuracy"]


class Says(Tagger):
    """A tagger that says the same of every sentence."""

    def __init__(self, *tags: str) -> None:
        self.predicted = list(tags)

    def tag(self, sentences: Any) -> list[list[str]]:
        return [self.predicted for _ in sentences]

    def log_probs(self, sentences: Any) -> list[np.ndarray]:
        raise NotImplementedError

    def number_of_parameters(self) -> int:
        return 0

    def save(self, folder: Path) -> None:
        raise NotImplementedError


def test_names_are_counted_whole_and_impossible_tags_by_sentence() -> None:
    comparison = NameComparison(NameComparisonConfig.model_validate(TAGGING))
    test = [Tagged(("ann", "lee", HIDDEN), ("B-PER", "I-PER", "O"))]
    right = comparison.measures(Says("B-PER", "I-PER", "O"), test)
    assert right == {"accuracy": 1.0, "hidden": 1.0, "f1": 1.0, "invalid": 0.0}
    wrong = comparison.measures(Says("O", "I-PER", "B-PER"), test)
    assert wrong == {"accuracy": pytest.approx(1 / 3), "hidden": 0.0, "f1": 0.0, "invalid": 1.0}


def test_an_expectation_may_be_of_another_metric() -> None:
    comparison = NameComparison(NameComparisonConfig.model_validate(TAGGING))

    def values(f1: float, invalid: float) -> dict[str, list[float]]:
        return {"accuracy": [0.9] * 5, "hidden": [0.5] * 5, "f1": [f1] * 5, "invalid": [invalid] * 5}

    softmax = values(0.8, 0.1)
    better = judged(comparison, softmax=softmax, crf=values(0.9, 0.0))
    assert better.holds is True
    assert "impossible tags, share: 0.000 (crf) against 0.100 (softmax), 0.100 apart" in better.verdict
    assert judged(comparison, softmax=softmax, crf=values(0.9, 0.2)).holds is False
    assert judged(comparison, softmax=softmax, crf=values(0.7, 0.0)).holds is False
    with pytest.raises(ValidationError, match="metric='f1' is not allowed: one of accuracy, hidden"):
        TaggerComparisonConfig.model_validate(
            TAGGING | {"metric": "hidden", "expect": [TAGGING["expect"][0] | {"metric": "f1"}]}
        )
