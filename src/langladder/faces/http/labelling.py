"""What a classifier is asked, and what it answers: for `langladder classify` and the explorer. Loads numpy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langladder.evaluation.classifier import Decision, decision
from langladder.ground.errors import InputError
from langladder.models.classifier import Classifier
from langladder.text.labelled.labelled import Example
from langladder.text.labelled.trees import Tree, bracketed, parse_tree

BLANK = Example("")  # a blank line, which has no label
MOST_PIECES = 10_000  # of a text: what a network reads at once takes memory by their number, or by its square


@dataclass(frozen=True)
class Answer:
    """What a classifier says of a line: its best labels with their probabilities, and why, where that was asked."""

    line: str
    example: Example
    top: list[tuple[str, float]]
    explained: Decision | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON; what the line does not have or nobody asked for is left out."""
        found: dict[str, Any] = {"text": self.example.text}
        if self.example.second is not None:
            found["second"] = self.example.second
        found["labels"] = [{"label": label, "probability": p} for label, p in self.top]
        if self.explained is not None:
            names = [("piece", self.explained.pieces), ("weight", self.explained.weights)]
            names += [("attention", self.explained.attention)] if self.explained.attention else []
            columns = zip(*(values for _, values in names), strict=True)
            found["words"] = [dict(zip([name for name, _ in names], row, strict=True)) for row in columns]
            if self.explained.tree:
                found["nodes"] = [node.model_dump(exclude={"label"}) for node in self.explained.tree]
        return found


def parsed(model: Classifier, line: str, where: str = "") -> Example:
    """The text, the two texts or the tree of a line.

    Args:
        where: file and line, for the message.

    Raises:
        InputError: more than two texts, an empty one of two, or no tree for a classifier that reads trees.
    """
    at = f"{where}: " if where else ""
    if getattr(model, "reads_trees", False):
        try:
            tree = parse_tree(line)
        except ValueError as error:
            wanted = "this classifier reads bracketed trees, such as ((it) ((was) ((not) (boring))))"
            raise InputError(f"{at}{error}; {wanted}") from error
        return Example(" ".join(tree.words), tree=line.strip())
    texts = [part.strip() for part in line.split("\t")]
    if len(texts) > 2 or (len(texts) == 2 and not all(texts)):
        held = f"{len(texts)} texts with tabs between them" if all(texts) else "a tab beside an empty text"
        raise InputError(f"{at}{held}; a line is one text, or two, neither of them empty")
    return Example(texts[0], texts[1] if len(texts) == 2 else None)


def normalised(model: Classifier, example: Example) -> Example:
    """An example as the training text of the model is written; of a tree, each word by itself."""
    written = model.normalisation
    if example.tree is not None:
        tree = parse_tree(example.tree)
        words = tuple(map(written.word, tree.words))
        return (
            example if words == tree.words else Example(" ".join(words), tree=bracketed(Tree(*tree[:3], words), {})[-1])
        )
    second = None if example.second is None else written.normalise(example.second)
    return Example(written.normalise(example.text), second)


def answer(model: Classifier, examples: Sequence[Example], top: int, explain: bool) -> list[Answer]:
    """The best labels of each example, the likeliest first; none of `BLANK`.

    The model reads a text as its training text is written; the answer has the text as it was given.

    Raises:
        InputError: an example cannot be read or is too long, or the classifier cannot tell why.
    """
    units: Any = getattr(model, "units", None)  # majority reads nothing
    written = {id(example): normalised(model, example) for example in examples if example is not BLANK}
    asked = [written[id(example)] for example in examples if example is not BLANK]
    for example in asked if units else ():
        if (pieces := len(units.example(example).pieces)) > MOST_PIECES:
            raise InputError(f"{example.text[:40]!r} … has {pieces:,} words; a text may have {MOST_PIECES:,}: cut it")
    scores = iter(model.log_probs(asked) if asked else [])
    found = []
    for example in examples:
        if example is BLANK:
            found.append(Answer("", example, []))
            continue
        p = np.exp(next(scores))  # (C,)
        order = np.argsort(-p, kind="stable")[:top]
        best = [(model.labels[place], round(float(p[place]), 6)) for place in order]
        line = example.text if example.second is None else f"{example.text}\t{example.second}"
        why = decision(model, written[id(example)], int(order[0]), best[0][1]) if explain else None
        if why is not None and not why.weights:
            raise InputError(f"{type(model).__name__} does not look at words and cannot tell which count; no --explain")
        found.append(Answer(line, example, best, why))
    return found
