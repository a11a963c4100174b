"""Figures of taggers by hand, parity of phrases with seqeval, unknown words."""

import numpy as np
import pytest

from langladder.evaluation.tagger import FEWEST, TaggerPage, evaluate_tagger
from langladder.ground.errors import InputError
from langladder.models.tagging.tagger import Tagger
from langladder.text.labelled.labelled import Tagged


class Fixed(Tagger):
    """Predicts fixed tags with probability 0.8."""

    approach = "fixed"

    def __init__(self, tags, predictions):
        self.tags, self.predictions = tags, predictions

    def tag(self, sentences):
        return [self.predictions[words] for words in sentences]

    def log_probs(self, sentences):
        rows = [np.full((len(words), len(self.tags)), 0.2 / (len(self.tags) - 1)) for words in sentences]
        for row, tags in zip(rows, self.tag(sentences), strict=True):
            row[np.arange(len(tags)), [self.tags.index(tag) for tag in tags]] = 0.8
        return [np.log(row) for row in rows]

    def number_of_parameters(self):
        return 7

    def save(self, folder):
        raise NotImplementedError


TEST = [
    Tagged(("the", "dog", "sleeps"), ("D", "N", "V"), ceilings=(1.0, 1.0, 0.7)),
    Tagged((), ()),
    Tagged(("new", "dogs"), ("N", "N"), ceilings=(0.8, 1.0)),
]
SAID = {TEST[0].words: ["D", "N", "N"], TEST[2].words: ["N", "N"]}


def judged(test=TEST, predictions=SAID, tags=("D", "N", "V")) -> TaggerPage:
    return evaluate_tagger(Fixed(list(tags), predictions), test, known={"the", "dog", "sleeps"}, name="fixed")


def test_golden_figures():
    page = judged()
    scores = page.scores
    assert (page.sentences, page.words, page.right) == (2, 5, [2, 2])
    assert scores.accuracy == 0.8 and scores.sentences_right == 0.5
    assert (scores.unknown_words, scores.unknown_accuracy) == (2, None)  # too few
    # F₁: D 1, N 2·3/(3 + 4), V 0
    assert scores.macro_f1 == pytest.approx((1 + 6 / 7 + 0) / 3, abs=1e-6)
    assert scores.cross_entropy == pytest.approx(-(4 * np.log(0.8) + np.log(0.1)) / 5, abs=1e-6)
    assert scores.calibration_error == 0.0
    assert page.bayes_accuracy == pytest.approx(0.9)
    assert page.majority_accuracy == 0.6  # N for every word
    assert page.confusion == [[1, 0, 0], [0, 3, 0], [0, 1, 0]]
    assert scores.entity_f1 is None and "entity_f1" not in page.figures()
    assert page.shown[0][2].model_dump() == {
        "word": "sleeps", "tag": "V", "said": "N", "probability": 0.8, "unknown": False,
    }  # fmt: skip
    assert TaggerPage.model_validate(page.model_dump(mode="json")) == page


@pytest.mark.parametrize(("copies", "share"), [(FEWEST // 2, 0.5), (FEWEST // 2 - 1, None)])
def test_a_share_of_too_few_unknown_words_is_left_out(copies: int, share: float | None):
    """Each sentence has two unknown words, one of them right."""
    page = judged([Tagged(("old", "sees"), ("N", "V"))] * copies, {("old", "sees"): ["N", "N"]})
    assert page.scores.unknown_words == 2 * copies and page.scores.unknown_accuracy == share
    assert (page.scores.unknown_interval is None) == (share is None)
    assert ("unknown_accuracy" in page.figures()) == (share is not None)


def test_golden_entities():
    """Gold: X at 0–1, Y at 3. Said: X at 0–1, X at 3, and an I-Y after O: one right of three said and two there."""
    test = [Tagged(tuple("abcde"), ("B-X", "I-X", "O", "B-Y", "O"))]
    page = judged(test, {tuple("abcde"): ["B-X", "I-X", "O", "B-X", "I-Y"]}, ("B-X", "B-Y", "I-X", "I-Y", "O"))
    scores = page.scores
    assert scores.invalid_sequences == 1
    assert scores.entity_precision == pytest.approx(1 / 3, abs=1e-6) and scores.entity_recall == 0.5
    assert scores.entity_f1 == pytest.approx(0.4, abs=1e-6)
    assert scores.entity_interval is not None and scores.entity_interval[0] <= 0.4 <= scores.entity_interval[1]
    assert [(entity.label, entity.support, entity.said, entity.f1) for entity in page.entities] == [
        ("X", 1, 2, pytest.approx(2 / 3, abs=1e-6)),
        ("Y", 1, 1, 0.0),
    ]


def test_invalid_test_data_is_refused():
    with pytest.raises(InputError, match="no test sentence"):
        judged([TEST[1]])
    with pytest.raises(InputError, match="'X' is not one of D, N, V"):
        judged([Tagged(("the",), ("X",))], {("the",): ["D"]})
