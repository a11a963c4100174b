"""Reviews that an experiment draws for itself from microworld's grammar, whatever the pipeline's labels are.

None of them is ambiguous, so that what a classifier misses it has not learnt. `operators` counts the words that change
what the rest says: negation, denial, and the links of which one side decides.
"""

from random import Random

from langladder.corpora.labelled import LabelledWorldConfig, drawing
from langladder.corpora.lexicon import Size
from langladder.corpora.rules.reviews import DENIALS
from langladder.text.labelled.labelled import Example

OPERATORS = frozenset({"not", "but", "and", "although", *DENIALS})


def drawn_reviews(count: int, *, size: Size, seed: int, degrees: bool, before: set[str]) -> list[Example]:
    """So many reviews with their trees, none of them among the texts of `before`, to which they are added.

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
    """How many words of a review change what the rest says."""
    return sum(word in OPERATORS for word in example.text.split(" "))
