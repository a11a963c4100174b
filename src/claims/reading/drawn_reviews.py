"""Reviews that an experiment draws from microworld, independent of the pipeline's labels.

No review is ambiguous, so every error means that a classifier has not learnt something. `operators` counts the words
that change the meaning of the rest: negation, doubt, and conjunctions after which one side determines the label.
"""

from random import Random

from langladder.text.labelled.labelled import Example
from microworld.reviews import LEVELS, OPERATORS, POLARITY, draw_reviews


def drawn_reviews(count: int, *, seed: int, degrees: bool, before: set[str]) -> list[Example]:
    """`count` reviews with their trees. They are not in the texts of `before`, and are added to it.

    Args:
        degrees: labels 0 (very negative) to 4 instead of negative and positive.
    """
    reviews = list[Example]()
    for row in draw_reviews(Random(seed), 0.0, LEVELS if degrees else POLARITY):
        if row["text"] not in before:
            reviews.append(Example(row["text"], label=row["label"], tree=row["tree"]))
        if len(reviews) == count:
            break
    before.update(example.text for example in reviews)
    return reviews


def operators(example: Example) -> int:
    """The number of words in a review that change the meaning of the rest."""
    return sum(word in OPERATORS for word in example.text.split(" "))
