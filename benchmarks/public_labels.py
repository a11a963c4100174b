"""Public sets of labels as examples, and accuracy on them: what the benchmarks of classifiers and taggers share.

SST (two or five labels, with trees), TREC (six), MR (two, ten folds), UD EWT (parts of speech). Dev of TREC are three
thirds of the training questions, each left out in turn; dev of MR is a tenth of the training texts of each fold.
"""

import re
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np
from public_data import find, read

from langladder.models.classification.classifier import Classifier
from langladder.models.tagging.tagger import Tagger
from langladder.text.labelled.labelled import Example, Tagged, parse_tree


class Splits(NamedTuple):
    """Train, dev and test."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]


def trees(folder: Path, names: dict[str, str | None]) -> Splits:
    """SST under other labels; trees whose root has none are left out."""
    found = []
    for file in ("train.8544", "dev", "test"):
        rows = []
        for line in read(find(folder, f"sst-trees/{file}.txt")).decode().replace("\xa0", "_").splitlines():
            tree, root = parse_tree(line), names[line[1]]
            renamed = re.sub(r"\((\d)", lambda match: f"({names[match[1]] or ''}", line)
            if root is not None:
                rows.append(Example(" ".join(tree.words), None, root, renamed))
        found.append(rows)
    return Splits(*found)


def questions(folder: Path) -> Splits:
    """TREC, six labels; its dev are the training questions once more, by which nothing is chosen."""
    sides = []
    for name in ("train", "test"):
        lines = read(find(folder, f"trec-qc/{name}.txt")).decode("latin-1").splitlines()
        pairs = [line.partition(" ") for line in lines if line]
        sides.append([Example(text.strip(), None, label.split(":")[0]) for label, _, text in pairs])
    return Splits(sides[0], sides[0][:50], sides[1])


def thirds(rows: list[Example]) -> list[Splits]:
    """Each third of the questions in turn as dev. No question twice."""
    once = list({row.text: row for row in rows}.values())
    order = np.random.default_rng(7).permutation(len(once))
    return [
        Splits(
            [once[place] for place in np.delete(order, np.s_[part::3])], [once[place] for place in order[part::3]], []
        )
        for part in range(3)
    ]


def reviews(folder: Path, fold: int, *, test: bool) -> Splits:
    """MR: each fold takes every tenth review of a label for test; a tenth of the others is dev, or trained on too."""
    rest: list[Example] = []
    held: list[Example] = []
    for label in ("neg", "pos"):
        lines = read(find(folder, f"mr/rt-polarity.{label}")).decode("latin-1").splitlines()
        for place, line in enumerate(filter(str.strip, lines)):
            (held if place % 10 == fold else rest).append(Example(line.strip(), None, label))
    order = np.random.default_rng(fold).permutation(len(rest))
    cut = len(rest) // 10
    dev = [rest[place] for place in order[:cut]]
    return Splits(rest if test else [rest[place] for place in order[cut:]], dev, held)


def splits(folder: Path, name: str, *, test: bool) -> list[Splits]:
    """A set, or its folds."""
    if name == "trec":
        whole = questions(folder)
        return [whole] if test else thirds(whole.train)
    if name == "mr":
        return [reviews(folder, fold, test=test) for fold in range(10)]
    two = {"0": "negative", "1": "negative", "2": None, "3": "positive", "4": "positive"}
    return [trees(folder, two if name == "sst2" else {label: label for label in "01234"})]


def label_accuracy(classifier: Classifier, rows: list[Example]) -> float:
    """Per cent."""
    best = classifier.log_probs(rows).argmax(axis=1)
    return 100 * mean(classifier.labels[place] == row.label for place, row in zip(best, rows, strict=True))


def sentences(data: Path, split: str) -> list[Tagged]:
    """A split of the treebank: words and their universal parts of speech."""
    text = read(find(data, f"ud-ewt/{split}.tsv")).decode("utf-8")
    rows = [[line.split("\t")[:2] for line in block.splitlines()] for block in text.strip("\n").split("\n\n")]
    return [Tagged(tuple(word for word, _ in row), tuple(tag for _, tag in row)) for row in rows]


def tag_accuracy(model: Tagger, gold: list[Tagged]) -> float:
    """Per cent of the words that get their tag."""
    found = model.tag([one.words for one in gold])
    pairs = [pair for row, one in zip(found, gold, strict=True) for pair in zip(row, one.tags or (), strict=True)]
    return 100 * float(np.mean([said == tag for said, tag in pairs]))
