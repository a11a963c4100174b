"""Multi-label texts: binary cross-entropy and F₁ against scikit-learn and by hand, every rung that takes them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fine_tuned_rungs import TEXTS, TOKENIZER, saved_bert, saved_gpt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, log_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from stated_answers import Says

from langladder.answers.classify import classify
from langladder.answers.requests import ClassifyRequest
from langladder.evaluation.classifier import evaluate_classifier
from langladder.evaluation.predictions import Prediction
from langladder.formats.bert import fine_tuned_config
from langladder.formats.onnx import _Classifier as OnnxGraph
from langladder.ground.errors import InputError
from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.classification.classifier import (
    Classifier,
    decided,
    is_multi_label,
    label_sets,
    log_prob_of_sets,
    micro_f1,
)
from langladder.models.classification.counted_classifier import make as make_counted
from langladder.models.classification.fasttext import FastText, FastTextConfig
from langladder.models.classification.gpt_classifier import GPTClassifier
from langladder.models.classification.linear_classifier import LinearClassifier, LinearConfig
from langladder.models.classification.majority import Majority
from langladder.models.classification.neural_classifier import NeuralClassifier, collate
from langladder.models.classification.recurrent_classifier import RecurrentClassifier
from langladder.models.classification.textcnn import TextCNN
from langladder.models.classification.tree_lstm import TreeLSTM
from langladder.models.making import Run
from langladder.models.units import SubwordUnits, WordUnits
from langladder.tasks.classification import Classification, make
from langladder.tasks.fine_tuning import begin
from langladder.tasks.settings import ClassifierTraining, ReadingInput
from langladder.text.labelled.labelled import Example

LABELS = ["animals", "food", "work"]
WORDS = {"animals": ["dog", "cat", "cow"], "food": ["bread", "soup", "apple"], "work": ["desk", "boss", "file"]}
COUNTED: dict[str, tuple[type[Any], Any]] = {
    "majority": (Majority, Majority.Config()),
    **{name: (LinearClassifier, LinearConfig(method=name)) for name in ("naive_bayes", "logistic", "nb_svm")},
}
SMALL = {"embedding_dim": 8, "width": 8}
NETWORKS: dict[str, tuple[type[NeuralClassifier], dict[str, Any]]] = {
    "textcnn": (TextCNN, {"embedding_dim": 12, "filters": 6, "widths": [2, 3]}),
    "lstm": (RecurrentClassifier, SMALL),
    "bert": (BERTClassifier, {"dropout": 0.0}),
    "gpt": (GPTClassifier, {"dropout": 0.0}),
}
UNITS = WordUnits(sorted({word for text in TEXTS for word in text.split()}), "whitespace")


def data(count: int, seed: int = 0) -> list[Example]:
    """Texts with none, one or several labels, each with a word or two of its own; some words mislead."""
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(count):
        labels = [label for label in LABELS if rng.random() < 0.4]
        words = [str(rng.choice(WORDS[label])) for label in labels]
        words += [str(rng.choice(WORDS[str(rng.choice(LABELS))]))] * int(rng.random() < 0.3)
        words += rng.choice(["the", "a", "of", "and", "in"], 4).tolist()
        result.append(Example(" ".join(rng.permutation(words)), labels=tuple(labels)))
    return result


TRAIN, TEST = data(150), data(60, 1)


# ---- figures


def test_parity_of_figures_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    p, gold = rng.random((80, 4)), rng.random((80, 4)) < 0.4
    names = "abcd"
    test = [
        Example(str(n), labels=tuple(name for name, own in zip(names, row, strict=True) if own))
        for n, row in enumerate(gold)
    ]
    table: list[Prediction] = []
    page = evaluate_classifier(Says(p, names, multi_label=True), test, name="says", table=table)
    chosen, scores = p >= 0.5, page.multi_label
    assert scores is not None and page.confusion == []
    assert page.scores.accuracy == pytest.approx(accuracy_score(gold, chosen), abs=1e-6)  # the exact match
    assert scores.micro_f1 == pytest.approx(f1_score(gold, chosen, average="micro"), abs=1e-6)
    assert page.scores.macro_f1 == pytest.approx(f1_score(gold, chosen, average="macro"), abs=1e-6)
    assert scores.label_accuracy == pytest.approx(1 - hamming_loss(gold, chosen), abs=1e-6)
    by_label = [log_loss(own, q) for own, q in zip(gold.T, p.T, strict=True)]
    assert page.scores.cross_entropy == pytest.approx(sum(by_label), abs=1e-5)
    assert [item.f1 for item in page.per_label] == pytest.approx(f1_score(gold, chosen, average=None), abs=1e-6)
    assert scores.labels_per_text == pytest.approx(chosen.sum() / 80) and page.figures()["micro_f1"] == scores.micro_f1
    assert page.right == "".join("1" if (g == s).all() else "0" for g, s in zip(gold, chosen, strict=True))
    assert [row.right for row in table] == [item == "1" for item in page.right]
    assert type(page).model_validate_json(page.model_dump_json()) == page


def test_golden_probability_of_a_set_by_hand() -> None:
    """P({a}) = 0.9 · (1 − 0.2) = 0.72; P({}) = 0.1 · 0.8 = 0.08; F₁ = 2 · 1 / (2 + 1)."""
    page_of = Says(np.array([[0.9, 0.2], [0.4, 0.3]]), "ab", multi_label=True)
    table: list[Prediction] = []
    page = evaluate_classifier(
        page_of, [Example("0", labels=("a",)), Example("1", labels=("b",))], name="says", table=table
    )
    assert [(item.truth, item.prediction, item.probability) for item in table] == [
        ("a", "a", 0.72),
        ("b", "(none)", 0.42),
    ]
    assert table[1].loss == pytest.approx(-np.log(0.6 * 0.3), abs=1e-6)
    assert page.multi_label is not None and page.multi_label.micro_f1 == pytest.approx(2 / 3, abs=1e-6)
    sets = np.array([[True, False]])
    assert np.isfinite(log_prob_of_sets(np.array([[0.0, -1e-18]]), sets)).all()  # as sure as can be, and wrong
    assert log_prob_of_sets(np.array([[-1e-30, -1e-30]]), sets)[0] == pytest.approx(np.log(1e-30))
    assert micro_f1(np.zeros((2, 2), bool), np.zeros((2, 2), bool)) == 0.0


def test_texts_with_one_label_and_with_several_do_not_mix() -> None:
    with pytest.raises(InputError, match=r"'one': has one label \(food\), and other texts a set.*multi_label"):
        is_multi_label([TRAIN[0], Example("one", label="food")])
    one_label, several = (Says(np.full((1, 2), 0.5), "ab", multi_label=multi_label) for multi_label in (False, True))
    with pytest.raises(InputError, match=r"has a set of labels \(a\).*one label each"):
        evaluate_classifier(one_label, [Example("0", labels=("a",))], name="says")
    with pytest.raises(InputError, match=r"has one label.*a set of labels each"):
        evaluate_classifier(several, [Example("0", label="a")], name="says")
    with pytest.raises(InputError, match="'c' is not one of the classifier's: a, b"):
        evaluate_classifier(several, [Example("0", labels=("a", "c"))], name="says")


# ---- what is counted or solved


@pytest.mark.parametrize("name", COUNTED)
def test_counted_classifiers_learn_and_are_saved(name: str, tmp_path: Path) -> None:
    kind, config = COUNTED[name]
    model, _ = make_counted(kind, LABELS, TRAIN, TEST, settings=SimpleNamespace(model=config))
    gold = label_sets(TEST, LABELS)
    assert model.multi_label and (micro_f1(gold, decided(model.log_probs(TEST))) > 0.8) == (name != "majority")
    model.save(tmp_path / "model")
    loaded = Classifier.load(tmp_path / "model")
    assert loaded.multi_label
    np.testing.assert_array_equal(loaded.log_probs(TEST), model.log_probs(TEST))
    if name == "majority":
        np.testing.assert_allclose(np.exp(model.log_probs(TEST))[0], label_sets(TRAIN, LABELS).mean(axis=0))


@pytest.mark.parametrize(
    ("method", "peer", "strength"),
    [("logistic", LogisticRegression(C=3.0, max_iter=1000), 3.0), ("naive_bayes", MultinomialNB(alpha=0.5), 0.5)],
)
def test_parity_with_scikit_learns_one_against_the_rest(method: Any, peer: Any, strength: float) -> None:
    model = LinearClassifier(LinearConfig(method=method, strengths=[strength], words="whitespace"), LABELS)
    model.multi_label = True
    model.fit(TRAIN, TEST)
    x, held = (model.inputs(model.counts(split)) for split in (TRAIN, TEST))
    wanted = OneVsRestClassifier(peer).fit(x, label_sets(TRAIN, LABELS)).predict_proba(held)
    np.testing.assert_allclose(np.exp(model.log_probs(TEST)), wanted, atol=2e-4)


def test_models_without_multi_label_support_raise_an_error() -> None:
    assert "gives each text one label" in str(FastText.refuses_multi_label(FastTextConfig()))
    assert "each node of a tree" in str(TreeLSTM.refuses_multi_label(TreeLSTM.Config()))
    weighed = LinearConfig(class_weights="balanced")
    assert LinearClassifier.refuses_multi_label(weighed) == "model.class_weights: balanced; allowed: none"
    network = RecurrentClassifier(RecurrentClassifier.Config.model_validate(SMALL), UNITS.full_vocab_size, 3)
    network.equip(UNITS, LABELS, multi_label=True)
    assert Classification(network, ClassifierTraining()).monitor == "validation_micro_f1"
    assert Classification(network, ClassifierTraining(early_stopping="validation_loss")).monitor == "validation_loss"
    with pytest.raises(InputError, match="class_weights: balanced, but the texts are multi-label; allowed: none"):
        Classification(network, ClassifierTraining(class_weights="balanced"))


# ---- networks


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bases")
    return {"bert": saved_bert(folder / "bert"), "gpt": saved_gpt(folder / "gpt")}


def network_of(name: str, bases: dict[str, Path]) -> NeuralClassifier:
    kind, settings = NETWORKS[name]
    config: Any = kind.Config.model_validate(settings)
    if name in bases:
        rung: Any = SimpleNamespace(name=name, model=config)
        network: Any = begin(kind, rung, bases[name], len(LABELS), seed=1)[0]
        return network.equip(SubwordUnits(TOKENIZER), LABELS, multi_label=True).eval()  # type: ignore[no-any-return]
    torch.manual_seed(1)
    return kind(config, UNITS.full_vocab_size, len(LABELS)).equip(UNITS, LABELS, multi_label=True).eval()


ROWS = [
    Example(text, labels=labels)
    for text, labels in zip(
        [*TEXTS, "cats"], [(), ("food",), ("animals", "work"), tuple(LABELS), ("work",), ()], strict=True
    )
]
SETS = torch.from_numpy(label_sets(ROWS, LABELS))  # (N, C)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_loss_is_binary_cross_entropy_and_reaches_every_parameter(name: str, bases: dict[str, Path]) -> None:
    network = network_of(name, bases)
    batch = collate([network.encode(row) for row in ROWS])
    loss, *_ = network.means(batch, SETS)
    p = np.exp(network.log_probs(ROWS))
    assert loss.item() == pytest.approx(sum(log_loss(y, q) for y, q in zip(SETS.numpy().T, p.T, strict=True)), rel=1e-4)
    assert loss.item() == pytest.approx(-log_prob_of_sets(np.log(p), SETS.numpy()).mean(), rel=1e-4)
    network.loss(batch, SETS).backward()  # type: ignore[no-untyped-call]
    for parameter_name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, parameter_name
    smoothed = network.label_loss(torch.zeros(6, 3), SETS, 0.2)
    assert smoothed.item() == pytest.approx(3 * np.log(2), rel=1e-5)
    assert torch.isfinite(network.trial_loss(2, 5))


@pytest.mark.parametrize("name", NETWORKS)
def test_two_batches_are_learnt_by_heart_and_kept(name: str, bases: dict[str, Path], tmp_path: Path) -> None:
    network = network_of(name, bases)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    batches = [(collate([network.encode(row) for row in ROWS[own]]), SETS[own]) for own in (slice(3), slice(3, 6))]
    for step in range(90):
        optimizer.zero_grad()
        network.label_loss(network.logits(batches[step % 2][0]), batches[step % 2][1], 0.0).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert -log_prob_of_sets(network.log_probs(ROWS), SETS.numpy()).mean() < 0.3
    (item,) = classify(network, [ROWS[2]], ClassifyRequest())
    assert item.given is not None and item.given.labels == ["animals", "work"] and item.best()[0] == "animals, work"
    assert item.top == [("animals, work", item.given.probability)]
    (every,) = classify(network, [ROWS[0]], ClassifyRequest(top=None, explain=True))
    assert every.given is not None and every.given.labels == [] and len(every.top) == 3
    assert every.explained is not None and every.explained.said == "(none)"
    assert every.as_dict()["given"] == {"labels": [], "probability": every.given.probability}
    network.save(tmp_path / "model")
    loaded = Classifier.load(tmp_path / "model")
    assert loaded.multi_label
    np.testing.assert_array_equal(loaded.log_probs(ROWS), network.log_probs(ROWS))
    if name == "bert":
        assert isinstance(network, BERTClassifier)
        assert fine_tuned_config(network)["problem_type"] == "multi_label_classification"
        np.testing.assert_allclose(
            OnnxGraph(network)(batches[0][0].tokens).detach(), network.log_probs(ROWS[:3]), rtol=1e-4
        )


def test_training_keeps_the_weights_with_the_best_micro_f1(tmp_path: Path) -> None:
    settings: Any = SimpleNamespace(
        model=TextCNN.Config.model_validate({"embedding_dim": 16, "filters": 16, "widths": [1, 2], "dropout": 0.0}),
        input=ReadingInput(words="whitespace"),
        training=ClassifierTraining(batch_size=16, epochs=12, lr=0.02, progress=False, validations=6),
    )
    model, record = make(TextCNN, LABELS, TRAIN, TEST, settings=settings, run=Run(1, tmp_path))
    rows = [row for row in record.curve if row.get("validation_loss") is not None]
    best = max(rows, key=lambda row: row["validation_micro_f1"] or 0.0)
    gold, log_probs = label_sets(TEST, LABELS), model.log_probs(TEST)
    assert micro_f1(gold, decided(log_probs)) == pytest.approx(best["validation_micro_f1"])
    assert (decided(log_probs) == gold).all(axis=1).mean() == pytest.approx(best["validation_accuracy"])
    assert -log_prob_of_sets(log_probs, gold).mean() == pytest.approx(record.validation_loss, rel=1e-5)
    assert micro_f1(gold, decided(log_probs)) > 0.8
