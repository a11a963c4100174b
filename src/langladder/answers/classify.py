"""Classify: the label of a text, how sure the model is, and which words speak for it.

A multi-label classifier answers with a set of labels: those whose probability is at least 0.5.

A line is a text, two with a tab between them, or a bracketed tree for a classifier of trees, which reads a text without
brackets as a right-branching tree. The model reads a text as its training text is written; the answer has it as it was
given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from langladder.answers.requests import ClassifyRequest
from langladder.evaluation.classifier import Decision, Node, decision
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier, decided, log_prob_of_sets
from langladder.models.classification.neural_classifier import NeuralClassifier
from langladder.text.labelled.labelled import DEEPEST, Example, Tree, bracketed, joined_labels, parse_tree

BLANK = Example("")  # a blank line, which has no label
RIGHT_BRANCHING = "no brackets were given: read as a tree that branches to the right"
MOST_PIECES = 10_000  # maximum tokens of a text: a network's memory grows with their number, or with its square


class Given(NamedTuple):
    """The set of labels that a multi-label classifier gives a text, and its probability as a whole."""

    labels: list[str]
    probability: float


@dataclass(frozen=True)
class Classification:
    """A classifier's answer for a text.

    Attributes:
        line: the text, or two with a tab between them.
        top: the best labels with their probabilities, best first. If one label is requested from a multi-label
            classifier: all labels of the text in words, with the probability of this set.
        explained: the explanation, if requested. given: only for a multi-label classifier.
        note: how a text was read that is not what the classifier reads, or is too long for it; None of most.
    """

    line: str
    example: Example
    top: list[tuple[str, float]]
    explained: Decision | None = None
    given: Given | None = None
    note: str | None = None

    def best(self) -> tuple[str | None, float | None]:
        """The answer in words with its probability: the likeliest label, or the set of labels; None of a blank line."""
        if self.given is not None:
            return joined_labels(self.given.labels), self.given.probability
        return self.top[0] if self.top else (None, None)

    def as_dict(self) -> dict[str, object]:
        """For JSON; parts that do not exist or were not requested are left out."""
        entries: dict[str, object] = {"text": self.example.text}
        if self.example.second is not None:
            entries["second"] = self.example.second
        entries["labels"] = [{"label": label, "probability": p} for label, p in self.top]
        if self.note is not None:
            entries["note"] = self.note
        if self.given is not None:
            entries["given"] = self.given._asdict()
        if self.explained is not None:
            names = [("piece", self.explained.pieces), ("weight", self.explained.weights)]
            names += [("attention", self.explained.attention)] if self.explained.attention else []
            columns = zip(*(values for _, values in names), strict=True)
            entries["words"] = [dict(zip([name for name, _ in names], row, strict=True)) for row in columns]
            if self.explained.tree:
                entries["nodes"] = [node.model_dump(exclude={"label"}) for node in self.explained.tree]
        return entries


def classify(model: Classifier, examples: Sequence[Example], request: ClassifyRequest) -> list[Classification]:
    """The best labels of each example; none of `BLANK`.

    Of a multi-label classifier the one best (`request.top` 1) is the set of labels that the text gets.

    Raises:
        InputError: an example cannot be read or is too long, or the classifier cannot explain its choice.
    """
    units: Any = getattr(model, "units", None)  # majority reads nothing
    written = [None if example is BLANK else normalised(model, example) for example in examples]
    filled = [example for example in written if example is not None]
    lengths = [len(units.example(example).pieces) if units else 0 for example in filled]
    for example, pieces in zip(filled, lengths, strict=True):
        if pieces > MOST_PIECES:
            raise InputError(f"{example.text[:40]!r} … has {pieces:,} words; a text may have {MOST_PIECES:,}: cut it")
    whole = iter(lengths)
    scores = iter(model.log_probs(filled) if filled else [])
    results = []
    for example, read in zip(examples, written, strict=True):
        if read is None:
            results.append(Classification("", example, []))
            continue
        log_probs = next(scores)  # (C,)
        p = np.exp(log_probs)
        order = np.argsort(-p, kind="stable")
        best = [(model.labels[index], round(float(p[index]), 6)) for index in order[: request.top]]
        assigned, (label, sure) = None, best[0]
        if model.multi_label:
            assigned = _assigned(model, log_probs)
            label, sure = joined_labels(assigned.labels), assigned.probability
            best = [(label, sure)] if request.top == 1 else best
        line = example.text if example.second is None else f"{example.text}\t{example.second}"
        why = decision(model, read, int(order[0]), sure, said=label) if request.explain else None
        if why is not None and not why.weights:
            raise InputError(
                f"{type(model).__name__} does not look at words, so --explain is not supported; leave it out"
            )
        note = RIGHT_BRANCHING if example.tree is None and reads_trees(model) else _cut(model, read, next(whole))
        results.append(Classification(line, example, best, why, assigned, note))
    return results


def _cut(model: Classifier, example: Example, length: int) -> str | None:
    """The note of a text with more tokens than a network reads."""
    if not isinstance(model, NeuralClassifier) or (kept := len(model.as_read(example).ids)) >= length:
        return None
    return f"a text is longer than the {kept:,} tokens that this classifier reads: the rest of it was not read"


def _assigned(model: Classifier, log_probs: np.ndarray) -> Given:
    """The labels whose probability reaches the threshold, by their ids, from (C,) log P(label | text)."""
    own = decided(log_probs)
    probability = float(np.exp(log_prob_of_sets(log_probs[None], own[None])[0]))
    return Given([model.labels[index] for index in np.flatnonzero(own)], round(probability, 6))


def reads_trees(model: Classifier) -> bool:
    """Whether a classifier reads bracketed trees."""
    return bool(getattr(model, "reads_trees", False))


def example_of(model: Classifier, line: str, where: str = "") -> Example:
    """The text, the two texts or the tree of a line.

    Args:
        where: file and line, for the message.

    Raises:
        InputError: more than two texts, an empty one of two; for a classifier that reads trees a tree whose brackets
            do not match, or a text that cannot become one.
    """
    at = f"{where}: " if where else ""
    if reads_trees(model):
        try:
            if not line.lstrip().startswith("("):
                right_branching(line.split())
                return Example(line.strip())
            tree = parse_tree(line)
        except InputError as error:
            raise InputError(f"{at}{error}") from error
        except ValueError as error:
            wanted = "this classifier reads bracketed trees, such as ((it) ((was) ((not) (boring))))"
            raise InputError(f"{at}{error}; {wanted}") from error
        return Example(" ".join(tree.words), tree=line.strip())
    texts = [part.strip() for part in line.split("\t")]
    if len(texts) > 2 or (len(texts) == 2 and not all(texts)):
        held = f"{len(texts)} texts with tabs between them" if all(texts) else "a tab beside an empty text"
        raise InputError(f"{at}{held}; write one text on a line, or two with a tab between them")
    return Example(texts[0], texts[1] if len(texts) == 2 else None)


def normalised(model: Classifier, example: Example) -> Example:
    """An example, normalised like the model's training text; in a tree, each word separately.

    For a classifier that reads trees, a text without a tree gets the right-branching tree.

    Raises:
        InputError: a text cannot become a tree.
    """
    written = model.normalisation
    if example.tree is not None:
        tree = parse_tree(example.tree)
        words = tuple(map(written.word, tree.words))
        return (
            example if words == tree.words else Example(" ".join(words), tree=bracketed(Tree(*tree[:3], words), {})[-1])
        )
    second = None if example.second is None else written.normalise(example.second)
    text = written.normalise(example.text)
    if reads_trees(model):
        words_of_text = text.split()
        return Example(" ".join(words_of_text), tree=right_branching(words_of_text))
    return Example(text, second)


def right_branching(words: Sequence[str]) -> str:
    """A bracketed tree over words that have no brackets: (a (b c)).

    Raises:
        InputError: there is no word, there are too many for a tree, or one holds a bracket.
    """
    if not 0 < len(words) <= DEEPEST // 4 or any("(" in word or ")" in word for word in words):
        raise InputError(
            "this classifier reads trees: type a sentence, of up to "
            f"{DEEPEST // 4:,} words and none with brackets in it, or a tree such as ((it) ((was) ((not) (boring))))"
        )
    text = f"({words[-1]})"
    for word in reversed(words[:-1]):
        text = f"(({word}) {text})"
    return text


def words_of_tree(text: str) -> str:
    """The words of a bracketed tree; any other text unchanged, even if it is in brackets."""
    if text.lstrip().startswith("("):
        try:
            return " ".join(parse_tree(text).words)
        except ValueError:
            pass
    return text.strip()


def words_below(nodes: Sequence[Node]) -> list[list[int]]:
    """The words that each node of a tree covers, by their places; the nodes stand children first."""
    words: list[list[int]] = []
    for node in nodes:
        own = [] if node.word is None else [node.word]
        words.append(sorted(own + [word for child in node.children for word in words[child]]))
    return words
