"""Reviews that an experiment draws from microworld's grammar, independent of the pipeline's labels.

No review is ambiguous, so every error means that a classifier has not learnt something. `operators` counts the words
that change the meaning of the rest: negation, doubt, and conjunctions after which one side determines the label.
"""

from random import Random

from langladder.corpora.labelled import LabelledWorldConfig, drawing
from langladder.corpora.lexicon import Size
from langladder.corpora.rules.reviews import DENIALS
from langladder.text.labelled.labelled import Example

OPERATORS = frozenset({"not", "but", "and", "although", *DENIALS})


def drawn_reviews(count: int, *, size: Size, seed: int, degrees: bool, before: set[str]) -> list[Example]:
    """`count` reviews with their trees. They are not in the texts of `before`, and are added to it.

    Args:
        degrees: labels 0 (very negative) to 4 instead of negative and positive.
    """
    draw = drawing(LabelledWorldConfig(size=size, task="sentiment_5" if degrees else "sentiment", ambiguity=0.0))
    random, found = Random(seed), list[Example]()
    while len(found) < count:
        row = draw(random)
        if row["text"] not in before:
            found.append(Example(row["text"], label=row["label"], tree=row["tree"]))
    before.update(example.text for example in found)
    return found


def operators(example: Example) -> int:
    """The number of words in a review that change the meaning of the rest."""
    return sum(word in OPERATORS for word in example.text.split(" "))
