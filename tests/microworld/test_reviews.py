"""Reviews: composition by hand; P(label | text) against all derivations of a text."""

import math
from collections import Counter, defaultdict
from itertools import islice
from random import Random

import pytest

from microworld.engine import Line, World
from microworld.lexicon import Extent, table
from microworld.reviews import LEVELS, OPERATORS, POLARITY, draw_reviews, review, reviews_world
from tests.microworld.enumeration import derivations


def chances(text: str, open_share: float = 0.0) -> dict[str, float]:
    """Label → P(label | text), to three places."""
    here = reviews_world(open_share)
    (reading, *_) = here.ended(here.read_words([here.reader()], text.split()))
    result = review(Line(text.split(), reading.ways, 0), here).chances
    return {str(label): round(p, 3) for label, p in result.items()}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("the cake was lovely .", "3"),
        ("the cake was very lovely .", "4"),
        ("the cake was not lovely .", "1"),
        ("the cake was not very lovely .", "1"),
        ("the cakes were really ugly .", "0"),
        ("the cakes were not really ugly .", "3"),
        ("the cake was big .", "2"),
        ("the cake was not very big .", "2"),
        ("the cake was more lovely than the pie .", "3"),
        ("the cake was less lovely than the pie .", "1"),
        ("the cake was less ugly than the pies .", "3"),
        ("anna was very nervous .", "0"),
        ("the queen was not sad .", "3"),
        ("anna loved the cake .", "3"),
        ("anna never loved the cake .", "1"),
        ("peter never ruined the cake .", "3"),
        ("anna mocked peter .", "1"),
        ("anna baked the cake merrily .", "3"),
        ("the cake was ugly , but the pie was lovely .", "3"),
        ("the cake was ugly , and the pie was lovely .", "3"),
        ("the cake was very ugly , and the pie was lovely .", "0"),
        ("although the cake was very ugly , the pie was lovely .", "3"),
        ("although the cake was lovely , the pie was big .", "2"),
        ("anna believed that the cake was ugly .", "1"),
        ("anna doubted that the cake was very ugly .", "3"),
        ("anna doubted that peter denied that the cake was very ugly .", "1"),
        ("anna doubted that the cake was ugly , but the pie was lovely .", "1"),
        ("the pie was lovely , but anna doubted that the cake was ugly .", "3"),
    ],
)
def test_golden_labels(text: str, label: str) -> None:
    assert chances(text) == {label: 1.0}


def test_golden_probabilities() -> None:
    """Wicked is meant well with 0.7; "not very" flips and weakens; two clauses with "and" combine."""
    assert chances("the cake was wicked .", 0.5) == {"3": 0.7, "1": 0.3}
    assert chances("the cake was not very wicked .", 0.5) == {"1": 0.7, "3": 0.3}
    assert chances("the cake was wicked , but the pie was lovely .", 0.5) == {"3": 1.0}
    both = chances("the cake was very wicked , and the pie was quirky .", 0.5)
    assert both == {"4": 0.7, "0": 0.3}
    assert chances("the cake was wicked , and the pie was quirky .", 0.5) == {"3": 0.65, "1": 0.35}


def check_posterior(here: World, line: Line) -> bool:
    """P(label | text) = Σ P(derivations that have it) / Σ P(all); whether there are several labels."""
    joint: dict[int, float] = defaultdict(float)
    for derivation in derivations(here, 1, [line.words]):
        joint[review(Line(line.words, list(derivation.choices), 0), here).label] += derivation.p
    total = sum(joint.values())
    assert review(line, here).chances == pytest.approx({label: p / total for label, p in joint.items()}), line.text
    return len(joint) > 1


def test_the_posterior_of_a_review_is_that_of_all_its_derivations() -> None:
    """A cut lexicon: one subject, two words of each mood."""
    here, rng = reviews_world(0.5, Extent(subjects=1, words=2)), Random(1)
    drawn = (here.draw(rng, 1)[0] for _ in range(400))
    short = [line for line in drawn if len(line.words) < 25][:120]
    assert sum(check_posterior(here, line) for line in short) > 20


def test_the_best_guess_is_right_as_often_as_its_probability_says() -> None:
    rows = list(islice(draw_reviews(Random(2), 0.4), 2000))
    p = sum(row["ceiling"] for row in rows) / len(rows)
    right = sum(abs(math.exp(row["log_prob"]) - row["ceiling"]) < 1e-8 for row in rows) / len(rows)
    assert p < 0.97 and right == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / len(rows)))
    sure = list(islice(draw_reviews(Random(2), 0.0), 200))
    assert {(row["log_prob"], row["ceiling"]) for row in sure} == {(0.0, 1.0)}
    assert {row["label"] for row in islice(draw_reviews(Random(3), 0.4, POLARITY), 200)} == {"negative", "positive"}


def test_labels_are_balanced_and_reviews_differ_in_their_operators() -> None:
    rows = list(islice(draw_reviews(Random(4), 0.15), 3000))
    labels = Counter(row["label"] for row in rows)
    assert set(labels) == set(LEVELS) and max(labels.values()) < 0.45 * len(rows)
    operators = Counter(sum(word in OPERATORS for word in row["text"].split()) for row in rows)
    assert all(operators[number] > 20 for number in range(8))


def test_order_decides_where_words_are_the_same() -> None:
    """Reviews with the same words, up to which ones of a mood or a table, and with other labels."""
    mood = {row[column]: row["mood"] == "happy" for name, column in
            (("looks", "word"), ("feelings", "word"), ("manners", "word"), ("takes", "past"), ("deeds", "past"))
            for row in table(name)}  # fmt: skip
    things = {row[form] for row in table("nouns") for form in ("singular", "plural")}
    people = {row["word"] for row in table("names")} | {
        row[sex] for row in table("roles") for sex in ("male", "female")
    }
    labels: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in islice(draw_reviews(Random(5), 0.0, POLARITY), 3000):
        words = row["text"].split()
        kinds = (
            "thing" if word in things else "person" if word in people else str(mood.get(word, word)) for word in words
        )
        labels[tuple(sorted(kinds))].add(row["label"])
    assert sum(len(label) > 1 for label in labels.values()) > 8
