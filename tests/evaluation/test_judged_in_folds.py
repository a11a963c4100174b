"""Models of folds judged together: each item by its own model, pooled figures and each fold's, words of its own."""

import numpy as np
import pytest

from langladder.evaluation.classifier import evaluate_classifier
from langladder.evaluation.folds import out_of_fold
from langladder.evaluation.predictions import Prediction
from langladder.evaluation.tagger import evaluate_tagger
from langladder.models.classification.majority import Majority
from langladder.models.tagging.most_frequent import MostFrequentTag
from langladder.text.labelled.folds import Folds
from langladder.text.labelled.labelled import Example, Tagged


class Sure(Majority):
    """Says one label of everything."""

    def __init__(self, predicted: int) -> None:
        self.labels, self.predicted = ["a", "b"], predicted

    def number_of_parameters(self) -> int:
        return 0

    def log_probs(self, examples: object) -> np.ndarray:
        return np.log(np.tile(np.where(np.arange(2) == self.predicted, 0.9, 0.1), (len(examples), 1)))  # type: ignore[arg-type]


def test_each_text_is_answered_by_the_model_of_its_fold() -> None:
    texts = [Example(f"word{number} all", label="ab"[number % 2]) for number in range(8)]
    whole = Folds(texts, np.array([1, 2, 3, 1, 2, 3, 1, 2]), 3)
    folds = out_of_fold(whole, [Sure(0), Sure(1), Sure(0)], lambda _, item: item.text.split())
    table: list[Prediction] = []
    page = evaluate_classifier(Sure(1), texts, name="x", folds=folds, table=table)
    # fold 1: texts 0, 3, 6 of a, b, a, all said a; fold 2: 1, 4, 7 of b, a, b, all said b; fold 3: 2, 5 of a, b, said a
    assert [item.prediction for item in table] == ["a", "b", "a", "a", "b", "a", "a", "b"]
    assert page.right == "11100011" and page.scores.accuracy == 5 / 8 and page.texts == 8
    each = [2 / 3, 2 / 3, 1 / 2]
    assert page.by_fold is not None and page.by_fold.folds == 3
    assert page.by_fold.accuracy_mean == pytest.approx(np.mean(each), abs=1e-6)
    assert page.by_fold.accuracy_sd == pytest.approx(np.std(each, ddof=1), abs=1e-6)
    # fold 1: F₁ of a is 2·2 / (3 + 2), of b 0; fold 2 likewise; fold 3: of a 2·1 / (2 + 1)
    assert page.by_fold.f1_mean == pytest.approx(np.mean([0.4, 0.4, 1 / 3]), abs=1e-6)
    figures = page.figures()
    assert figures["fold_accuracy_mean"] == page.by_fold.accuracy_mean and figures["fold_folds"] == 3
    # the model of fold 1 was trained on fold 3 alone, texts 2 and 5: fold 2 validates it
    assert [item.unknown for item in table if item.item in (0, 3, 6)] == ["word0", "word3", "word6"]
    assert folds.known[0] == {"all", "word2", "word5"} and folds.known[2] == {"all", "word1", "word4", "word7"}
    assert [item.said for item in page.shown] == [item.prediction for item in table]
    assert evaluate_classifier(Sure(1), texts, name="x").by_fold is None


class Always(MostFrequentTag):
    """Tags every word alike."""

    def __init__(self, tag: str) -> None:
        self.tags, self.tag_of_all = ["N", "V"], tag

    def number_of_parameters(self) -> int:
        return 0

    def tag(self, sentences: object) -> list[list[str]]:
        return [[self.tag_of_all] * len(sentence) for sentence in sentences]  # type: ignore[attr-defined]

    def log_probs(self, sentences: object) -> list[np.ndarray]:
        row = np.where(np.array(self.tags) == self.tag_of_all, 0.9, 0.1)
        return [np.log(np.tile(row, (len(sentence), 1))) for sentence in sentences]  # type: ignore[attr-defined]


def test_sentences_likewise() -> None:
    sentences = [Tagged(("x", f"y{n}"), ("N", "V")) for n in range(4)] + [Tagged(("x",), ("N",))] * 2
    whole = Folds(sentences, np.array([1, 2, 3, 1, 2, 3]), 3)
    folds = out_of_fold(whole, [Always("N"), Always("V"), Always("V")], lambda _, item: item.words)
    table: list[Prediction] = []
    page = evaluate_tagger(Always("N"), sentences, known=(), name="x", folds=folds, table=table)
    assert [item.prediction for item in table] == ["N", "N", "V", "V", "V", "V", "N", "N", "V", "V"]
    assert page.scores.accuracy == 0.4 and page.right == [1, 1, 1, 1, 0, 0]
    assert page.by_fold is not None and page.by_fold.accuracy_mean == pytest.approx(
        (1 / 2 + 1 / 3 + 1 / 3) / 3, abs=1e-6
    )
    assert [item.unknown for item in table] == ["", "y0", "", "y1", "", "y2", "", "y3", "", ""]
